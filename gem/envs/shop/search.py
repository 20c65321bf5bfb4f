"""A search engine for product texts: BM25 over plain words.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with k1 = 0.9 and
b = 0.4, which are commonly used with Lucene for short documents.
"""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Mapping

K1, B = 0.9, 0.4

_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without a plural "s"."""
    return [word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word for word in _split(text)]


def _split(text: str) -> list[str]:
    return _WORD.findall(text.lower())


class ProductIndex:
    """An inverted index: for each word the texts that contain it."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._postings: dict[str, list[tuple[str, int]]] = {}
        self._lengths: dict[str, int] = {}
        for key, text in texts.items():
            counts = Counter(words_of(text))
            self._lengths[key] = sum(counts.values())
            for word, count in counts.items():
                self._postings.setdefault(word, []).append((key, count))
        self._mean = sum(self._lengths.values()) / max(len(self._lengths), 1)

    def search(self, query: str, limit: int) -> list[str]:
        """The keys of up to `limit` texts that match `query`, best first; among equals, in the order of addition."""
        scores: dict[str, float] = {}
        for word in dict.fromkeys(words_of(query)):
            postings = self._postings.get(word, ())
            rarity = math.log(1 + (len(self._lengths) - len(postings) + 0.5) / (len(postings) + 0.5))
            for key, count in postings:
                length = 1 - B + B * self._lengths[key] / self._mean
                scores[key] = scores.get(key, 0.0) + rarity * count * (K1 + 1) / (count + K1 * length)
        best = heapq.nlargest(limit, enumerate(scores.items()), key=lambda item: (round(item[1][1], 9), -item[0]))
        return [key for _, (key, _) in best]
