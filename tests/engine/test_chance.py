"""Environments that draw from the generators of the whole process have those to themselves."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import randint
from typing import Any

import pytest

import gem
from gem.check import check
from gem.core import Env
from gem.registry import ENV_REGISTRY

DICE = "custom:Dice-v0"


class Dice(Env):
    """Draws from the module `random` in every way, as environments for GEM do; begins in its constructor."""

    def __init__(self, max_turns: int = 4) -> None:
        super().__init__()
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed)
        self.rolled = [randint(1, 1000), random.choice(range(1000))]
        return f"{self.rolled}", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.rolled.append(random.randrange(1000))
        over = len(self.rolled) >= self.max_turns + 2
        return f"{self.rolled[-1]} {random.gauss(0, 1)}", 0.0, over, over, {}

    def sample_random_action(self) -> str:
        return str(random.random())


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    gem.register(DICE, "tests.engine.test_chance:Dice")
    yield
    for env_id in [env_id for env_id in ENV_REGISTRY if env_id.startswith("custom:")]:
        del ENV_REGISTRY[env_id]


def _play(env: Env, seed: int) -> list[Any]:
    turns: list[Any] = [env.reset(seed=seed)]
    while not (len(turns) > 1 and (turns[-1][2] or turns[-1][3])):
        turns.append(env.step(env.sample_random_action()))
    return turns


def test_a_seed_names_the_episode_that_it_names_in_gem() -> None:
    random.seed(11)
    drawn = [random.randint(1, 1000), random.choice(range(1000))]
    assert gem.make(DICE).reset(seed=11)[0] == f"{drawn}"


def test_environments_side_by_side_do_not_disturb_one_another() -> None:
    expected = {seed: _play(gem.make(DICE), seed) for seed in (1, 2)}
    one, other = gem.make(DICE), gem.make(DICE)
    turns: list[list[Any]] = [[one.reset(seed=1)], [other.reset(seed=2)]]
    for _ in range(4):
        for env, played in zip((one, other), turns, strict=True):
            random.random()
            played.append(env.step(env.sample_random_action()))
    assert turns == [expected[1], expected[2]]


def test_the_generator_of_the_process_is_left_as_it_was() -> None:
    env = gem.make(DICE)
    before = random.getstate()
    _play(env, 5)
    assert random.getstate() == before


def test_it_goes_on_from_its_state_as_plain_json() -> None:
    env = gem.make(DICE)
    env.reset(seed=5)
    env.step("a")
    other = gem.make(DICE)
    other.set_state(json.loads(json.dumps(env.get_state())))
    assert [other.step("b"), other.step("c")] == [env.step("b"), env.step("c")]


def test_what_numpy_draws_is_the_environments_own_as_well() -> None:
    numpy = pytest.importorskip("numpy")

    class Normal(Dice):
        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            return f"{numpy.random.normal()}", 0.0, False, len(self.rolled) < 0, {}

        def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
            super().reset(seed)
            return f"{numpy.random.randint(1000)}", {}

    gem.register("custom:Normal-v0", Normal)
    numpy.random.seed(9)
    first = f"{numpy.random.randint(1000)}"
    outside = numpy.random.get_state()[1].tolist()
    one, other = gem.make("custom:Normal-v0"), gem.make("custom:Normal-v0")
    assert one.reset(seed=9)[0] == first
    other.reset(seed=9)
    turns = [(one.step("a")[0], other.step("a")[0]) for _ in range(3)]
    assert all(mine == its for mine, its in turns)
    assert len(set(turns)) == 3
    other.set_state(json.loads(json.dumps(one.get_state())))
    assert other.step("a") == one.step("a")
    assert numpy.random.get_state()[1].tolist() == outside


@pytest.mark.parametrize("mode", ["sync", "threads", "processes"])
def test_every_kind_of_vector_takes_the_same_turns(mode: str) -> None:
    expected = [_play(gem.make(DICE), seed) for seed in (20, 21, 22)]
    with gem.make_vec([DICE] * 3, async_mode=mode, seed=20) as vector:  # type: ignore[arg-type]
        assert vector.reset()[0] == [episode[0][0] for episode in expected]
        for turn in (1, 2, 3):
            assert vector.step(["a"] * 3)[0] == [episode[turn][0] for episode in expected]


def test_threads_that_each_have_one_do_not_disturb_one_another() -> None:
    expected = [_play(gem.make(DICE, max_turns=50), seed) for seed in range(4)]
    played: dict[int, list[Any]] = {}

    def play(seed: int) -> None:
        played[seed] = _play(gem.make(DICE, max_turns=50), seed)

    threads = [threading.Thread(target=play, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [played[seed] for seed in range(4)] == expected


def test_one_is_made_while_another_acts_and_draws_nothing_of_its() -> None:
    class Pausing(Dice):
        """Lets others be made between its two draws, if they can."""

        made = threading.Event()
        acts = threading.Event()

        def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
            if seed is not None:
                first = super().reset(seed)[0]
                self.acts.set()
                self.made.wait(timeout=0.2)
                return f"{first} {random.random()}", {}
            return super().reset(seed)

    def make_others() -> None:
        Pausing.acts.wait(timeout=20)
        gem.make(DICE)
        Pausing.made.set()

    gem.register("custom:Pausing-v0", Pausing)
    env = gem.make("custom:Pausing-v0")
    thread = threading.Thread(target=make_others)
    thread.start()
    observation = env.reset(seed=3)[0]
    thread.join()
    random.seed(3)
    drawn = [random.randint(1, 1000), random.choice(range(1000))]
    assert observation == f"{drawn} {random.random()}"
    assert Pausing.made.is_set(), "it waits, and is made then"


def test_a_slow_one_does_not_hold_up_the_others() -> None:
    class Meeting(Dice):
        """Two of them have to be in `step` at the same time."""

        door = threading.Barrier(2)

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            self.door.wait(timeout=20)
            return super().step(action)

    gem.register("custom:Meeting-v0", Meeting, cost="slow")
    with gem.make_vec(["custom:Meeting-v0"] * 2, async_mode=True, seed=0) as vector:
        vector.reset()
        assert all("failure" not in info for info in vector.step(["a", "a"])[4])


SOURCE = """
{at_the_top}
import gem

class Coins(gem.Env):
    def __init__(self, max_turns=3):
        super().__init__()
        self.max_turns = max_turns

    def reset(self, seed=None):
        super().reset(seed)
        {inside}
        self.turn, self.coins = 0, random.choices("ht", k=5)
        return f"{{self.coins}}", {{}}

    def step(self, action):
        {inside}
        self.turn += 1
        random.shuffle(self.coins)
        over = self.turn >= self.max_turns
        return f"{{self.coins}}", 0.0, over, over, {{}}

    def sample_random_action(self):
        {inside}
        return random.choice("ab")

gem.register("custom:Coins-v0", Coins)
"""


@pytest.mark.parametrize("inside", [False, True], ids=["imported at the top", "imported inside"])
def test_such_an_environment_keeps_the_contract(inside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {"at_the_top": "import re", "inside": "import random"} if inside else {"at_the_top": "import random"}
    module = f"coins_{inside}".lower()
    (tmp_path / f"{module}.py").write_text(SOURCE.format(**{"inside": "pass", **places}), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import_module(module)
    assert [finding for finding in check("custom:Coins-v0", [module]) if finding.status != "ok"] == []
