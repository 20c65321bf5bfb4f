"""Which environments the tests play: all of ours (of each large family that shares one class a few), or one of a kind.

A contract is tried on one environment of each kind, for the others of the kind differ from it in numbers only: in their
sizes and turn limits, which `played` goes through in `contracts/test_every_id.py` and in the goldens.
"""

from collections.abc import Hashable

import gem
import gem.sandbox
from gem.registry import EnvSpec

REASONING = ("letter_counting", "polynomial_multiplication", "n_queens", "rubiks_cube", "composite")
"""An ordinary dataset, one that walks through sets, one whose scorer evaluates, one without a single right answer,
and several together. `test_reasoning_gym.py` goes through all."""
PROBLEMS = (
    "math:GSM8K", "math:Geometry3K", "eval:MATH500", "qa:HotpotQA", "logic:RuleTaker-d2", "code:CodeContest",
    "math:Drawn-v0-hard",
)  # fmt: skip
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


def kinds() -> list[str]:
    """One id of each kind: that whose sizes are drawn anew in each episode if there is one, else the last one."""
    found: dict[Hashable, EnvSpec] = {}
    for spec in map(gem.spec, played()):
        known = found.get(kind_of(spec))
        if known is None or _drawn(spec) >= _drawn(known):
            found[kind_of(spec)] = spec
    return [spec.id for spec in found.values()]


def kind_of(spec: EnvSpec) -> Hashable:
    """The class and the arguments that are names: who the opponent is, which dataset it is."""
    return spec.load(), frozenset((name, value) for name, value in spec.kwargs.items() if isinstance(value, str))


def _drawn(spec: EnvSpec) -> int:
    """How many of its arguments are drawn at reset."""
    return sum(value is None for value in spec.kwargs.values())
