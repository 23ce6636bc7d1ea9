"""KV-cache room of one instance (DESIGN 3).

Not modelled: activations apart from the reserved share, paging granularity, fragmentation.
"""

from __future__ import annotations

from provisioner.domain.machine import Machine
from provisioner.domain.model import Model

USABLE_SHARE = 0.90
"""Share of accelerator memory for weights and KV-cache; serving engines default to it."""


def usable_bytes(machine: Machine, tensor_parallel: int) -> float:
    """Memory for weights and KV-cache of one instance [bytes]."""
    return tensor_parallel * machine.accelerator_memory_bytes * USABLE_SHARE


def kv_room_tokens(model: Model, machine: Machine, tensor_parallel: int) -> float:
    """KV-cache tokens that fit beside the weights of one instance; negative where none do."""
    room_bytes = usable_bytes(machine, tensor_parallel) - model.weight_bytes
    return room_bytes / model.kv_bytes_per_token


def shortfall(model: Model, machine: Machine, tensor_parallel: int) -> str | None:
    """Say in bytes why a model does not fit, or None where at least one KV token has room."""
    if kv_room_tokens(model, machine, tensor_parallel) >= 1:
        return None
    return (
        f"{model.name} does not fit {machine.name} at tensor parallelism {tensor_parallel}: its "
        f"weights take {model.weight_bytes:.4g} bytes, {tensor_parallel} x "
        f"{machine.accelerator_memory_bytes:.4g} bytes of memory leave "
        f"{usable_bytes(machine, tensor_parallel):.4g} ({USABLE_SHARE:.0%} usable)"
    )
