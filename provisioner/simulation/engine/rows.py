"""Requests into the engine's rows, in one pass over the memory."""

from __future__ import annotations

import math

from provisioner.simulation.engine.jit import entry
from provisioner.simulation.engine.state import NONE, Array


@entry
def fill(
    requests: Array, arrival_s: Array, prompts: Array, outputs: Array, request_class: Array
) -> None:
    """Set all that is known of requests before they arrive."""
    for r in range(len(requests)):
        requests[r].arrival_s, requests[r].request_class = arrival_s[r], request_class[r]
        requests[r].prompt_tokens, requests[r].output_tokens = prompts[r], outputs[r]
        requests[r].prompt_start_s, requests[r].first_token_s = math.inf, math.inf
        requests[r].ready_s, requests[r].token_start_s = math.inf, math.inf
        requests[r].finish_s, requests[r].left_bytes = math.inf, 0.0
        requests[r].rate_bytes_per_s, requests[r].updated_s = 0.0, 0.0
        requests[r].prompt_at, requests[r].token_at, requests[r].next = NONE, NONE, NONE
        requests[r].made, requests[r].done_tokens, requests[r].phase = 0, 0, 0
        requests[r].restarts = 0
        for side in range(2):
            requests[r].flow_next[side], requests[r].flow_last[side] = NONE, NONE
