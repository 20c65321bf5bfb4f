"""What `gemweb check gem:ID` expects of other packages, our environments keep as well: no promise is a false alarm.

Rules of which our documentation says that they are others are left out, and listed here.
"""

from __future__ import annotations

import pytest

import gem
from gem.check.elsewhere.driver import main, making, reproducibility
from gem.check.elsewhere.driver.promise import Promise
from gem.check.elsewhere.driver.subjects import GemSubject

STATED = {
    "is_asked_without_effect", "is_undisturbed_by_others", "plays_to_its_end", "repeats_a_seed",
    "repeats_in_other_processes",
}  # fmt: skip
"""Promises that `test_check.py` tries with the same environments, by other names or the same."""
SLOW = {"plays_the_same_in_threads", "repeats_after_many_episodes"}
SOME = (
    "game:GuessTheNumber-v0-easy", "game:Minesweeper-v0-easy", "game:Sudoku-v0-easy", "game:FifteenPuzzle-v0-easy",
    "game:TowerofHanoi-v0-random", "game:Hangman-v0-easy", "game:Game2048-v0-hard", "duel:KuhnPoker-v0-vs-random",
)  # fmt: skip
"""What is tried whenever the tests run; the long test tries all ids."""
KEPT_ON_PURPOSE = {
    ("GuessTheNumber", "a_repeated_guess_earns_nothing"): "Its documentation says that the last guess earns something.",
    ("Minesweeper", "a_flag_protects_its_cell"): "Its documentation says that a flag does not protect.",
    ("Sudoku", "clues_are_cells_that_are_filled"): "Its documentation says that clues counts the empty cells.",
}
"""Rules of GEM that ours keep, and say so (docs/differences-from-gem.md)."""


def results(env_id: str, left_out: set[str]) -> dict[str, tuple[str, str]]:
    """What comes of each promise about an environment of ours."""
    subject = GemSubject(env_id)
    tried = [promise for promise in main.PROMISES if promise.applies_to("gem", subject.family)]
    return {promise.key: main.attempt(promise, subject) for promise in tried if promise.key not in left_out}


@pytest.mark.parametrize("own_id", SOME)
def test_our_environments_keep_what_is_expected_of_others(own_id: str) -> None:
    found = results(own_id, STATED | SLOW)
    assert len(found) >= 14
    assert {key: detail for key, (status, detail) in found.items() if status == "wrong"} == {}
    for (family, key), reason in KEPT_ON_PURPOSE.items():
        if own_id.startswith(f"game:{family}-"):
            assert found[key] == ("left out", reason)


@pytest.mark.long
def test_every_environment_of_ours_keeps_what_is_expected_of_others() -> None:
    checked = 0
    for spec in gem.registry.specs():
        if spec.missing_packages() or spec.unavailable_reason():
            continue
        found = results(spec.id, {"repeats_in_other_processes"})
        assert (spec.id, {key: detail for key, (status, detail) in found.items() if status == "wrong"}) == (spec.id, {})
        checked += 1
    assert checked > 150


def test_every_promise_says_what_helps() -> None:
    promises: tuple[Promise, ...] = (*main.OF_PACKAGES, *main.PROMISES)
    assert len({promise.title for promise in promises}) == len({promise.key for promise in promises}) == len(promises)
    assert all(promise.advice.endswith(".") and promise.title.endswith(".") for promise in promises)
    assert making.FIRST[1].basic
    assert reproducibility.PROMISES
