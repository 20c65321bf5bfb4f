"""Environments for the probes of learnability: one that is right, and others that are broken, each in its way."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gem.core import Env, Info, State, Step
from gem.learnability.report import Kind
from gem.registry import ENV_REGISTRY, register
from gem.rng import SplitMix64, randint
from gem.views import TextView

_calls = itertools.count()


class Sum(Env):
    """One question: the sum of two digits."""

    max_turns = 1

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.numbers = (0, 0)
        self._asked = 0

    def _start(self) -> tuple[str, Info]:
        draw = SplitMix64(self.seed_of_numbers, 1)
        self.numbers = (randint(draw, 1, 9), randint(draw, 1, 9))
        self._asked = 0
        return self.question, {}

    @property
    def seed_of_numbers(self) -> int:
        return self.seed or 0

    @property
    def question(self) -> str:
        return f"What is {self.numbers[0]} + {self.numbers[1]}? Answer in \\boxed{{}}."

    def is_right(self, action: str) -> bool:
        return action == f"\\boxed{{{sum(self.numbers)}}}"

    def step(self, action: str) -> Step:
        solved = self.is_right(action)
        return "Over.", self.reward(action, solved=solved), True, False, {"success": solved}

    def reward(self, action: str, *, solved: bool) -> float:
        return float(solved)

    def sample_random_action(self) -> str:
        self._asked += 1
        return f"\\boxed{{{randint(SplitMix64(self.seed or 0, 7, self._asked), 2, 18)}}}"

    def skip_random_actions(self, number: int) -> None:
        self._asked += number

    def get_state(self) -> State:
        return {"numbers": list(self.numbers), "asked": self._asked}

    def set_state(self, state: State) -> None:
        self.numbers, self._asked = tuple(state["numbers"]), state["asked"]

    def view(self, seat: int = 0) -> TextView:
        return TextView(kind="text", name="sum", text=self.question)


class IgnoresTheAction(Sum):
    """Its reward depends on the seed alone."""

    def is_right(self, action: str) -> bool:
        return sum(self.numbers) % 2 == 0


class PaysAlways(Sum):
    """Everything is right."""

    def is_right(self, action: str) -> bool:
        return True


class IgnoresTheSeed(Sum):
    """Every seed is the same question."""

    seed_of_numbers = 5  # type: ignore[assignment]


class TellsTheAnswer(Sum):
    """The answer stands in the question."""

    @property
    def question(self) -> str:
        return f"{super().question} (Solution: {1000 + sum(self.numbers)})"

    def is_right(self, action: str) -> bool:
        return action == f"\\boxed{{{1000 + sum(self.numbers)}}}"


class Unreachable(Sum):
    """No answer is right, not even the expert's."""

    def is_right(self, action: str) -> bool:
        return False


class PaysForLength(Sum):
    """The longer, the better."""

    def step(self, action: str) -> Step:
        return "Over.", len(action) / 1000, True, False, {}


class Noisy(Sum):
    """The same answer is right at one time and wrong at another."""

    def is_right(self, action: str) -> bool:
        return randint(SplitMix64(11, next(_calls)), 0, 1) == 0


class TakesAConstant(Sum):
    """`0` is right nearly everywhere."""

    def is_right(self, action: str) -> bool:
        return super().is_right(action) or (action == "\\boxed{0}" and sum(self.numbers) > 4)


class TakesAnEmptyBox(Sum):
    """A box is enough, whatever is in it."""

    def is_right(self, action: str) -> bool:
        return action == "\\boxed{}" or super().is_right(action)


class TakesACopy(Sum):
    """Whoever repeats the question is right."""

    def is_right(self, action: str) -> bool:
        return self.question in action


class Fails(Sum):
    """It raises at every third seed."""

    def step(self, action: str) -> Step:
        if (self.seed or 0) % 3 == 0:
            raise OSError("the file is gone")
        return super().step(action)


BROKEN: dict[type[Sum], str] = {
    IgnoresTheAction: "ignores the action",
    PaysAlways: "ignores the action",
    IgnoresTheSeed: "seed does nothing",
    TellsTheAnswer: "stands in the prompt",
    Unreachable: "out of reach",
    PaysForLength: "a long answer of 2,000 letters",
    Noisy: "reward is noisy",
    TakesAConstant: "always the answer \\boxed{0}",
    TakesAnEmptyBox: "an empty box",
    TakesACopy: "a copy of what was read",
    Fails: "it failed: ",
}
"""Each with words of the sentence that has to name its fault."""


KNOWN: dict[str, Kind] = {
    "game:GuessTheNumber-v0-easy": "has a signal",
    "game:GuessTheNumber-v0-hard": "has a signal",
    "game:FifteenPuzzle-v0-easy": "has a signal",
    "game:Wordle-v0-easy": "has a signal",
    "game:Mastermind-v0-easy": "has a signal",
    "game:Hangman-v0-easy": "has a signal",
    "game:TowerofHanoi-v0-easy": "has a signal",
    "game:Sokoban-v0-easy": "has a signal",
    "duel:TicTacToe-v0-vs-random": "has a signal",
    "duel:KuhnPoker-v0-vs-expert": "has a signal",
    "game:Minesweeper-v0-easy": "has a signal",
    "game:Sudoku-v0-easy": "has a signal",
    "game:Crosswords-v0-easy": "has a signal",
    "game:WordSearch-v0-easy": "has a signal",
    "duel:KuhnPoker-v0-vs-random": "has a signal",
    "duel:Negotiation-v0-vs-random": "has a signal",
    "rg:prime_factorization": "has a signal",
    "rg:spell_backward": "has a signal",
    "qa:HotpotQA": "no signal",
    "math:GSM8K": "no signal",
    "math:Drawn-v0-easy": "no signal",
    "rg:chain_sum": "no signal",
    "rg:knights_knaves": "no signal",
    "rg:coin_flip": "without the task",  # 0 counts as right wherever the probability is small
    "rg:syllogism": "without the task",  # most are answered with yes
    "rg:isomorphic_strings": "without the task",  # and these with True
    "duel:PrisonersDilemma-v0-vs-random": "without the task",  # whatever the other one does, betraying earns more
}
"""Environments of ours with the verdict that is known of them."""


def id_of(kind: type[Sum]) -> str:
    """The id that it is registered with."""
    return f"test:Learnable{kind.__name__}-v0"


@contextmanager
def registered() -> Iterator[None]:
    """Register all of them while the block lasts."""
    ids = [id_of(kind) for kind in (Sum, *BROKEN)]
    for kind in (Sum, *BROKEN):
        register(id_of(kind), kind, turns="single", cost=None)
    try:
        yield
    finally:
        for env_id in ids:
            ENV_REGISTRY.pop(env_id, None)


def expert_action(env: Any) -> str:
    """The right answer, for an expert."""
    inner = env.unwrapped
    offset = 1000 if isinstance(inner, TellsTheAnswer) else 0
    return f"\\boxed{{{offset + sum(inner.numbers)}}}"
