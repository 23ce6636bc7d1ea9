"""Iteration times and power of a deployment, the same formulas as `provisioner.performance`."""

from __future__ import annotations

from provisioner.performance.deployment import MIXED_FACTOR
from provisioner.simulation.engine.jit import jit
from provisioner.simulation.engine.state import Array


@jit
def prompt_s(deployments: Array, d: int, tokens: int, squared: float) -> float:
    """Time [s] of a prompt batch: ``t_p(T, Q)``."""
    x, y, last = deployments[d].prompt_x, deployments[d].prompt_y, deployments[d].knots - 1
    if tokens >= x[last]:
        base = y[last] + deployments[d].prompt_slope_s * (tokens - x[last])
    elif tokens <= x[0]:
        base = y[0]
    else:
        i = 1
        while x[i] < tokens:
            i += 1
        base = y[i - 1] + (y[i] - y[i - 1]) / (x[i] - x[i - 1]) * (tokens - x[i - 1])
    return base + deployments[d].quadratic_s * squared


@jit
def token_s(deployments: Array, d: int, batch: int, kv_tokens: int) -> float:
    """Time [s] of a token iteration: ``b(B) + c K``."""
    return deployments[d].base_s[batch] + deployments[d].context_s * kv_tokens


@jit
def mixed_s(
    deployments: Array, d: int, tokens: int, squared: float, batch: int, kv_tokens: int
) -> float:
    """Time [s] of an iteration with both: ``max(1.1 t_p(T + B, Q), t_t(B, K))``."""
    prompts = MIXED_FACTOR * prompt_s(deployments, d, tokens + batch, squared)
    return max(prompts, token_s(deployments, d, batch, kv_tokens))


@jit
def host_s(deployments: Array, d: int, tokens: int) -> float:
    """Time [s] to move so many KV tokens to host memory or back."""
    return tokens * deployments[d].kv_bytes / deployments[d].host_bytes_per_s


@jit
def power_w(deployments: Array, d: int, tokens: int, batch: int) -> float:
    """Power [W] of an instance's share of its machine: by its prompt work where it has any."""
    if tokens > 0:
        table = deployments[d].prompt_w
        return table[min(tokens + batch, len(table) - 1)]
    return deployments[d].token_w[batch]
