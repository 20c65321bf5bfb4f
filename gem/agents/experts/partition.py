"""What Mastermind, Wordle and Hangman share: the guess whose answer tells the most about a secret among candidates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Split(NamedTuple):
    """How a guess parts the candidates by the answer it would get."""

    answers: int
    largest: int
    """How many candidates the most frequent answer leaves."""


def entropy(counts: Sequence[int]) -> float:
    """The bits that an answer tells, each answer being right for so many equally likely candidates."""
    total = sum(counts)
    return math.log2(total) - sum(count * math.log2(count) for count in counts) / total


def most_telling(
    pool: Sequence[T], candidates: Sequence[T], answer: Callable[[T, T], Hashable], most: int
) -> tuple[T, Split]:
    """The guess of `pool` with the highest entropy of its answers, a candidate where two are alike.

    Args:
        pool: what may be guessed, not empty; of several as good, the first candidate or else the first is taken.
        candidates: what the secret may be, not empty.
        answer: `answer(guess, secret)`.
        most: how many answers to compute; a longer pool is thinned evenly.
    """
    step = math.ceil(len(pool) * len(candidates) / most)
    possible = set(candidates)
    best: tuple[float, bool] | None = None
    for guess in pool[:: max(step, 1)]:
        counts = list(Counter(answer(guess, secret) for secret in candidates).values())
        score = (round(entropy(counts), 6), guess in possible)
        if best is None or score > best:
            best, chosen, split = score, guess, Split(len(counts), max(counts))
    return chosen, split
