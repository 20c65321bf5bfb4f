"""Every task: it can be solved as its instruction says, and not by doing nothing."""

import gzip
import hashlib
import json
import random

import pytest

import gem
from gem.core import Env
from gem.envs.terminal.task import TASKS, gzip_file, tasks_of_level
from gem.envs.terminal.terminal import FINISH
from tests.engine.terminal.solutions import SOLUTIONS

ID = "terminal:Shell-v0"


def begun(task: str, seed: int) -> Env:
    env = gem.make(ID, task=task)
    env.reset(seed=seed)
    return env


def test_there_are_enough_tasks_of_each_difficulty() -> None:
    assert [len(tasks_of_level(level)) >= least for level, least in (("easy", 5), ("medium", 5), ("hard", 5))] == [
        True
    ] * 3
    assert TASKS.keys() == SOLUTIONS.keys()


ONE_SEED_EACH = {(task, 1 + number % 2) for number, task in enumerate(TASKS)}
"""Each command starts a process, so tasks take turns at the seeds; the other halves are long."""


@pytest.mark.parametrize(
    ("task", "seed"),
    [
        pytest.param(task, seed, marks=[] if (task, seed) in ONE_SEED_EACH else pytest.mark.long)
        for task in TASKS
        for seed in (1, 2)
    ],
)
def test_the_reference_solution_passes_every_check(task: str, seed: int) -> None:
    env = begun(task, seed)
    for command in SOLUTIONS[task]:
        written = command.replace("{service}", str(env._facts.get("service")))
        _, reward, terminated, truncated, _ = env.step(f"<bash>{written}</bash>")
        assert (reward, terminated, truncated) == (0.0, False, False)
    text, reward, terminated, _, info = env.step(FINISH)
    assert (reward, terminated, info["success"]) == (1.0, True, True), text


@pytest.mark.parametrize("task", TASKS)
def test_handing_in_at_once_earns_nothing(task: str) -> None:
    text, reward, terminated, _, info = begun(task, 3).step(FINISH)
    assert (reward, terminated, info["success"]) == (0.0, True, False), text
    assert "these do not:" in text


@pytest.mark.parametrize("task", TASKS)
def test_seeds_give_different_instances_and_the_same_seed_the_same(task: str) -> None:
    made = [json.dumps([env.tree, env._facts], sort_keys=True) for env in (begun(task, seed) for seed in (4, 4, 5, 6))]
    assert made[0] == made[1]
    assert len(set(made)) == 3


def test_a_task_begins_with_the_same_bytes_on_every_machine() -> None:
    digest = hashlib.sha256()
    for name, task in TASKS.items():
        for seed in range(20):
            digest.update(json.dumps([name, *task.prepare(random.Random(seed))], sort_keys=True).encode())
    assert digest.hexdigest() == "e96961b697a529c42199310f5f3d459c2ca8b5e8696f4d58ae90b6e165593a66"


@pytest.mark.parametrize("size", [0, 1, 0xFFFF, 0x10000, 200_000])
def test_a_gzip_file_holds_what_was_put_in(size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    assert gzip.decompress(gzip_file(content)) == content


@pytest.mark.parametrize("task", TASKS)
def test_the_instruction_does_not_give_the_solution_away(task: str) -> None:
    env = begun(task, 4)
    assert "{" not in env.instruction
    told = env.instruction + json.dumps(env.view())
    assert "_facts" not in told
    for name in ("number", "lines", "top", "kept", "merged", "text", "cases"):
        if name in env._facts and task != "make-it-run":  # it says what the script should print
            assert json.dumps(env._facts[name]) not in told


def test_what_should_have_stayed_as_it_was_halves_the_reward() -> None:
    env = begun("sort-names", 1)
    env.step("<bash>sort -ru names.txt >sorted.txt; rm names.txt</bash>")
    _, reward, _, _, info = env.step(FINISH)
    assert (reward, info["success"]) == (0.5, False)
