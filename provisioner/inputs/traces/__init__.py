"""Trace formats, one file each; a file is recognised by its columns.

A format is a module with ``NAME``, ``COLUMNS`` (the columns that identify it) and
``convert(frame) -> frame`` with the columns ``arrival_s``, ``prompt_tokens``, ``output_tokens``.
"""

from __future__ import annotations

from types import ModuleType

from provisioner.inputs.traces import azure, burstgpt, mooncake, own, splitwise_sim

FORMATS: tuple[ModuleType, ...] = (own, azure, splitwise_sim, burstgpt, mooncake)
