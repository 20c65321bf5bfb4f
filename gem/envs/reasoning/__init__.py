"""ReasoningGym's datasets, one environment for each: `rg:letter_counting`, `rg:chain_sum` and a hundred more.

The package `reasoning-gym` runs in a process of its own (`helper`). Begin reading at `dataset`.
"""

from typing import Any

from gem.envs.reasoning.datasets import COMPOSITE, DATASETS
from gem.registry import register

PACKAGE = "reasoning-gym"

for name, summary in DATASETS.items():
    config_kwargs: dict[str, Any] = (
        {"config": {"datasets": [dict(part) for part in COMPOSITE]}} if name == "composite" else {}
    )
    register(
        f"rg:{name}",
        "gem.envs.reasoning.dataset:ReasoningGymEnv",
        name=name,
        cost="slow",
        turns="single",
        board="text",
        summary=summary,
        requires=[PACKAGE],
        **config_kwargs,
    )
