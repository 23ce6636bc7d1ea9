"""Builders (say only what matters to the test) and the built-in profiles, read once."""

from pathlib import Path
from typing import Any

import pytest

from provisioner.domain.base import Quality
from provisioner.domain.machine import Machine, PowerCap, Provenance, StretchPoint
from provisioner.domain.model import Model
from provisioner.domain.profile import PowerPoint, Profile, PromptPoint, TokenPoint
from provisioner.inputs.hardware import read_machine, read_model, read_profiles
from provisioner.performance.deployment import Deployment, deploy

MODELS = ("bloom-176b", "llama2-70b")
ACCELERATORS = ("a100-sxm-80gb", "h100-sxm-80gb")
MACHINES = ("dgx-a100", "dgx-h100", "dgx-h100-cap70")
ORIGIN = {"quality": Quality.MEASURED, "source": "made up for this test"}


class Build:
    """One function per noun; every field has a default and may be overridden by keyword."""

    @staticmethod
    def prompt_point(prompt_tokens: int, batch: int = 1, time_s: float = 1.0, **other: Any):
        fields = {"repeats_s": (time_s,), **ORIGIN, **other}
        return PromptPoint(prompt_tokens=prompt_tokens, batch=batch, time_s=time_s, **fields)

    @staticmethod
    def token_point(batch: int, kv_tokens: int, time_s: float = 1.0, **other: Any):
        """Build a point of given K: the prompt takes what two generated tokens leave of it."""
        per_request, rest = divmod(kv_tokens, batch)
        assert rest == 0 and per_request > 1, "K must be shared evenly"
        fields = {"repeats_s": (time_s,), "output_tokens": 2, "generated_tokens": 2, **ORIGIN}
        return TokenPoint(
            prompt_tokens=per_request - 1, batch=batch, time_s=time_s, **{**fields, **other}
        )

    @staticmethod
    def power_point(load: float, power_w: float) -> PowerPoint:
        return PowerPoint(load=load, power_w=power_w, **ORIGIN)

    @staticmethod
    def profile(**changes: Any) -> Profile:
        fields: dict[str, Any] = {
            "model": "small",
            "accelerator": "card",
            "tensor_parallel": 2,
            "prompt": (Build.prompt_point(100, time_s=1.0), Build.prompt_point(200, time_s=2.0)),
            "token": (Build.token_point(1, 100, 0.1), Build.token_point(2, 200, 0.2)),
            "prompt_power": (Build.power_point(100, 200.0), Build.power_point(200, 300.0)),
            "token_power": (Build.power_point(1, 100.0), Build.power_point(2, 150.0)),
        }
        return Profile(**{**fields, **changes})

    @staticmethod
    def model(**changes: Any) -> Model:
        """Build a model with 2 * 2 * 3 * 5 * 2 = 120 KV bytes per token."""
        fields: dict[str, Any] = {
            "name": "small",
            "layers": 2,
            "hidden_size": 30,
            "heads": 6,
            "kv_heads": 3,
            "head_dim": 5,
            "bytes_per_value": 2,
            "weight_bytes": 600,
            "sources": {},
        }
        return Model(**{**fields, **changes})

    @staticmethod
    def machine(**changes: Any) -> Machine:
        fields: dict[str, Any] = {
            "name": "box",
            "hardware": "box",
            "accelerator": "card",
            "accelerators": 4,
            "accelerator_memory_bytes": 1000,
            "accelerator_idle_power_w": 50,
            "accelerator_max_power_w": 300,
            "network_bytes_per_s": 8000,
            "transfer_floor_s": 0.5,
            "server_idle_power_w": 100,
            "provisioned_power_w": 2000,
            "rack_units": 4,
            "sources": {},
        }
        return Machine(**{**fields, **changes})

    @staticmethod
    def cap(*stretch: tuple[str, float, float]) -> PowerCap:
        """Build a power cap from (phase, load, factor)."""
        return PowerCap(
            of="box",
            stretch=tuple(
                StretchPoint(phase=phase, load=load, factor=factor, **ORIGIN)
                for phase, load, factor in stretch
            ),
        )

    @staticmethod
    def provenance(quality: Quality) -> Provenance:
        return Provenance(quality=quality, source="made up for this test")


@pytest.fixture(scope="session")
def build() -> type[Build]:
    """Nouns by keyword, so that a test states only the numbers its derivation uses."""
    return Build


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of the project: stored data and scripts are found from here in any directory."""
    return Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def profiles() -> dict[str, Profile]:
    """Every built-in profile by name: what holds of one must hold of all."""
    found = [
        profile
        for model in MODELS
        for accelerator in ACCELERATORS
        for profile in read_profiles(model, accelerator).values()
    ]
    return {profile.name: profile for profile in found}


@pytest.fixture(scope="session")
def deployments(profiles: dict[str, Profile]) -> dict[tuple[str, str], Deployment]:
    """Every model on a whole machine, capped ones included, by (model, machine): all 8-way."""
    found = {}
    for model in MODELS:
        for name in MACHINES:
            machine = read_machine(name)
            profile = profiles[f"{model}/{machine.accelerator}/tp8"]
            found[model, name] = deploy(read_model(model), machine, profile)
    return found
