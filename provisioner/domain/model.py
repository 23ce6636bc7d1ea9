"""Large language models, as far as serving them costs memory and bandwidth.

Not modelled: mixtures of experts, sliding-window attention, quantised caches.
"""

from __future__ import annotations

from provisioner.domain.base import Count, Name, Noun, Positive
from provisioner.domain.machine import Provenance


class Model(Noun):
    """A model's shape; ``kv_heads`` below ``heads`` means grouped-query attention."""

    name: Name
    layers: Count
    hidden_size: Count
    heads: Count
    kv_heads: Count
    head_dim: Count
    bytes_per_value: Positive
    weight_bytes: Positive
    sources: dict[str, Provenance]

    @property
    def kv_bytes_per_token(self) -> float:
        """KV-cache bytes of one token: ``2 * layers * kv_heads * head_dim * bytes_per_value``."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.bytes_per_value
