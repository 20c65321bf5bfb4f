"""Which environments the slower tests play: all of ours, and of each large family that shares one class a few."""

import gem

REASONING = ("letter_counting", "polynomial_multiplication", "n_queens", "rubiks_cube", "composite")
"""An ordinary dataset, one that walks through sets, one whose scorer evaluates, one without a single right answer,
and several together. `test_reasoning_gym.py` goes through all."""


def played() -> list[str]:
    """Ids, in the order of registration."""
    few = {f"rg:{name}" for name in REASONING}
    slow = {"terminal"}
    return [spec.id for spec in gem.registry.specs() if spec.category not in {"rg", *slow} or spec.id in few]
