"""The expert for Mastermind: of the codes that fit all pegs so far, it guesses the one with the highest entropy.

The entropy is that of the answer, over all codes that fit. The secret influences a decision only through the pegs. If
very many codes fit, the solver looks at some of them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from functools import lru_cache

from gem.agents.agent import Decision
from gem.agents.experts.games.partition import most_informative_guess
from gem.envs.games.mastermind import Code, Mastermind, Pegs, count_pegs

MAX_CODES = 2_000
"""How many of the codes that fit are considered; the registered environments have fewer codes."""
MAX_STEPS = 200_000
"""How many beginnings of codes are compared with a guess when codes that fit are listed."""
MAX_ANSWERS = 40_000
"""How many pairs of a guess and a code are compared for one decision."""
History = tuple[tuple[Code, Pegs], ...]


def guess_code(env: Mastermind) -> Decision:
    """Make the guess whose answer tells the most."""
    guess, note = _decide(env.code_length, env.num_numbers, env.duplicate_numbers, tuple(env.guesses.items()))
    return Decision(f"\\boxed{{{' '.join(map(str, guess))}}}", note)


@lru_cache(maxsize=4096)
def _decide(length: int, numbers: int, may_repeat: bool, history: History) -> tuple[Code, str]:
    if not history:
        first_guess = tuple(index // 2 + 1 if may_repeat and numbers > 1 else index + 1 for index in range(length))
        return first_guess, "All digits are alike as long as nothing is known."
    codes = list(_consistent_codes(length, numbers, may_repeat, history))
    if not codes:  # the step limit was reached: guess any code that has not been guessed yet
        unused_code = next(
            code for code in _consistent_codes(length, numbers, may_repeat, ()) if code not in dict(history)
        )
        return unused_code, "Too many codes may fit to look at all."
    if len(codes) == 1:
        return codes[0], "Only this code fits the pegs."
    if len(codes) == 2:
        return codes[0], "Two codes fit the pegs; if it is not this one, it is the other."
    pool = codes
    all_codes = list(_consistent_codes(length, numbers, may_repeat, ()))
    if len(all_codes) * len(codes) <= MAX_ANSWERS:  # a guess that cannot be the code may tell more
        pool = codes + all_codes
    guess, split = most_informative_guess(pool, codes, count_pegs, MAX_ANSWERS)
    count = "At least " * (len(codes) == MAX_CODES) + str(len(codes))
    return (
        guess,
        f"{count} codes fit the pegs; this guess parts them into {split.num_answers}, "
        f"the largest {split.largest_group}.",
    )


def _consistent_codes(length: int, numbers: int, may_repeat: bool, history: History) -> Iterator[Code]:
    """List the codes that fit all pegs so far, in ascending order, skipping beginnings of codes that cannot fit."""
    num_codes, num_steps = 0, 0
    stack: list[Code] = [()]
    while stack and num_codes < MAX_CODES and num_steps < MAX_STEPS:
        num_steps += max(len(history), 1)
        code = stack.pop()
        if not all(_may_fit(code, guess, pegs) for guess, pegs in history):
            continue
        if len(code) == length:
            num_codes += 1
            yield code
        else:
            stack += [(*code, digit) for digit in range(numbers, 0, -1) if may_repeat or digit not in code]


def _may_fit(code: Code, guess: Code, pegs: Pegs) -> bool:
    """Whether the guess can get these pegs if the secret begins with `code`."""
    num_missing = len(guess) - len(code)
    black = sum(map(operator.eq, code, guess))
    if not black <= pegs[0] <= black + num_missing:
        return False
    unmatched = [*guess]
    for digit in code:
        if digit in unmatched:
            unmatched.remove(digit)
    common = len(guess) - len(unmatched)
    return common <= sum(pegs) <= common + num_missing
