"""What a template draws from, and how a programming problem is put together."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gem.datasets.word_problems.draw import Draw as WordDraw

TESTS = 8
"""Number of tests of a problem; the first one is its example."""
WORDS = (
    *("apple", "bread", "candle", "desert", "engine", "forest", "garden", "harbour", "island", "jacket", "kitchen"),
    *("lantern", "mountain", "needle", "orange", "planet", "question", "river", "station", "tunnel", "umbrella"),
    *("village", "window", "yellow", "noon", "level", "otter", "coffee", "street", "assessor", "a", "is", "tree"),
)


class Problem(NamedTuple):
    """A programming problem."""

    text: str
    """With its example."""
    solution: str
    """A program that passes the tests."""
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class Draw(WordDraw):
    """Draws the constants of a problem and the inputs of its tests."""

    def inputs(self, *lines: Callable[[], str]) -> tuple[str, ...]:
        """The inputs of the tests, each with a line from each of the functions; no two are the same."""
        drawn: dict[str, None] = {}
        while len(drawn) < TESTS:
            drawn["\n".join(line() for line in lines)] = None
        return tuple(drawn)

    def whole(self) -> str:
        """A whole number."""
        return str(self.number(-99, 999))

    def natural(self) -> str:
        """A whole number that is not negative."""
        return str(self.number(0, 999))

    def word(self) -> str:
        """A word."""
        return self.pick(WORDS)

    def line_of_numbers(self) -> str:
        """Some whole numbers, separated by spaces."""
        return " ".join(str(self.number(-60, 99)) for _ in range(self.number(1, 9)))

    def line_of_words(self) -> str:
        """Some words, separated by spaces."""
        return " ".join(self.word() for _ in range(self.number(2, 8)))


Template = Callable[[Draw], Problem]


def program(task: str, solution: str, inputs: tuple[str, ...]) -> Problem:
    """The problem with this task, whose tests are what its solution prints."""
    outputs = tuple(_printed(solution, given) for given in inputs)
    return Problem(f"{task}\n\nExample\nInput:\n{inputs[0]}\nOutput:\n{outputs[0]}", solution, inputs, outputs)


def _printed(solution: str, given: str) -> str:
    """What one of our own programs prints. It reads and prints by functions of its own, so that threads do not mix."""
    lines, printed = iter(given.split("\n")), list[str]()
    names = {"input": lambda: next(lines), "print": lambda *values: printed.append(" ".join(map(str, values)))}
    exec(compile(solution, "<solution>", "exec"), names)  # noqa: S102 (a program of the templates)
    return "\n".join(printed)
