"""The verbs that write episodes."""

import json
from typing import Any

import pytest
from django.db import transaction

import gem
from apps.episodes import branches, operations
from apps.episodes.errors import ActionTooLong, EpisodeEnded, NotFound, Outdated
from apps.episodes.models import Batch, Episode, Turn
from apps.episodes.operations import Occupant
from apps.episodes.restore import restore
from gem import registry
from gem.errors import EnvironmentFailure, InvalidArgument, UnknownEnvironment
from tests.apps.agents import built_in
from tests.engine.ids import kinds

GUESS = "game:GuessTheNumber-v0-hard"

pytestmark = pytest.mark.django_db


def begin(env_id: str = GUESS, seed: int | None = 7, batch: Batch | None = None, **more: Any) -> Episode:
    seats = [Occupant(built_in("random"))] * gem.spec(env_id).seats
    return operations.store(operations.draft(env_id, seed=seed, **more), seats=seats, batch=batch)


def play(episode: Episode, *actions: str, **more: Any) -> list[Turn]:
    with transaction.atomic():
        locked = operations.lock(episode.id)
        env = restore(locked)
        turns = [operations.record_turn(locked, env, action, **more) for action in actions]
    episode.refresh_from_db()
    return turns


def test_an_episode_begins_with_everything_that_it_follows_from() -> None:
    episode = begin(env_kwargs={"max_turns": 3})
    assert episode.identity() == {
        "env_id": GUESS,
        "env_version": 1,
        "env_kwargs": {"max_turns": 3},
        "data_hash": "",
        "wrappers": [],
        "seed": 7,
    }
    assert (episode.engine_version, episode.max_turns, episode.seq) == (gem.__version__, 3, 0)
    assert "from 1 to 50" in episode.first_observation


def test_wrappers_count_from_the_first_turn() -> None:
    episode = begin(wrappers=[{"name": "time_limit", "max_turns": 2}])
    assert episode.max_turns == 2
    play(episode, "\\boxed{1}", "\\boxed{2}")
    assert (episode.outcome, episode.truncated, episode.success) == (Episode.Outcome.LIMIT, True, False)
    assert operations.verify(episode) is None


def test_what_cannot_begin_says_why_and_leaves_nothing() -> None:
    with pytest.raises(UnknownEnvironment, match="Did you mean"):
        begin("game:GuessTheNumbr-v0")
    with pytest.raises(InvalidArgument, match="max_turns"):
        begin(env_kwargs={"max_turn": 3})
    with pytest.raises(InvalidArgument, match="A seed is an integer"):
        begin(seed=-1)
    assert not Episode.objects.exists()


def test_an_environment_that_cannot_begin_is_closed() -> None:
    closed = []

    class Empty(gem.Env):
        def _start(self) -> Any:
            raise OSError("no room")

        def step(self, action: str) -> Any:
            return "", 0.0, False, False, {}

        def close(self) -> None:
            closed.append(self)

    gem.register("test:Empty-v0", Empty)
    try:
        with pytest.raises(OSError, match="no room"):
            begin("test:Empty-v0")
    finally:
        del registry.ENV_REGISTRY["test:Empty-v0"]
    assert len(closed) == 1


def test_a_turn_moves_everything_forward_by_one() -> None:
    episode = begin()
    (turn,) = play(episode, "\\boxed{25}", extra_info={"note": "the middle"})
    assert (turn.number, turn.seq, turn.note) == (1, 1, "the middle")
    assert (episode.turn_count, episode.seq, episode.status) == (1, 1, Episode.Status.RUNNING)
    assert "note" not in turn.info


def test_the_end_is_recorded_with_its_outcome_and_the_state_is_dropped() -> None:
    episode = begin()
    env = restore(episode)
    secret = env.get_state()["secret"]
    play(episode, f"\\boxed{{{secret}}}")
    assert (episode.outcome, episode.success, episode.terminated) == (Episode.Outcome.WON, True, True)
    assert episode.state is None
    assert episode.ended is not None
    assert episode.seats.get().total_reward == 1.0


def test_no_turn_follows_the_end() -> None:
    episode = begin()
    play(episode, "no box")
    with pytest.raises(EpisodeEnded), transaction.atomic():
        locked = operations.lock(episode.id)
        operations.record_turn(locked, gem.make(GUESS), "\\boxed{1}")
    with pytest.raises(EpisodeEnded):
        operations.abandon(episode)
    with pytest.raises(EpisodeEnded):
        operations.fail(episode, "too late")
    assert episode.turns.count() == 1


def test_without_the_cached_state_it_goes_on_by_playing_again() -> None:
    episode = begin()
    play(episode, "\\boxed{25}", "\\boxed{30}")
    cached = restore(episode).get_state()
    for state in (None, {"engine": "0.0.0", "env": {"of": "another engine"}}):
        episode.state = state
        assert restore(episode).get_state() == cached


def test_another_version_of_the_environment_is_not_played_on() -> None:
    episode = begin()
    episode.env_version = 99
    with pytest.raises(Outdated, match="version 99"):
        restore(episode)


def test_an_action_is_measured_in_bytes() -> None:
    operations.check_action("é" * 32_768)
    with pytest.raises(ActionTooLong, match="64 KiB; this one has 65 KiB"):
        operations.check_action("é" * 32_769)


def test_what_cannot_be_stored_is_shown_and_told() -> None:
    episode = begin()
    (turn,) = play(episode, "\0\ud800 \\boxed{25}")
    turn.refresh_from_db()
    assert turn.action == "␀\ufffd \\boxed{25}"
    assert turn.replaced == (
        "1 NUL character became ␀ and 1 incomplete character became \ufffd, because they cannot be stored. "
        "The rest was sent as written."
    )
    assert operations.verify(episode) is None


def test_what_json_does_not_have_is_kept_as_its_text() -> None:
    episode = begin()

    class Measured(gem.EnvWrapper):
        def step(self, action: str) -> Any:
            *step, info = super().step(action)
            return *step, {**info, "loss": float("nan"), "seen": {3}}

    with transaction.atomic():
        locked = operations.lock(episode.id)
        turn = operations.record_turn(locked, Measured(restore(locked)), "\\boxed{1}")
    turn.refresh_from_db()
    assert (turn.info["loss"], turn.info["seen"]) == ("nan", "{3}")


def test_an_environment_that_breaks_writes_nothing_and_can_then_fail() -> None:
    episode = begin()

    class Broken(gem.EnvWrapper):
        def step(self, action: str) -> Any:
            raise ZeroDivisionError("by chance")

    class Endless(gem.EnvWrapper):
        def step(self, action: str) -> Any:
            return "", float("nan"), False, False, {}

    class Mute(gem.EnvWrapper):
        def step(self, action: str) -> Any:
            return None, None, False, False, {}

    for wrapper, said in (
        (Broken, "failed at turn 1: ZeroDivisionError: by chance"),
        (Endless, "failed at turn 1: The reward is not a finite number: nan"),
        (Mute, "failed at turn 1: The observation is not a string: None"),
    ):
        with pytest.raises(EnvironmentFailure, match=said), transaction.atomic():
            locked = operations.lock(episode.id)
            operations.record_turn(locked, wrapper(restore(locked)), "\\boxed{1}")
    assert episode.turns.count() == 0
    failed = operations.fail(episode, "It broke.\0")
    assert (failed.outcome, failed.failure, failed.success) == (Episode.Outcome.ERROR, "It broke.␀", None)


def test_verification_finds_the_first_difference() -> None:
    episode = begin()
    play(episode, "\\boxed{25}", "\\boxed{30}", "\\boxed{35}")
    assert operations.verify(episode) is None
    episode.turns.filter(number__gte=2).update(reward=0.5)
    difference = operations.verify(episode)
    assert difference is not None
    assert (difference.turn, difference.field, difference.recorded, difference.replayed) == (2, "reward", 0.5, 0.0)


def test_a_fork_shares_the_past_and_not_the_future() -> None:
    episode = begin()
    play(episode, "\\boxed{25}", "\\boxed{30}", extra_info={"note": "why"})
    branch = branches.store_branch(
        branches.draft_fork(episode, 1), seats=[Occupant(built_in("human"), visitor="a" * 32)]
    )
    play(branch, "\\boxed{31}")
    assert [turn.action for turn in branch.turns.all()] == ["\\boxed{25}", "\\boxed{31}"]
    assert (branch.parent_id, branch.parent_turn, branch.turn_count, branch.seq) == (episode.id, 1, 2, 2)
    assert operations.verify(branch) is None
    assert episode.turns.count() == 2
    with pytest.raises(NotFound):
        branches.draft_fork(episode, 3)


def test_nothing_forks_from_an_end() -> None:
    episode = begin()
    play(episode, "no box")
    with pytest.raises(EpisodeEnded):
        branches.draft_fork(episode, 1)
    assert branches.draft_fork(episode, 0).turn_count == 0


def test_a_lock_on_nothing_says_so() -> None:
    with pytest.raises(NotFound):
        operations.lock("nosuchone")


@pytest.mark.parametrize("env_id", [env_id for env_id in kinds() if registry.spec(env_id).cost == "fast"])
def test_every_environment_begins_restores_and_stays_json(env_id: str) -> None:
    episode = begin(env_id)
    play(episode, restore(episode).sample_random_action())
    assert json.loads(json.dumps(episode.state)) == episode.state
    assert operations.verify(episode) is None
