"""Rollouts, vectors and replays: episodes in bulk, with failures in their place."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

import gem
from gem.agents import make_agent
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.errors import EpisodeOver, InvalidArgument, UnknownEnvironment, VersionChanged
from gem.records import Identity, TurnRecord
from gem.registry import ENV_REGISTRY
from gem.replay import frames, make_env, restore, verify
from gem.rollout import EpisodeRequest, rollout
from gem.vector import AutoresetMode, SyncVectorEnv, make_vec
from gem.wrappers import get_wrapper_fns
from tests.engine.ids import kinds

HARD = "game:GuessTheNumber-v0-hard"
RANDOM = make_agent("random")
LIMIT = [{"name": "time_limit", "max_turns": 3}]


class Breaks(GuessTheNumber):
    """Fails in the second turn of odd seeds, and at the reset of those that tests name and that end in 5."""

    def _draw(self) -> None:
        super()._draw()
        if self.seed is not None and self.seed < 1000 and self.seed % 10 == 5:  # those that are drawn are large
            raise OSError("no room")

    def _play(self, match: Any) -> Any:
        if self.turn == 2 and self.seed is not None and self.seed % 2:
            raise ZeroDivisionError("broken")
        return super()._play(match)


@pytest.fixture
def fragile() -> Iterator[str]:
    """The id of an environment that sometimes raises."""
    gem.register("test:Fragile-v0", Breaks, min_number=1, max_number=1000, max_turns=3)
    yield "test:Fragile-v0"
    del ENV_REGISTRY["test:Fragile-v0"]


@pytest.mark.parametrize("num_envs", [1, 4, 64])
def test_every_slot_gives_one_record(num_envs: int) -> None:
    slots = [EpisodeRequest(100 + i, env_id, i) for i, env_id in enumerate(kinds() * 3)]
    records = list(rollout(RANDOM, iter(slots), num_envs=num_envs))
    assert sorted(record.index for record in records) == [slot.index for slot in slots]
    for record in records:
        slot = slots[record.index - 100]
        assert (record.identity.env_id, record.identity.seed) == (slot.env_id, slot.seed)
        assert record.terminated != record.truncated
        assert record.success is record.turns[-1].info["success"]
        assert record.turn_count <= record.max_turns
        assert not record.failure
        assert (
            verify(
                record.identity,
                record.turns,
                first_observation=record.first_observation,
                terminated=record.terminated,
                truncated=record.truncated,
            )
            is None
        )


def test_an_environment_that_raises_gives_a_failure_and_the_rest_go_on(fragile: str) -> None:
    records = {
        record.index: record
        for record in rollout(RANDOM, [EpisodeRequest(i, fragile, i) for i in range(20)], num_envs=4)
    }
    assert len(records) == 20
    for index, record in records.items():
        if index % 10 == 5:
            assert record.failure == "OSError: no room"
            assert record.turns == []
        elif index % 2:
            assert record.failure == "ZeroDivisionError: broken"
            assert record.turn_count == 1
            assert record.success is None
        else:
            assert not record.failure
            assert record.turn_count == 3 or record.success


class Numberless(GuessTheNumber):
    """Answers its second turn with what `answer` is."""

    answer: Any = None

    def step(self, action: str) -> Any:
        step = super().step(action)
        return step if self.turn < 2 else self.answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (("", None, False, False, {}), "The reward is not a finite number: None."),
        (("", float("nan"), False, False, {}), "The reward is not a finite number: nan."),
        (("", "1", False, False, {}), "The reward is not a finite number: '1'."),
        ((None, 0.0, False, False, {}), "The observation is not a string: None."),
        (("", 0.0, False, {}), "ValueError: not enough values to unpack"),
        (None, "TypeError: cannot unpack"),
    ],
)
def test_a_turn_that_cannot_be_written_down_is_a_failure(answer: Any, said: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(Numberless, "answer", answer)
    gem.register("test:Numberless-v0", Numberless, min_number=1, max_number=1000)
    try:
        [record, other] = rollout(
            RANDOM, [EpisodeRequest(0, "test:Numberless-v0", 1), EpisodeRequest(1, HARD, 1)], num_envs=2
        )
    finally:
        del ENV_REGISTRY["test:Numberless-v0"]
    record, other = sorted((record, other), key=lambda one: one.index)
    assert (record.turn_count, record.failed_by, record.failure.startswith(said)) == (1, "environment", True)
    assert not other.failure


def test_misuse_is_raised() -> None:
    with pytest.raises(UnknownEnvironment, match="Did you mean game:GuessTheNumber-v0-hard"):
        list(rollout(RANDOM, [EpisodeRequest(0, "game:GuessTheNumber-v0-herd", 0)]))
    with pytest.raises(InvalidArgument, match="num_envs"):
        list(rollout(RANDOM, [], num_envs=0))
    with pytest.raises(InvalidArgument, match="Did you mean max_turns"):
        list(rollout(RANDOM, [EpisodeRequest(0, HARD, 0, {"max_turn": 3})]))


def test_endless_slots_are_read_as_places_become_free() -> None:
    read = 0

    def slots() -> Iterator[EpisodeRequest]:
        nonlocal read
        while True:
            yield EpisodeRequest(read, HARD, read)
            read += 1

    records = rollout(RANDOM, slots(), num_envs=4)
    assert len([next(records) for _ in range(10)]) == 10
    assert read < 20


def test_arguments_and_wrappers_of_a_slot_are_part_of_its_identity() -> None:
    (record,) = rollout(
        make_agent("expert"), [EpisodeRequest(0, HARD, 7, {"max_number": 1000, "max_turns": 20}, LIMIT)]
    )
    assert (record.turn_count, record.truncated, record.max_turns) == (3, True, 3)
    assert "1 to 1000" in record.first_observation
    assert verify(record.identity, record.turns, terminated=False, truncated=True) is None
    actions = [turn.action for turn in record.turns]
    shown = list(frames(record.identity, actions))
    assert [frame.turn for frame in shown] == [0, 1, 2, 3]
    assert not any("act" in cell for row in shown[-1].view["rows"] for cell in row)
    env = restore(record.identity, actions[:2])
    assert env.step(actions[2])[0] == record.turns[2].observation


def test_a_record_that_was_changed_is_found_out() -> None:
    (record,) = rollout(RANDOM, [EpisodeRequest(0, HARD, 3)])
    identity, turns = record.identity, record.turns
    for changes, field in (
        ({"reward": 0.5}, "reward"),
        ({"observation": "You win."}, "observation"),
        ({"info": {**turns[0].info, "suffix": "?"}}, "info['suffix']"),
    ):
        difference = verify(identity, [dataclasses.replace(turns[0], **changes), *turns[1:]])
        assert difference is not None
        assert (difference.turn, difference.field) == (1, field)
        assert field in difference.sentence
    late = verify(identity, [*turns, TurnRecord("\\boxed{1}", "", 0.0, {})])
    assert late is not None
    assert (late.turn, late.field) == (len(turns) + 1, "end")
    first = verify(identity, turns, first_observation="Hello")
    assert first is not None
    assert first.turn == 0
    cut = verify(identity, turns[:1], terminated=True)
    assert cut is not None
    assert cut.field == "terminated"


def test_another_version_cannot_be_re_executed() -> None:
    old = Identity(HARD, 99, 1)
    with pytest.raises(VersionChanged, match="version 99"):
        make_env(old)
    difference = verify(old, [])
    assert difference is not None
    assert difference.field == "env_version"
    with pytest.raises(VersionChanged, match="other data"):
        make_env(Identity(HARD, 1, 1, data_hash="abc"))


def test_same_step_keeps_the_last_observation_and_info() -> None:
    vector = make_vec([HARD] * 3, wrappers=get_wrapper_fns("concat,episode_tracking"), seed=5, max_turns=1)
    first, _ = vector.reset()
    observations, rewards, terminated, truncated, infos = vector.step(["\\boxed{1}"] * 3)
    for i in range(3):
        assert terminated[i] or truncated[i]
        assert infos[i]["final_info"]["cumulative_rewards"] == rewards[i]
        assert infos[i]["final_observation"].startswith(first[i].removesuffix("Enter your guess."))
        assert infos[i]["prev_ep_step_counter"] == 1
        assert observations[i] != infos[i]["final_observation"]


def test_next_step_resets_one_step_later() -> None:
    vector = make_vec([HARD] * 2, seed=1, max_turns=1, autoreset_mode="NextStep")
    vector.reset()
    _, _, terminated, truncated, infos = vector.step(["\\boxed{1}", "\\boxed{2}"])
    assert all(a or b for a, b in zip(terminated, truncated, strict=True))
    assert "final_observation" not in infos[0]
    observations, rewards, terminated, truncated, _ = vector.step(["\\boxed{1}", "\\boxed{2}"])
    assert all("secret number" in observation for observation in observations)
    assert (rewards, terminated, truncated) == ([0.0, 0.0], [False, False], [False, False])


def test_disabled_leaves_the_reset_to_the_caller() -> None:
    vector = make_vec([HARD] * 2, seed=1, vec_kwargs=[{"max_turns": 1}, {}], autoreset_mode=AutoresetMode.DISABLED)
    vector.reset(seed=[3, None])
    vector.step(["\\boxed{1}", "\\boxed{1}"])
    with pytest.raises(EpisodeOver):
        vector.step(["\\boxed{1}", None])
    observations, _ = vector.reset(seed=8, mask=[True, False])
    assert observations[0]
    assert observations[1] == ""
    assert vector.envs[0].seed == 8
    assert vector.step(["\\boxed{1}", None])[0][1] == ""


def test_a_vector_reports_a_failing_environment_in_its_slot(fragile: str) -> None:
    vector = make_vec([fragile, HARD])
    vector.reset(seed=[1, 1])
    vector.step(["\\boxed{1}", "\\boxed{1}"])
    observations, rewards, terminated, truncated, infos = vector.step(["\\boxed{2}", "\\boxed{2}"])
    assert infos[0]["final_info"] == {"failure": "ZeroDivisionError: broken"}
    assert infos[0]["failure"] == "ZeroDivisionError: broken"
    assert (rewards[0], terminated[0], truncated[0]) == (0.0, False, True)
    assert "secret number" in observations[0]
    assert "failure" not in infos[1]
    vector.close()
    vector.close()


def test_a_vector_needs_as_many_of_everything_as_environments() -> None:
    for wrong in (lambda: make_vec([]), lambda: make_vec([HARD], vec_kwargs=[{}, {}])):
        with pytest.raises(InvalidArgument):
            wrong()
    vector = SyncVectorEnv([lambda: gem.make(HARD)])
    with pytest.raises(InvalidArgument, match="as many seeds"):
        vector.reset(seed=[1, 2])
    with pytest.raises(InvalidArgument, match="as many actions"):
        vector.step([])


def test_the_tries_at_a_seed_are_drawn_anew_and_the_first_is_as_ever() -> None:
    env_id = "game:GuessTheNumber-v0-hard"
    slots = [EpisodeRequest(i, env_id, seed=i % 5, repeat=i // 5) for i in range(20)]
    tries = sorted(rollout(RANDOM, slots), key=lambda record: record.index)
    assert len({(one.identity.seed, *(turn.action for turn in one.turns)) for one in tries}) == 20
    once = sorted(rollout(RANDOM, slots[:5]), key=lambda record: record.index)
    assert [one.turns for one in tries[:5]] == [one.turns for one in once]
    alone = next(iter(rollout(RANDOM, [slots[-1]])))
    assert alone.turns == tries[-1].turns


def test_threads_play_the_same_episodes(fragile: str) -> None:
    slots = [EpisodeRequest(i, env_id, 20 + i) for i, env_id in enumerate([*kinds()[:6], fragile, fragile, HARD] * 3)]
    turn_by_turn, at_once = (
        {record.index: record for record in rollout(RANDOM, slots, num_envs=8, backend=backend)}
        for backend in ("sync", "threads")
    )
    assert at_once.keys() == turn_by_turn.keys()
    for index, record in turn_by_turn.items():
        assert [turn.action for turn in at_once[index].turns] == [turn.action for turn in record.turns]
        assert (at_once[index].total_reward, at_once[index].failure) == (record.total_reward, record.failure)
    assert any(record.failure for record in at_once.values())
