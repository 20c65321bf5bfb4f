"""Suggestions of known names for a name that is unknown, by similar spelling."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, candidates: Iterable[str], *, max_matches: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the candidates that are spelt similarly to `name`, the most similar first.

    `cutoff` is the least similarity, from 0 to 1, as in `difflib.get_close_matches`.
    """
    return difflib.get_close_matches(name, list(candidates), n=max_matches, cutoff=cutoff)


def did_you_mean(
    name: str, candidates: Iterable[str], fallback: str | None = None, *, max_matches: int = 1, cutoff: float = 0.6
) -> str:
    """Return a sentence that suggests known names, such as "Did you mean fast?".

    Args:
        name: the unknown name.
        candidates: all known names.
        fallback: the sentence if no candidate is similar; by default it lists all candidates.
        max_matches: the maximum number of suggestions.
        cutoff: the least similarity, from 0 to 1, as in `difflib.get_close_matches`.
    """
    names = list(candidates)
    matches = nearest(name, names, max_matches=max_matches, cutoff=cutoff)
    if matches:
        return f"Did you mean {' or '.join(matches)}?"
    if fallback is not None:
        return fallback
    return f"Choose one of {', '.join(names)}." if names else "There is none."
