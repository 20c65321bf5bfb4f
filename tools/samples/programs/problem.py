"""A programming problem, and the row that is made of it."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gem.rng import SplitMix64, choice, randint

TESTS = 10
TRIES = 100
"""Where there are few inputs, there are fewer tests."""


@dataclass(frozen=True, slots=True)
class Program:
    """A problem that a program solves which reads its input and prints the answer."""

    title: str
    text: str
    """What is read, what is to be printed, and how large things get."""
    solution: str
    """A program that solves it."""
    first: tuple[str, ...]
    """Inputs that every test has: the smallest, and those that are easily got wrong."""
    make: Callable[[SplitMix64], str]
    """One more input."""

    def row(self, key: int) -> dict[str, Any]:
        """The problem with its tests; the outputs are those of the solution."""
        inputs = list(dict.fromkeys(self.first))
        number = 0
        while len(inputs) < TESTS and number < TRIES:
            made = self.make(SplitMix64(key, number))
            number += 1
            if made not in inputs:
                inputs.append(made)
        outputs = [_printed(self.solution, given) for given in inputs]
        text = f"{self.title}\n\n{self.text}\n\nExample\nInput:\n{inputs[0]}\nOutput:\n{outputs[0]}"
        return {"problem": text, "tests": {"inputs": inputs, "outputs": outputs}, "solution": self.solution}


@dataclass(frozen=True, slots=True)
class Function:
    """A problem that a function solves."""

    name: str
    text: str
    """Begins with the signature."""
    solution: str
    first: tuple[tuple[Any, ...], ...]
    """Arguments that every test has."""
    make: Callable[[SplitMix64], tuple[Any, ...]]
    """One more list of arguments."""

    def row(self, key: int) -> dict[str, Any]:
        """See `Program.row`."""
        inputs = [list(arguments) for arguments in self.first]
        inputs += [list(self.make(SplitMix64(key, number))) for number in range(TESTS - len(inputs))]
        namespace: dict[str, Any] = {}
        exec(self.solution, namespace)  # noqa: S102 (the solutions beside this file)
        outputs = [namespace[self.name](*arguments) for arguments in inputs]
        tests = {"fn_name": self.name, "inputs": inputs, "outputs": outputs}
        return {"problem": self.text, "tests": tests, "solution": self.solution}


def _printed(solution: str, given: str) -> str:
    """What a program prints for an input, without spaces around."""
    before, digits, printed = sys.stdin, sys.get_int_max_str_digits(), io.StringIO()
    sys.stdin = io.StringIO(given + "\n")
    try:
        with contextlib.redirect_stdout(printed):
            exec(solution, {"__name__": "__main__"})  # noqa: S102 (the solutions beside this file)
    finally:
        sys.stdin = before
        sys.set_int_max_str_digits(digits)  # a solution may lift the limit for itself
    return printed.getvalue().strip()


def whole(rng: SplitMix64, low: int, high: int) -> str:
    """An integer as text."""
    return str(randint(rng, low, high))


def several(rng: SplitMix64, count: int, low: int, high: int) -> str:
    """Integers with spaces between."""
    return " ".join(whole(rng, low, high) for _ in range(count))


def listed(rng: SplitMix64, most: int, low: int, high: int) -> str:
    """A line with a count from 1 to `most`, and a line with as many integers."""
    count = randint(rng, 1, most)
    return f"{count}\n{several(rng, count, low, high)}"


def word(rng: SplitMix64, most: int, letters: str = "abcdefghijklmnopqrstuvwxyz") -> str:
    """1 to `most` letters."""
    return "".join(choice(rng, letters) for _ in range(randint(rng, 1, most)))


def words(rng: SplitMix64, most: int, letters: str = "abcdefghijklmnopqrstuvwxyz") -> str:
    """1 to `most` words of up to eight letters with spaces between."""
    return " ".join(word(rng, 8, letters) for _ in range(randint(rng, 1, most)))
