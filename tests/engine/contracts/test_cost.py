"""An environment is slow unless it is declared fast, and fast is proved: no step takes 50 ms, whatever is sent.

The proof is for one environment of each kind (`tests/engine/ids.py`).
"""

import gc
import time
from collections.abc import Iterator

import pytest

import gem
from gem import registry
from tests.engine.grading.expressions import bombs
from tests.engine.grading.test_bombs import MARKS
from tests.engine.ids import kinds

MAX_STEP_SECONDS = 0.05
"""The bound for 99 of 100 steps, in CPU time of the thread, so that other processes do not matter."""
MAX_ACTION_CHARS = 1 << 16
NUM_EPISODES = 3
SLOW_CLASSES = ("MathEnv", "MathVisualEnv", "CodeEnv", "Terminal", "ReasoningGymEnv")
"""Classes that ask another process for each grade: SymPy, a sandbox, a package."""


def fast_ids() -> list[str]:
    """One id of each kind that is fast."""
    return [env_id for env_id in kinds() if gem.spec(env_id).cost == "fast"]


def hostile_actions(env: gem.Env) -> Iterator[str]:
    """The longest texts that a site accepts: for the environment's own expression, of tags, and of calls of tools."""
    pattern = getattr(env.unwrapped, "pattern", None)
    if pattern is not None:
        yield from list(bombs(pattern, MAX_ACTION_CHARS))[::3]
    for mark in MARKS:
        yield mark * (MAX_ACTION_CHARS // len(mark))
    for mark in MARKS[::4]:
        yield "\\boxed{say " + mark * ((MAX_ACTION_CHARS - 12) // len(mark)) + "}"
    yield from ("\\boxed{9^{9^{9^{9}}}}", f"\\boxed{{{'9' * 60_000}}}", "<answer>" + "a the " * 10_000 + "</answer>")
    yield f"search[{'lamp 1.5 ' * 7_000}]"
    yield '<tool_call>{"name": "x", "arguments": ' + '{"a":' * 13_000


def step_seconds(env: gem.Env) -> Iterator[float]:
    """The CPU times of the steps of some episodes with random actions, and of hostile steps."""
    env.reset(seed=0)
    hostile = hostile_actions(env)
    num_episodes, is_over = 0, False
    while True:
        if is_over:
            num_episodes += 1
            env.reset(seed=num_episodes)
        action = env.sample_random_action() if num_episodes < NUM_EPISODES else next(hostile, None)
        if action is None:
            return
        started = time.thread_time()
        *_, terminated, truncated, _ = env.step(action)
        yield time.thread_time() - started
        is_over = terminated or truncated


@pytest.fixture
def no_collections() -> Iterator[None]:
    """No collections of what other tests left behind."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize("fast_id", fast_ids())
def test_no_step_of_a_fast_environment_takes_long(fast_id: str) -> None:
    env = gem.make(fast_id)
    times = sorted(step_seconds(env))
    assert len(times) > 60
    assert times[int(0.99 * len(times)) - 1] < MAX_STEP_SECONDS


def test_every_environment_of_ours_declares_its_cost() -> None:
    ours = [spec for spec in registry.specs() if str(spec.entry_point).startswith(("gem.envs", "<class 'gem.envs"))]
    assert len(ours) > 200
    assert [spec.id for spec in ours if not spec.has_declared_cost and not spec.tools] == []
    by_process = [spec for spec in ours if str(spec.entry_point).rpartition(":")[2] in SLOW_CLASSES or spec.tools]
    assert len(by_process) > 100
    assert {spec.cost for spec in by_process} == {"slow"}


def test_an_environment_is_slow_unless_it_is_declared_fast() -> None:
    try:
        for cost in (None, "fast", "slow"):
            gem.register("test:Costing-v0", "gem.envs.games.wordle:Wordle", **({} if cost is None else {"cost": cost}))
            spec = gem.spec("test:Costing-v0")
            assert (spec.cost, spec.has_declared_cost) == (cost or "slow", cost is not None)
            del registry.ENV_REGISTRY["test:Costing-v0"]
    finally:
        registry.ENV_REGISTRY.pop("test:Costing-v0", None)
