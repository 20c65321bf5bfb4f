"""Mastermind: of the codes that fit all pegs so far, the guess whose answer has the highest entropy.

Nothing depends on the secret but through the pegs. Where very many codes fit, a part of them is looked at.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import lru_cache

from gem.agents.agent import Decision
from gem.agents.experts.partition import most_telling
from gem.envs.games.mastermind import Code, Mastermind, Pegs, count_pegs

MOST_CODES = 2_000
"""So many codes that fit are looked at; more than the registered sizes have."""
MOST_STEPS = 200_000
MOST_ANSWERS = 40_000

History = tuple[tuple[Code, Pegs], ...]


def guess_code(env: Mastermind) -> Decision:
    """The most telling guess."""
    guess, note = _decide(env.code_length, env.num_numbers, env.duplicate_numbers, tuple(env.guesses.items()))
    return Decision(f"\\boxed{{{' '.join(map(str, guess))}}}", note)


@lru_cache(maxsize=4096)
def _decide(length: int, numbers: int, repeats: bool, history: History) -> tuple[Code, str]:
    if not history:
        first = tuple(place // 2 + 1 if repeats and numbers > 1 else place + 1 for place in range(length))
        return first, "All digits are alike as long as nothing is known."
    codes = list(_fitting(length, numbers, repeats, history))
    if not codes:  # not found in the steps allowed: any code that was not guessed
        free = next(code for code in _fitting(length, numbers, repeats, ()) if code not in dict(history))
        return free, "Too many codes may fit to look at all."
    if len(codes) == 1:
        return codes[0], "Only this code fits the pegs."
    if len(codes) == 2:
        return codes[0], "Two codes fit the pegs; if it is not this one, it is the other."
    pool = codes
    everything = list(_fitting(length, numbers, repeats, ()))
    if len(everything) * len(codes) <= MOST_ANSWERS:  # a guess that cannot be the code may tell more
        pool = codes + everything
    guess, split = most_telling(pool, codes, count_pegs, MOST_ANSWERS)
    count = "At least " * (len(codes) == MOST_CODES) + str(len(codes))
    return (
        guess,
        f"{count} codes fit the pegs; this guess parts them into {split.answers}, the largest {split.largest}.",
    )


def _fitting(length: int, numbers: int, repeats: bool, history: History) -> Iterator[Code]:
    """Codes that would have got the pegs seen, in order: depth first, leaving out beginnings that cannot fit."""
    found, steps = 0, 0
    stack: list[Code] = [()]
    while stack and found < MOST_CODES and steps < MOST_STEPS:
        steps += 1
        code = stack.pop()
        if not all(_may_fit(code, guess, pegs) for guess, pegs in history):
            continue
        if len(code) == length:
            found += 1
            yield code
        else:
            stack += [(*code, digit) for digit in range(numbers, 0, -1) if repeats or digit not in code]


def _may_fit(code: Code, guess: Code, pegs: Pegs) -> bool:
    """Whether a beginning of a code, or a whole one, can get these pegs."""
    to_come = len(guess) - len(code)
    black = sum(map(operator.eq, code, guess))
    if not black <= pegs[0] <= black + to_come:
        return False
    left = [*guess]
    for digit in code:
        if digit in left:
            left.remove(digit)
    common = len(guess) - len(left)
    return common <= sum(pegs) <= common + to_come
