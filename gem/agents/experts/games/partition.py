"""For the experts of guessing games: the guess whose answer tells the most about a secret among candidates."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class AnswerSplit(NamedTuple):
    """How a guess splits the candidates into groups with the same answer."""

    num_answers: int
    """The number of different answers."""
    largest_group: int
    """The number of candidates that the most frequent answer leaves."""


def entropy(counts: Sequence[int]) -> float:
    """The entropy in bits of a guess's answer, if each answer fits `counts` of the equally likely candidates."""
    total = sum(counts)
    return math.log2(total) - sum(count * math.log2(count) for count in counts) / total


def most_informative_guess(
    pool: Sequence[T], candidates: Sequence[T], answer: Callable[[T, T], Hashable], max_answers: int
) -> tuple[T, AnswerSplit]:
    """The guess of `pool` with the highest entropy of its answers, and how it splits the candidates.

    Args:
        pool: the possible guesses, not empty. Among equally good ones, the first that is a candidate is returned, or
            else the first.
        candidates: the possible secrets, not empty.
        answer: returns the answer to a guess for a secret, as `answer(guess, secret)`.
        max_answers: how many answers to compute; a pool that needs more is thinned evenly.
    """
    step = math.ceil(len(pool) * len(candidates) / max_answers)
    candidate_set = set(candidates)
    best_score: tuple[float, bool] | None = None
    for guess in pool[:: max(step, 1)]:
        counts = list(Counter(answer(guess, secret) for secret in candidates).values())
        score = (round(entropy(counts), 6), guess in candidate_set)
        if best_score is None or score > best_score:
            best_score, best_guess, split = score, guess, AnswerSplit(len(counts), max(counts))
    return best_guess, split
