"""The nearest known word to one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(
    name: str, known: Iterable[str], otherwise: str | None = None, *, most: int = 1, cutoff: float = 0.6
) -> str:
    """A sentence that helps whoever wrote `name`: "Did you mean fast?".

    Args:
        name: what was written and is not known.
        known: what could have been meant.
        otherwise: the sentence if nothing known is near; by default all that is known is listed.
        most: how many near ones are named at most.
        cutoff: how alike two words have to be, from 0 to 1 (see `difflib.get_close_matches`).
    """
    words = list(known)
    near = difflib.get_close_matches(name, words, n=most, cutoff=cutoff)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    if otherwise is not None:
        return otherwise
    return f"Choose one of {', '.join(words)}." if words else "There is none."
