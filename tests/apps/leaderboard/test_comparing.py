"""The arithmetic of a person beside the agents: wins and ties, shares and what they allow to say."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from apps.episodes.models import Episode
from apps.leaderboard.versus import Against, Try, Verdict, compare
from gem.evaluation.scores import wilson


def test_a_tie_counts_as_half() -> None:
    against = compare(0.5, [0.2, 0.5, 0.9, 0.9])
    assert against == Against(beaten=1, tied=1, lost=2)
    assert (against.n, against.share) == (4, 0.375)
    assert compare(0.5, []).share == 0.0


def test_returns_that_differ_in_their_last_digit_tie() -> None:
    assert compare(0.1 + 0.2, [0.3]) == Against(tied=1)
    assert compare(0.3, [0.3001, 0.2999]) == Against(beaten=1, lost=1)


def own(value: float, *theirs: float, **seat: Any) -> Try:
    """An own episode that reached `value` where agents 1, 2 ... reached `theirs`."""
    ended = {"status": Episode.Status.ENDED, "over": True, "parent_id": None, "batch_id": None, "goes_on_in_id": None}
    episode = SimpleNamespace(wrappers=[], env_kwargs={}, **{**ended, **seat.pop("episode", {})})
    found: Any = SimpleNamespace(**{"total_reward": value, "advised": False, "episode": episode, **seat})
    return Try(found, dict(enumerate(theirs, 1)))


def test_every_own_episode_weighs_alike_however_many_agents_played_it() -> None:
    verdict = Verdict([own(1.0, 0.0, 0.0, 0.0), own(0.5, 0.5), own(0.0, 1.0, 1.0)])
    assert verdict.share == pytest.approx(wilson(1.5, 3))
    assert verdict.share is not None
    assert verdict.share.mean == pytest.approx(0.5)
    assert Verdict([]).share is None


def test_one_win_is_too_close_to_call_and_many_are_not() -> None:
    assert Verdict([own(1.0, 0.0)]).claim == "Whether that is more than half is too close to call with 1 seed."
    assert "more than half, and unlikely to be luck" in Verdict([own(1.0, 0.0)] * 20).claim
    assert "less than half" in Verdict([own(0.0, 1.0)] * 20).claim


@pytest.mark.parametrize("value", [1.0, 0.0])
def test_four_or_five_seeds_in_a_row_may_be_luck(value: float) -> None:
    """Of equally good players, one wins all of four seeds in one of eight cases, of five in one of 16."""
    for count in (4, 5):
        said = Verdict([own(value, 1.0 - value)] * count).claim
        assert said.endswith(f"is too close to call by the test of signs with {count} seeds.")
    assert "unlikely to be" in Verdict([own(value, 1.0 - value)] * 6).claim


def test_what_does_not_count_or_nobody_has_played_is_not_compared() -> None:
    verdict = Verdict([own(1.0, 0.0), own(1.0), own(1.0, 0.0, advised=True), own(1.0, 0.0, watched=True)])
    assert len(verdict.compared) == 1
    assert [one.why_not for one in verdict.left_out] == [
        "the expert gave a hint",
        "you watched an agent on this seed before the end",
    ]
