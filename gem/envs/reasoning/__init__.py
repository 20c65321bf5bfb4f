"""ReasoningGym's datasets, one environment each: `rg:letter_counting`, `rg:chain_sum` and a hundred more."""

from typing import Any

from gem.envs.reasoning.datasets import COMPOSITE, DATASETS
from gem.registry import register

PACKAGE = "reasoning-gym"

for name, summary in DATASETS.items():
    given: dict[str, Any] = {"config": {"datasets": [dict(part) for part in COMPOSITE]}} if name == "composite" else {}
    register(
        f"rg:{name}",
        "gem.envs.reasoning.dataset:ReasoningGymEnv",
        name=name,
        turns="single",
        board="text",
        summary=summary,
        requires=[PACKAGE],
        **given,
    )
