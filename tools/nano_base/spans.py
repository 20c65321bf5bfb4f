"""Random words and numbers of a text, as random queries and answers."""

from __future__ import annotations

import re

from gem.rng import SplitMix64, choice, randbelow

WORD, NUMBER = re.compile(r"[A-Za-z]+"), re.compile(r"\d+")
TOKEN = re.compile(r"[A-Za-z]+|\d+")


def draw_words(text: str, draw: SplitMix64, most: int, parts: re.Pattern[str] = WORD) -> str:
    """One word or several in a row; those that begin with a capital are drawn more often.

    Args:
        most: the most words.
        parts: what counts as a word, such as `TOKEN`, with which numbers do too.
    """
    spans = [part.span() for part in parts.finditer(text)]
    if not spans:
        return "none"
    names = [place for place, (begin, _) in enumerate(spans) if text[begin].isupper()]
    first = choice(draw, names) if names and randbelow(draw, 3) else randbelow(draw, len(spans))
    last = min(first + randbelow(draw, most), len(spans) - 1)
    return text[spans[first][0] : spans[last][1]]
