"""Numbers that stand for hidden seeds while their season runs.

A hidden seed is nowhere in the database before its season is over. In its place stands a negative number, made of what
everybody may know: the season, the submission, and the place in the order of play. Different seeds have different
numbers, and whatever groups, pairs or counts by seed works with them as with seeds. The numbers of a submission are
consecutive, as the seeds of a shard are. All of them are above -2**53, which JSON keeps.
"""

from __future__ import annotations

PLACE_BITS, SUBMISSION_BITS = 16, 22
MAX_PLACES, MAX_SUBMISSIONS = 2**PLACE_BITS, 2**SUBMISSION_BITS


def first_number(season_id: int, submission: int) -> int:
    """The number of a submission's first seed in each environment; those of the others follow it."""
    return -(((season_id << SUBMISSION_BITS) + submission + 1) << PLACE_BITS)


def is_hidden(seed: int) -> bool:
    """Whether this is the number of a hidden seed, and not a seed."""
    return seed < 0


def read(number: int) -> tuple[int, int, int]:
    """The id of the season, the submission, and the place from 0 that a number is made of."""
    season_id, submission = divmod(-(number >> PLACE_BITS) - 1, MAX_SUBMISSIONS)
    return season_id, submission, number % MAX_PLACES


def in_words(seed: int) -> str:
    """A seed as pages name it: `42`, or `hidden 7` for the seventh in the order of play."""
    return f"hidden {seed % MAX_PLACES + 1}" if is_hidden(seed) else str(seed)
