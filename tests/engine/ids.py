"""Which environments the slower tests play: all of ours, and of each large family that shares one class a few."""

import gem
import gem.sandbox

REASONING = ("letter_counting", "polynomial_multiplication", "n_queens", "rubiks_cube", "composite")
"""An ordinary dataset, one that walks through sets, one whose scorer evaluates, one without a single right answer,
and several together. `test_reasoning_gym.py` goes through all."""
PROBLEMS = ("math:GSM8K", "math:Geometry3K", "eval:MATH500", "qa:HotpotQA", "logic:RuleTaker-d2", "code:CodeContest")
"""One of each kind of problem: the others differ in their rows, which `tests/engine/problems/` goes through."""
SHARED = {"rg", "math", "eval", "qa", "logic", "code"}
"""Categories whose ids share a class or two."""
SLOW = {"terminal"}
"""Categories that have tests of their own: every command starts a confined process."""


def played() -> list[str]:
    """Ids, in the order of registration."""
    few = {f"rg:{name}" for name in REASONING} | set(PROBLEMS)
    found = [spec for spec in gem.registry.specs() if spec.category not in SHARED | SLOW or spec.id in few]
    if gem.sandbox.level() == "disabled":  # programs cannot be run here
        found = [spec for spec in found if spec.board != "code"]
    return [spec.id for spec in found]
