"""Wherever environments are stepped, the same seeds and actions give the same turns."""

import asyncio
import enum
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

import gem
from gem.core import Step
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.errors import EnvironmentFailure, EpisodeOver, InvalidArgument
from gem.rng import SplitMix64
from gem.vector import AutoresetMode, Flags, ShardVectorEnv, SyncVectorEnv, ThreadVectorEnv, VectorEnv, shards
from gem.wrappers import get_wrapper_fns
from tests.engine.vector.environments import Moody
from tests.services import ROOT

BACKENDS = ["sync", "threads", "processes"]
IDS = ["game:GuessTheNumber-v0-easy", "game:Minesweeper-v0-easy", "game:GuessTheNumber-v0-random"] * 3


class Waiting(GuessTheNumber):
    """Waits for all four of its kind to be in `step` at the same time."""

    together = threading.Barrier(4, timeout=10)

    def step(self, action: str) -> Step:
        self.together.wait()
        return super().step(action)


def _action(turn: int, slot: int) -> str:
    rng = SplitMix64(turn, slot)
    return f"\\boxed{{{int(rng.random() * 10) + 1}}} \\boxed{{reveal {int(rng.random() * 5)} {int(rng.random() * 5)}}}"


def _play(vector: VectorEnv, turns: int = 40) -> list[object]:
    slots = range(vector.num_envs)
    return [vector.reset(), *(vector.step([_action(turn, slot) for slot in slots]) for turn in range(turns))]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def vector(backend: str) -> Iterator[VectorEnv]:
    with gem.make_vec(IDS, get_wrapper_fns("concat,episode_tracking"), async_mode=backend, seed=3) as made:
        yield made


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_every_backend_gives_the_same_turns(mode: AutoresetMode) -> None:
    logs = []
    for backend in BACKENDS:
        with gem.make_vec(
            IDS, get_wrapper_fns("concat,episode_tracking"), async_mode=backend, seed=3, autoreset_mode=mode
        ) as vector:
            logs.append(_play(vector))
    assert logs[0] == logs[1] == logs[2]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_number_of_processes_does_not_matter(count: int) -> None:
    env_fns = [partial(gem.make, env_id, seed=i) for i, env_id in enumerate(IDS)]
    with ShardVectorEnv(env_fns, num_shards=count) as sharded, SyncVectorEnv(env_fns) as plain:
        assert _play(sharded) == _play(plain)


def test_a_vector_goes_on_from_its_states(backend: str) -> None:
    with (
        gem.make_vec(IDS, async_mode=backend, seed=1) as vector,
        gem.make_vec(IDS, async_mode="sync", seed=9) as other,
    ):
        vector.reset()
        vector.step([_action(0, slot) for slot in range(len(IDS))])
        other.set_states(vector.get_states())
        actions = [_action(1, slot) for slot in range(len(IDS))]
        assert vector.step(actions) == other.step(actions)


def test_actions_by_slot_leave_the_others_alone(vector: VectorEnv) -> None:
    vector.reset(seed=4)
    before = vector.get_states()
    named = vector.step({3: "\\boxed{3}", 0: "\\boxed{5}"})
    after = vector.get_states()
    assert [i for i in range(len(IDS)) if before[i] != after[i]] == [0, 3]
    vector.set_states(before)
    listed = vector.step(["\\boxed{5}", None, None, "\\boxed{3}"] + [None] * (len(IDS) - 4))
    assert named == tuple([part[3], part[0]] for part in listed)


def test_no_action_leaves_a_slot_alone(vector: VectorEnv) -> None:
    vector.reset()
    before = vector.get_states()
    actions = [None] * len(IDS)
    step = vector.step(actions)
    assert vector.get_states() == before
    assert step == ([""] * len(IDS), [0.0] * len(IDS), [False] * len(IDS), [False] * len(IDS), [{}] * len(IDS))


def test_the_loop_of_gems_scripts_finishes_every_episode() -> None:
    vector = gem.make_vec(["game:GuessTheNumber-v0-hard"] * 5, seed=3, autoreset_mode="SameStep")
    vector.reset()
    played, done = [0] * 5, [False] * 5
    while not all(done):
        open_slots = [slot for slot, over in enumerate(done) if not over]
        _, rewards, terminated, truncated, _ = vector.step({slot: _action(played[slot], slot) for slot in open_slots})
        now = terminated | truncated | [False] * len(open_slots)
        assert len(rewards) == len(open_slots)
        for place, slot in enumerate(open_slots):
            played[slot] += 1
            done[slot] = now[place]
    assert all(1 <= turns <= 7 for turns in played)


def test_flags_are_combined_slot_by_slot() -> None:
    some, others = Flags([True, False, False]), Flags([False, False, True])
    assert some | others == [True, False, True]
    assert some & [True, True, True] == [True, False, False]
    assert ~some == [False, True, True]
    assert [False, True, False] | some == [True, True, False]
    assert (some.any(), some.all(), Flags([]).all()) == (True, False, True)
    with pytest.raises(ValueError, match="zip"):
        some | [True]


def test_flags_meet_arrays() -> None:
    numpy = pytest.importorskip("numpy")
    done = numpy.array([False, False, True])
    now = Flags([True, False]) | numpy.array([False, False])
    done[~done] = now
    assert done.tolist() == [True, False, True]
    assert (numpy.array([True, False]) | Flags([False, False])).tolist() == [True, False]


def test_one_id_is_a_vector_of_one() -> None:
    assert gem.make_vec("game:GuessTheNumber-v0-hard").num_envs == 1


def test_a_slot_that_does_not_exist_is_refused(vector: VectorEnv) -> None:
    vector.reset()
    with pytest.raises(InvalidArgument, match="no slot 99"):
        vector.step({99: "\\boxed{5}"})
    with pytest.raises(InvalidArgument, match="as many actions"):
        vector.step(["\\boxed{5}"])


def test_a_mask_resets_some_slots(vector: VectorEnv) -> None:
    vector.reset()
    before = vector.get_states()
    observations, _ = vector.reset(seed=[7] * len(IDS), mask=[i == 1 for i in range(len(IDS))])
    after = vector.get_states()
    assert [bool(observation) for observation in observations] == [i == 1 for i in range(len(IDS))]
    assert [i for i in range(len(IDS)) if before[i] != after[i]] == [1]


def test_the_last_observation_of_an_episode_is_kept(backend: str) -> None:
    with gem.make_vec(["game:GuessTheNumber-v0-easy"] * 2, async_mode=backend, seed=0) as vector:
        vector.reset()
        observations, rewards, terminated, truncated, infos = vector.step(["nothing boxed", "\\boxed{0}"])
    assert terminated == [True, False]
    assert truncated == [False, False]
    assert rewards[0] == -0.1
    assert "no guess" in infos[0]["final_observation"]
    assert infos[0]["final_info"]["success"] is False
    assert "secret number" in observations[0]
    assert "final_info" not in infos[1]


@pytest.mark.parametrize("cls", [SyncVectorEnv, ThreadVectorEnv, ShardVectorEnv])
def test_an_environment_that_breaks_is_reported_in_its_slot(cls: type[SyncVectorEnv]) -> None:
    with cls([Moody] * 3, AutoresetMode.DISABLED) as vector:
        vector.reset(seed=1)
        steps = vector.step_each(["\\boxed{1}", "break", "\\boxed{2}"])
        assert steps[1][3]
        assert steps[1][4] == {"failure": "RuntimeError: broken by the test"}
        assert steps[0][0]
        assert steps[2][0]
        observations, _ = vector.reset(seed=1, mask=[False, True, False])
        assert "secret number" in observations[1]


@pytest.mark.parametrize("cls", [SyncVectorEnv, ThreadVectorEnv, ShardVectorEnv])
@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_failure_is_in_the_info_in_every_mode(cls: type[SyncVectorEnv], mode: AutoresetMode) -> None:
    with cls([Moody] * 2, mode) as vector:
        vector.reset(seed=1)
        _, _, _, truncated, infos = vector.step(["break", "\\boxed{2}"])
        assert truncated == [True, False]
        assert [info.get("failure", "") for info in infos] == ["RuntimeError: broken by the test", ""]
        if mode is AutoresetMode.SAME_STEP:
            assert infos[0]["final_info"] == {"failure": "RuntimeError: broken by the test"}
            assert "failure" not in vector.step(["\\boxed{1}", "\\boxed{3}"])[4][0]


class ModeOfOthers(enum.Enum):
    """Gymnasium's modes."""

    NEXT_STEP = "NextStep"
    SAME_STEP = "SameStep"
    DISABLED = "Disabled"


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_mode_is_known_by_its_name_its_value_and_that_of_another_enum(mode: AutoresetMode) -> None:
    for given in (mode, mode.name, mode.value, ModeOfOthers[mode.name]):
        assert SyncVectorEnv([GuessTheNumber], given).autoreset_mode is mode  # type: ignore[arg-type]


def test_a_step_after_the_end_raises_and_the_vector_lives_on(backend: str) -> None:
    with gem.make_vec(IDS[:2], async_mode=backend, seed=1, autoreset_mode="Disabled") as vector:
        vector.reset()
        vector.step(["none", "none"])
        with pytest.raises(EpisodeOver):
            vector.step(["\\boxed{1}", "\\boxed{1}"])
        observations, _ = vector.reset(seed=2)
        assert all(observations)


def test_threads_step_at_the_same_time() -> None:
    with ThreadVectorEnv([Waiting] * 4) as vector:
        vector.reset(seed=0)
        assert all(step[0] for step in vector.step_each(["\\boxed{1}"] * 4))


def test_a_process_that_is_killed_is_replaced_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "MAX_JOURNAL_MESSAGES", 40)
    env_fns = [partial(gem.make, env_id, seed=i) for i, env_id in enumerate(IDS)]
    with ShardVectorEnv(env_fns, num_shards=2) as vector, SyncVectorEnv(env_fns) as plain:
        assert vector.reset() == plain.reset()
        for turn in range(95):  # beyond the journal's length
            if turn % 24 == 11:
                os.kill(vector.pids[turn // 24 % 2], signal.SIGKILL)
            actions = [_action(turn, slot) for slot in range(len(IDS))]
            assert vector.step(actions) == plain.step(actions)


def test_processes_are_forked_beside_a_helper_and_in_no_other_thread() -> None:
    program = (
        "import gem, threading\n"
        "from gem.processes import HelperProcess\n"
        "from gem.vector.shards import ShardVectorEnv, can_fork\n"
        "helper = HelperProcess('tests.engine.light_reasoning', 'The light process')\n"
        "helper.call(do='describe', dataset='', size=1, dataset_seed=0, config={})\n"
        "print(threading.active_count(), can_fork())\n"
        "with ShardVectorEnv([lambda: gem.make('game:GuessTheNumber-v0')] * 2, num_shards=2) as vector:\n"
        "    vector.reset(seed=1)\n"
        "    print(vector.step(['\\\\boxed{51}'] * 2)[2])\n"  # what is forked takes functions without a name
        "other = threading.Thread(target=(over := threading.Event()).wait)\n"
        "other.start()\n"
        "print(can_fork())\n"
        "over.set()\n"
        "helper.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.stdout.splitlines() == ["2 True", "[False, False]", "False"], done.stderr


def test_an_environment_that_ends_its_process_is_given_up() -> None:
    with ShardVectorEnv([Moody] * 2, num_shards=2) as vector:
        vector.reset(seed=0)
        with pytest.raises(EnvironmentFailure, match="slots 1 to 1 died 3 times"):
            vector.step(["\\boxed{1}", "die"])


def test_a_process_that_ends_before_its_environments_are_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentFailure, match="slots 0 to 0 ended before its environments were made"):
        ShardVectorEnv([partial(os._exit, 1)])
    monkeypatch.setattr(shards, "can_fork", lambda: False)  # as on macOS, where the main module is imported again
    assert 'if __name__ == "__main__":' in str(shards._ended_early_error(range(2)))


def test_processes_end_with_the_program() -> None:
    program = (
        "import gem, os, signal, sys\n"
        "vector = gem.make_vec(['game:GuessTheNumber-v0'] * 4, async_mode='processes')\n"
        "vector.reset(seed=0)\n"
        "print(*vector.pids, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    pids = [int(pid) for pid in done.stdout.split()]
    assert pids
    deadline = time.monotonic() + 60
    while any(_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "a process outlived its parent"
        time.sleep(0.02)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_step_async_leaves_the_event_loop_free(vector: VectorEnv) -> None:
    async def main() -> tuple[int, list[str]]:
        vector.reset()
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        step = await vector.step_async([_action(0, slot) for slot in range(len(IDS))])
        ticking.cancel()
        return ticks, step[0]

    ticks, observations = asyncio.run(main())
    assert ticks >= 1
    assert all(observations)


def test_a_slow_environment_is_stepped_in_threads() -> None:
    class Remote(GuessTheNumber):
        """Declared slow."""

    gem.register("test:Remote-v0", Remote, cost="slow")
    try:
        with gem.make_vec(["test:Remote-v0"] * 2, async_mode=True) as vector:
            assert isinstance(vector, ThreadVectorEnv)
        with gem.make_vec(["game:GuessTheNumber-v0"] * 2, async_mode=True) as vector:
            assert type(vector) is SyncVectorEnv
    finally:
        del gem.registry.ENV_REGISTRY["test:Remote-v0"]


def test_a_backend_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="sync, threads, processes"):
        gem.make_vec(["game:GuessTheNumber-v0"], async_mode="gpu")  # type: ignore[arg-type]
