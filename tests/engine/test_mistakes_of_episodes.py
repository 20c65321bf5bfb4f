"""What the expert says of an episode: where it would have played otherwise, and which turn cost most."""

from __future__ import annotations

import pytest

from gem.agents import make_agent
from gem.analysis.mistakes import Mistakes, find_mistakes
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, rollout

HANOI = "game:TowerofHanoi-v0-easy"


def played(agent: str, env_id: str, seed: int = 3) -> EpisodeRecord:
    return next(iter(rollout(make_agent(agent), [EpisodeRequest(0, env_id, seed)], num_envs=1)))


def mistakes(record: EpisodeRecord, *actions: str, seconds: float = 20.0) -> Mistakes:
    return find_mistakes(
        record.identity, actions or [turn.action for turn in record.turns], record.infos, seconds=seconds
    )


@pytest.mark.parametrize("env_id", [HANOI, "game:GuessTheNumber-v0-easy", "duel:KuhnPoker-v0-vs-expert"])
def test_the_expert_finds_no_fault_with_itself(env_id: str) -> None:
    assert mistakes(played("expert", env_id)) == Mistakes()


def test_words_around_an_action_are_no_other_action() -> None:
    record = played("expert", HANOI)
    wordy = [f"I move a disk: {turn.action.lower()}" for turn in record.turns]
    assert mistakes(record, *wordy).parting is None


def test_a_turn_after_which_there_is_no_time_left_costs_what_the_expert_would_have_earned() -> None:
    """Seven moves solve three disks, and there are ten: the fourth wasted move makes the solution impossible."""
    record = played("expert", HANOI)
    right = [turn.action for turn in record.turns]
    there_and_back = ["\\boxed{A B}", "\\boxed{B A}"]
    found = mistakes(record, *there_and_back, *there_and_back, *right[:6])
    assert found.parting == 1
    assert found.instead == right[0]
    assert found.note
    assert found.costliest == 4, "before it six of seven moves would have been in time"
    assert 0 < found.loss <= 1


def test_it_stops_when_the_time_is_over() -> None:
    assert not mistakes(played("random", "game:Sokoban-v0-easy"), seconds=0.0).is_complete


def test_without_an_expert_nothing_is_said() -> None:
    record = played("random", "math:Drawn-v0-easy")
    assert mistakes(record) == Mistakes()
