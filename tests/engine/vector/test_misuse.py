"""Whatever is done to a vector, it answers in a sentence and is never out of step with its environments."""

import asyncio
import logging
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.errors import EnvironmentFailure, EpisodeOver, InvalidArgument, UnknownEnvironment, UsageError
from gem.vector import ShardVectorEnv, SyncVectorEnv, ThreadVectorEnv, VectorEnv
from gem.vector.shards import _Shard
from gem.wrappers import TimeLimit
from tests.engine.vector.environments import (
    Deadly,
    Doomed,
    Held,
    Late,
    Moody,
    Sleepy,
    Unsendable,
)

HARD = "game:GuessTheNumber-v0-hard"
ACTIONS = ["\\boxed{1}", "\\boxed{2}"]


def lost(env: gem.Env) -> Any:
    env.close()


def around_nothing(env: gem.Env) -> gem.Env:
    env.close()
    return TimeLimit(None, 3)  # type: ignore[arg-type]


@pytest.fixture(params=["sync", "threads", "processes"])
def vector(request: pytest.FixtureRequest) -> Any:
    with gem.make_vec([HARD] * 2, async_mode=request.param, seed=1) as made:
        made.reset()
        yield made


SENSELESS = [
    (lambda v: v.step(None), "need a list of actions, not None"),
    (lambda v: v.step("ab"), "need a list of actions, not 'ab'"),
    (lambda v: v.step([1, 2]), "An action must be a string, not int: 1"),
    (lambda v: v.step({"a": "b"}), "There is no slot 'a'; the slots are 0 to 1"),
    (lambda v: v.step({1.0: "b"}), r"There is no slot 1\.0"),
    (lambda v: v.reset(seed="ab"), "need a list of seeds, not 'ab'"),
    (lambda v: v.reset(seed=-1), "A seed is an integer"),
    (lambda v: v.reset(seed=[1]), "need as many seeds, not 1"),
    (lambda v: v.reset(mask=3), "need a list of flags in the mask, not 3"),
    (lambda v: v.set_states([v.get_states()[0], {}]), r"For slot 1, this is not a state of get_states\(\): {}"),
    (lambda v: v.set_states([{"env": {}, "ended": False}] * 2), "This is not a state of GuessTheNumber"),
    (lambda v: v.set_states(None), "need a list of states, not None"),
]


def test_what_makes_no_sense_is_refused_and_it_goes_on(vector: VectorEnv) -> None:
    for seed, (call, said) in enumerate(SENSELESS):
        with pytest.raises(InvalidArgument, match=said):
            call(vector)
        vector.reset(seed=seed)
        with gem.make_vec([HARD] * 2) as other:
            other.reset(seed=seed)
            assert vector.step(ACTIONS) == other.step(ACTIONS), said


MISTAKES = [
    (lambda v: v.step([ACTIONS[0], None, 5]), InvalidArgument, "An action must be a string, not int: 5"),
    (lambda v: v.step({0: ACTIONS[0], 2: b"1"}), InvalidArgument, "An action must be a string, not bytes"),
    (lambda v: v.reset(seed=[1, -1, 2]), InvalidArgument, "A seed is an integer"),
    (lambda v: v.reset(seed=[1, 2, "x"]), InvalidArgument, "A seed is an integer"),
    (lambda v: v.reset(seed=2**63 - 2), InvalidArgument, "A seed is an integer"),
    (lambda v: v.step([*ACTIONS, None]), EpisodeOver, "slot 1 has no episode under way; reset it first"),
    (lambda v: v.step({0: ACTIONS[0], 1: ACTIONS[0]}), EpisodeOver, "slot 1 has no episode under way"),
]


@pytest.mark.parametrize("backend", ["sync", "threads", "processes"])
def test_after_a_mistake_no_slot_has_taken_a_turn(backend: Any) -> None:
    turns = [{}, {"max_turns": 1}, {}]
    with gem.make_vec([HARD] * 3, vec_kwargs=turns, async_mode=backend, autoreset_mode="Disabled") as vector:
        vector.reset(seed=4, mask=[True, True, False])
        with pytest.raises(EpisodeOver, match="slot 2 has no episode"):
            vector.step(ACTIONS[:1] * 3)
        assert [state["env"]["turn"] for state in vector.get_states()] == [0, 0, 0]
        vector.reset(seed=4)
        assert vector.step(ACTIONS[:1] * 3)[3] == [False, True, False]
        before = vector.get_states()
        for call, error, said in MISTAKES:
            with pytest.raises(error, match=said):
                call(vector)
            assert vector.get_states() == before, said
        vector.step({0: ACTIONS[1], 2: ACTIONS[1]})
        later = vector.get_states()
        with pytest.raises(InvalidArgument, match="For slot 2"):
            vector.set_states([*before[:2], {"env": {}}])
        assert vector.get_states() == later
        vector.set_states(before)
        with pytest.raises(EpisodeOver, match="slot 1"):
            vector.step(ACTIONS[:1] * 3)
        assert vector.get_states() == before
        vector.reset(mask=[False, True, False])
        vector.step(ACTIONS[:1] * 3)
        assert [state["env"]["turn"] for state in vector.get_states()] == [2, 1, 2]


@pytest.mark.parametrize("kind", [SyncVectorEnv, ThreadVectorEnv, ShardVectorEnv])
def test_after_a_failure_the_others_wait_for_its_reset(kind: type[VectorEnv]) -> None:
    with kind([Moody] * 2, "Disabled") as vector:  # type: ignore[call-arg]
        vector.reset(seed=1)
        vector.step(["\\boxed{1}", "break"])
        with pytest.raises(EpisodeOver, match="slot 1"):
            vector.step(ACTIONS)
        vector.reset(seed=1, mask=[False, True])
        vector.step(ACTIONS)
        assert [state["env"]["turn"] for state in vector.get_states()] == [2, 1]


def test_a_closed_one_says_so(vector: VectorEnv) -> None:
    vector.close()
    vector.close()
    for call in (vector.reset, vector.get_states, partial(vector.step, ACTIONS)):
        with pytest.raises(UsageError, match="The vector is closed; make another one"):
            call()


def test_a_cancelled_step_is_taken_and_not_met_by_the_next() -> None:
    async def main(vector: VectorEnv) -> None:
        step = asyncio.create_task(vector.step_async(ACTIONS))
        await asyncio.sleep(0.05)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        step = asyncio.create_task(vector.step_async(ACTIONS))
        await asyncio.sleep(0)
        with pytest.raises(UsageError, match="A step of this vector is under way"):
            await vector.step_async(ACTIONS)
        await step

    with ThreadVectorEnv([Sleepy] * 2) as vector:
        vector.reset(seed=1)
        asyncio.run(main(vector))
        assert [state["env"]["turn"] for state in vector.get_states()] == [2, 2]


def test_a_step_that_is_cancelled_twice_is_over_when_it_has_ended() -> None:
    async def main(vector: VectorEnv) -> None:
        step = asyncio.create_task(vector.step_async(ACTIONS))
        for _ in range(2):
            await asyncio.sleep(0.02)
            step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        with pytest.raises(UsageError, match="A step of this vector is under way"):
            await vector.step_async(ACTIONS)
        await asyncio.sleep(0.5)
        await vector.step_async(ACTIONS)

    with ThreadVectorEnv([Sleepy] * 2) as vector:
        vector.reset(seed=1)
        asyncio.run(main(vector))
        assert [state["env"]["turn"] for state in vector.get_states()] == [2, 2]


@pytest.mark.parametrize("kind", [SyncVectorEnv, ThreadVectorEnv])
def test_where_one_cannot_be_made_the_others_are_closed(kind: type[VectorEnv]) -> None:
    Held.open = 0
    with pytest.raises(UnknownEnvironment):
        kind([Held, Held, partial(gem.make, "game:Nothing-v0")])  # type: ignore[call-arg]
    assert Held.open == 0


def test_an_environment_that_cannot_be_wrapped_is_closed() -> None:
    Held.open = 0
    gem.register("test:Held-v0", Held)
    try:
        with pytest.raises(InvalidArgument, match="A wrapper gave a NoneType"):
            gem.make_vec(["test:Held-v0"] * 2, wrappers=[lambda _: None])  # type: ignore[list-item, return-value]
    finally:
        del gem.registry.ENV_REGISTRY["test:Held-v0"]
    assert Held.open == 0


@pytest.mark.parametrize("kind", [SyncVectorEnv, ThreadVectorEnv])
def test_an_episode_that_could_not_begin_begins_with_the_next_step(kind: type[VectorEnv]) -> None:
    Late.begun = 0
    with kind([Late, GuessTheNumber]) as vector:  # type: ignore[call-arg]
        vector.reset(seed=1)
        observations, _, terminated, _, infos = vector.step(["no guess", "\\boxed{1}"])
        assert (observations[0], terminated) == ("", [True, False])
        assert infos[0]["failure"] == "RuntimeError: not now"
        assert infos[0]["final_info"]["success"] is False
        observations, rewards, terminated, truncated, _ = vector.step(["\\boxed{1}", "\\boxed{2}"])
        assert "secret number" in observations[0]
        assert (rewards[0], terminated[0], truncated[0]) == (0.0, False, False)
        assert [state["env"]["turn"] for state in vector.get_states()] == [0, 2]


def test_numpys_integers_are_seeds() -> None:
    numpy = pytest.importorskip("numpy")
    with gem.make_vec([HARD] * 2, seed=numpy.int64(3)) as vector, gem.make_vec([HARD] * 2, seed=3) as other:
        assert vector.reset() == other.reset()
        assert vector.reset(seed=numpy.array([7, 9])) == other.reset(seed=[7, 9])
        assert isinstance(vector.get_states()[0]["env"]["seed"], int)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"wrappers": "concat"}, r"wrappers are functions: get_wrapper_fns\('concat'\)"),
        ({"wrappers": ["concat"]}, "wrappers are functions"),
        (
            {"wrappers": gem.wrappers.get_wrapper_fns("concat,time_limit")},
            'needs max_turns: {"name": "time_limit", "max',
        ),
        ({"wrappers": [{"name": "time_limit"}]}, 'needs max_turns: {"name": "time_limit", "max_turns": ...}'),
        ({"wrappers": [{"name": "time_limi"}]}, "Did you mean time_limit"),
        ({"wrappers": [{"name": "concat", "turns": 3}]}, "takes no argument 'turns'"),
        ({"wrappers": [lost]}, "A wrapper gave a NoneType, which is no gem.Env"),
        ({"wrappers": [around_nothing]}, "TimeLimit wraps a gem.Env, not None"),
        ({"autoreset_mode": "never"}, r"one of AutoresetMode.SAME_STEP \('SameStep'\), .*, not 'never'"),
        ({"autoreset_mode": 3}, r"AutoresetMode.DISABLED \('Disabled'\), not 3"),
        ({"seed": "x"}, "A seed is an integer"),
        ({"max_turns": "5"}, "max_turns must be a whole number, not '5'"),
        ({"max_turn": 5}, "Did you mean max_turns"),
    ],
)
@pytest.mark.parametrize("backend", ["sync", "processes"])
def test_what_cannot_be_made_is_refused_wherever_it_is_made(backend: Any, arguments: Any, said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        gem.make_vec([HARD] * 2, async_mode=backend, **arguments)


@pytest.mark.parametrize("backend", ["sync", "threads", "processes"])
def test_wrappers_are_functions_or_plain_data(backend: Any) -> None:
    limit = {"name": "time_limit", "max_turns": 1}
    wrappers = [limit, *gem.wrappers.get_wrapper_fns("concat")]
    with gem.make_vec([HARD] * 2, wrappers=wrappers, async_mode=backend, seed=1) as vector:
        first, _ = vector.reset()
        *_, truncated, infos = vector.step(ACTIONS)
        assert truncated == [True, True]
        assert infos[0]["final_observation"].startswith(first[0].removesuffix("Enter your guess."))
    with gem.make_vec([HARD], wrappers=limit) as vector:  # type: ignore[arg-type]
        vector.reset(seed=1)
        assert vector.step(ACTIONS[:1])[3] == [True]


def test_ids_that_are_none_are_named() -> None:
    for no_id in (None, 3, "game:Nothing-v0"):
        with pytest.raises(UnknownEnvironment, match="No environment is registered as"):
            gem.make(no_id)  # type: ignore[arg-type]
    for entry_point, said in (("no_such_module:A", "No module named"), ("gem.core:No", "has no attribute 'No'")):
        gem.register("test:Nowhere-v0", entry_point)
        try:
            with pytest.raises(EnvironmentFailure, match=f"test:Nowhere-v0 is registered as '{entry_point}'.*{said}"):
                gem.make("test:Nowhere-v0")
        finally:
            del gem.registry.ENV_REGISTRY["test:Nowhere-v0"]


# ------------------------------------------------------------------ processes


def test_a_process_that_is_killed_during_a_reset_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    env_fns = [partial(gem.make, HARD, seed=i) for i in range(4)]
    post = _Shard._send

    def post_and_kill(shard: _Shard, message: tuple[str, Any]) -> None:
        post(shard, message)
        if message[0] == "reset_some" and shard.first_slot == 2 and not killed:
            assert shard.process is not None
            assert shard.process.pid is not None
            os.kill(shard.process.pid, signal.SIGSTOP)  # so that it has not answered yet
            os.kill(shard.process.pid, signal.SIGKILL)
            killed.append(shard.process.pid)

    killed: list[int] = []
    with ShardVectorEnv(env_fns, num_shards=2) as vector, SyncVectorEnv(env_fns) as plain:
        monkeypatch.setattr(_Shard, "_send", post_and_kill)
        assert vector.reset() == plain.reset()
        assert vector.step(ACTIONS * 2) == plain.step(ACTIONS * 2)
        assert killed


def test_a_fault_of_one_process_leaves_no_answer_of_another_behind() -> None:
    with ShardVectorEnv([Deadly] * 2, num_shards=2) as vector, SyncVectorEnv([Deadly] * 2) as plain:
        vector.reset(seed=3)
        plain.reset(seed=3)
        with pytest.raises(EnvironmentFailure, match="slots 0 to 0 died 3 times"):
            vector.step(["die", "\\boxed{7}"])
        plain.step([None, "\\boxed{7}"])
        assert vector.step(ACTIONS) == plain.step(ACTIONS)


def test_a_process_that_cannot_be_started_again_is_named_every_time(tmp_path: Path) -> None:
    fuse = tmp_path / "fuse"
    with ShardVectorEnv([partial(Doomed, fuse)], num_shards=1) as vector:
        vector.reset(seed=3)
        for action in ("die", "\\boxed{1}"):
            with pytest.raises(EnvironmentFailure, match="died 3 times"):
                vector.step([action])
        fuse.unlink()
        assert all(vector.reset(seed=3)[0])


def test_an_answer_that_cannot_be_sent_is_named() -> None:
    with ShardVectorEnv([GuessTheNumber, GuessTheNumber, Unsendable], num_shards=2) as vector:
        vector.reset(seed=1)
        said = r"What the environment in slot 2 answered cannot be sent from process to process.*lock.* plain data"
        with pytest.raises(EnvironmentFailure, match=said):
            vector.step(["\\boxed{1}"] * 3)


def test_the_log_of_a_process_names_the_slot_of_the_vector(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    logger, handler = logging.getLogger("gem.vector.sync"), logging.FileHandler(tmp_path / "log")
    logger.addHandler(handler)
    try:
        with ShardVectorEnv([GuessTheNumber, GuessTheNumber, Moody], num_shards=2) as vector:
            vector.reset(seed=1)
            assert "failure" in vector.step(["\\boxed{1}", "\\boxed{1}", "break"])[4][2]
    finally:
        logger.removeHandler(handler)
        handler.close()
    log = (tmp_path / "log").read_text() + capfd.readouterr().err  # a process that was not forked writes to stderr
    assert "The environment in slot 2 failed: broken by the test" in log


INTERRUPTED = """
import os, signal, sys
from gem.vector import ShardVectorEnv, SyncVectorEnv, ThreadVectorEnv, shards
from tests.engine.vector.environments import Alone, Forgetful, Sleepy

shards.MAX_JOURNAL_MESSAGES = {journal}
vector = {vector}([{env}] * 2)
vector.reset(seed=3)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it
signal.signal(signal.SIGALRM, lambda *_: os.killpg(0, signal.SIGINT))
signal.setitimer(signal.ITIMER_REAL, 0.1)
actions = ["\\\\boxed{{1}}", "\\\\boxed{{2}}"]
try:
    vector.step(actions)
    print("not interrupted")
except KeyboardInterrupt:
    pass
taken = vector.step(actions[::-1])
vector.close()
plain = SyncVectorEnv([{env}] * 2)
plain.reset(seed=3)
plain.step(actions)
print(taken == plain.step(actions[::-1]))
"""


@pytest.mark.parametrize(
    ("vector", "env", "journal"),
    [("ShardVectorEnv", "Sleepy", 256), ("ShardVectorEnv", "Forgetful", 2), ("ThreadVectorEnv", "Alone", 256)],
)
def test_after_ctrl_c_the_next_step_gets_its_own_answers(vector: str, env: str, journal: int) -> None:
    program = INTERRUPTED.format(vector=vector, env=env, journal=journal)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, start_new_session=True
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_what_a_script_registered_is_known_in_a_process_that_is_spawned() -> None:
    gem.register("test:Here-v0", Deadly)
    waiting = threading.Event()
    thread = threading.Thread(target=waiting.wait)  # with a second thread, processes are not forked
    thread.start()
    try:
        with gem.make_vec(["test:Here-v0"], async_mode="processes") as vector:
            assert vector.reset(seed=1)[0][0]
        with pytest.raises(InvalidArgument, match="cannot be sent to a new process: define classes, wrappers"):
            ShardVectorEnv([lambda: gem.make(HARD)])
    finally:
        waiting.set()
        thread.join()
        del gem.registry.ENV_REGISTRY["test:Here-v0"]
