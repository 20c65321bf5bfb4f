"""Each promise to environments of other packages is tried on one that keeps all, and on one that breaks only it."""

from __future__ import annotations

from typing import Any

import pytest

from gem.check.elsewhere.driver import main, making, reproducibility
from gem.check.elsewhere.driver.games.boards import _is_solvable
from gem.check.elsewhere.driver.playing import canonical, difference
from gem.check.elsewhere.driver.promise import TooLong, time_limit
from gem.check.elsewhere.driver.subjects import GemSubject, Subject, _named_arguments, _takes_any
from tests.engine.elsewhere.toy_gem.envs import toys

ALONE = {"EndsTheProcess", "LoopsForever", "WaitsForever", "OrderOfASet"}
"""What can only be told in a process of its own."""
MORE = {
    "IgnoresTheSeed": {
        "is_asked_without_effect", "is_undisturbed_by_others", "plays_the_same_in_threads",
        "repeats_after_many_episodes",
    },
    "Malformed": {"refuses_turns_after_the_end"},
    "PaysWords": {"random_actions_are_understood"},
    "SharesItsSecret": {"plays_the_same_in_threads"},
}  # fmt: skip
"""What else is broken with it; threads meet each other or not."""
TOYS = [each for each in vars(toys).values() if isinstance(each, type) and each.__module__ == toys.__name__]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "HANGS_AFTER", 0.3)


class ToySubject(Subject):
    """A class in this process."""

    kind = "gem"
    random_action = GemSubject.random_action
    seed_actions = GemSubject.seed_actions
    turn_limit = GemSubject.turn_limit

    def __init__(self, cls: Any) -> None:
        super().__init__(cls.__name__)
        self.cls = cls
        self.takes_any_argument = _takes_any(cls)

    def make(self, **arguments: Any) -> Any:
        return self.cls(**{**self.cls.registered, **arguments})

    def arguments(self) -> Any:
        return _named_arguments(self.cls), self.cls.registered


def broken(cls: Any) -> dict[str, str]:
    """The promises that a class breaks, with what was found."""
    found, subject = {}, ToySubject(cls)
    for promise in main.PROMISES:
        if not promise.applies_to("gem", "") or promise.attempt is reproducibility.repeats_in_other_processes:
            continue
        status, detail = main.attempt(promise, subject)
        if status == "wrong":
            found[promise.key] = detail
            if promise.basic:
                break
    return found


@pytest.mark.parametrize("cls", [each for each in TOYS if each.__name__ not in ALONE])
def test_what_is_broken_is_named_and_nothing_else(cls: Any) -> None:
    found = set(broken(cls))
    assert found - MORE.get(cls.__name__, set()) == ({cls.breaks} if cls.breaks else set())


def test_a_finding_says_what_happened() -> None:
    found = {cls.breaks: broken(cls).get(cls.breaks, "") for cls in (toys.BothEnds, toys.TwoStarts, toys.CannotBeMade)}
    assert "terminated and truncated at the same time" in found["ends_in_one_way"]
    assert found["has_several_starts"].startswith("200 seeds begin in 2 ways only")
    assert "It raised ValueError: no (toys.py, line " in found["is_made"]
    assert "With max_turns=" not in str(broken(toys.Good))
    assert "With numbers=37 it does not come back" in broken(toys.DrawsUntilItFits)["large_arguments_come_back"]


def test_what_takes_too_long_is_interrupted_whatever_it_catches() -> None:
    with pytest.raises(TooLong), time_limit(0.05):
        while True:
            try:
                sum(range(1000))
            except Exception:  # noqa: BLE001 (as environments do)
                continue


def test_equal_episodes_are_equal_in_any_form() -> None:
    one = [({"b": {3, 1}, "a": (1, 2)}, {}), ([1], 0.5, False, True, {"x": object()})]
    other = [({"a": [1, 2], "b": {1, 3}}, {}), ([1], 0.5, False, True, {"x": object()})]
    assert difference(one, other) == ""
    assert canonical(one[0]) == canonical(other[0])
    assert difference(one, one[:1]) == "one has 1 turns and the other 0"
    assert difference([one[0], ([1], 0.5, False, True, {})], [one[0], ([1], 0.25, False, True, {})]) == (
        "turn 1 has the reward 0.5 and then 0.25"
    )


def test_the_boards_that_can_be_solved_are_those_that_moves_reach() -> None:
    reached, new = {((1, 2), (3, 0))}, [((1, 2), (3, 0))]
    while new:
        board = new.pop()
        flat = [tile for row in board for tile in row]
        gap = flat.index(0)
        for other in ({0: (1, 2), 1: (0, 3), 2: (0, 3), 3: (1, 2)})[gap]:
            moved = list(flat)
            moved[gap], moved[other] = moved[other], 0
            following = (tuple(moved[:2]), tuple(moved[2:]))
            if following not in reached:
                reached.add(following)
                new.append(following)
    assert len(reached) == 12
    assert all(_is_solvable([list(row) for row in board]) for board in reached)
    assert not _is_solvable([[2, 1], [3, 0]])


def test_arguments_of_an_inherited_constructor_are_found() -> None:
    class Base:
        def __new__(cls, *_args: Any, **_others: Any) -> Base:
            return super().__new__(cls)

        def __init__(self, size: int = 4) -> None:
            self.size = size

    class Derived(Base):
        pass

    assert _named_arguments(Derived) == {"size": 4}
    assert not _takes_any(Derived)
