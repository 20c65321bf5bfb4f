"""An environment outside our tree, which defines no `spawn`, has a right one."""

from typing import Any

import pytest

import gem
from gem.core import Env, EnvWrapper, Info, State, Step
from gem.errors import InvalidArgument
from gem.registry import ENV_REGISTRY
from gem.wrappers import TimeLimit


class Echo(Env):
    """Wants its word back, in so many turns."""

    def __init__(self, word: str, turns: int = 3, seed: int | None = None) -> None:
        super().__init__(seed)
        self.word, self.turns, self.turn = word, turns, 0

    def _start(self) -> tuple[str, Info]:
        self.turn = 0
        return f"Say {self.word}.", {}

    def step(self, action: str) -> Step:
        self.turn += 1
        over = self.turn >= self.turns
        return str(self.turn), float(action == self.word), over, False, {"success": True} if over else {}

    def get_state(self) -> State:
        return {"turn": self.turn, "seed": self.seed}

    def set_state(self, state: State) -> None:
        self.turn, self.seed = state["turn"], state["seed"]

    def sample_random_action(self) -> str:
        return self.word


class Quiet(Echo):
    """Inherits the constructor."""


@pytest.mark.parametrize("kind", [Echo, Quiet])
def test_a_spawned_environment_has_the_arguments_it_was_made_with(kind: type[Echo]) -> None:
    env = kind("moon", turns=2, seed=7)
    env.turns = 99
    other = env.spawn()
    assert type(other) is kind
    assert (other.word, other.turns, other.seed) == ("moon", 2, None)
    assert env.spawn(word="sun").word == "sun"


def test_it_goes_on_from_the_same_state() -> None:
    env = Echo("moon")
    env.reset(seed=4)
    env.step("moon")
    other = env.spawn(same_state=True)
    assert (other.turn, other.seed) == (1, 4)
    other.step("moon")
    assert env.turn == 1


def test_it_names_the_argument_that_was_meant() -> None:
    env = Echo("moon")
    with pytest.raises(InvalidArgument, match=r"Echo takes no argument 'trns'\. Did you mean turns"):
        env.spawn(trns=2)
    with pytest.raises(InvalidArgument, match="same_state or overrides"):
        env.spawn(same_state=True, turns=2)


class Bonus(EnvWrapper):
    """As people write wrappers: its arguments are written down nowhere else."""

    def __init__(self, env: Env, bonus: float, times: int = 1) -> None:
        super().__init__(env)
        self.bonus = bonus * times

    def step(self, action: str) -> Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward + self.bonus, terminated, truncated, info


def test_a_wrapper_is_made_again_with_the_arguments_it_had() -> None:
    for env in (Bonus(Echo("moon"), 2.0, times=3), Bonus(env=Echo("moon"), bonus=2.0, times=3)):
        env.reset(seed=1)
        other = env.spawn(same_state=True)
        assert (other.bonus, other.env.word) == (6.0, "moon")
        assert other.env is not env.env
        assert other.step("moon") == env.step("moon")


def test_it_is_wrapped_alike_and_keeps_its_spec() -> None:
    gem.register("game:Echo-v0", Echo, word="moon")
    try:
        env: Any = TimeLimit(gem.make("game:Echo-v0", turns=5), max_turns=2)
        other = env.spawn()
        assert other.spec.id == "game:Echo-v0"
        assert (other.unwrapped.turns, other.max_turns) == (5, 2)
    finally:
        del ENV_REGISTRY["game:Echo-v0"]
