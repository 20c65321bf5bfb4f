"""The expert for GuessTheNumber: binary search, which leaves the fewest numbers in the worst case."""

from __future__ import annotations

from gem.agents.agent import Decision
from gem.envs.games.guess_the_number import GuessTheNumber


def halve(env: GuessTheNumber) -> Decision:
    """Guess the middle of the numbers that are still possible."""
    low, high = env.bounds()
    middle = (low + high) // 2
    action = f"\\boxed{{{middle}}}"
    if low == high:
        return Decision(action, f"Only {low} is left.")
    below, above = middle - low, high - middle
    if below == 0:
        return Decision(action, f"{low} and {high} are left; if it is not {low}, it is {high}.")
    count = f"{below} number{'' if below == 1 else 's'}"
    note = f"{low} to {high} is left; {middle} is the middle, with {count} below it and {above} above."
    return Decision(action, note)
