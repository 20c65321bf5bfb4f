"""Graphs of pages and links: what WikiGame is played on.

The bundled graph is read from `pages.jsonl`, which `tools.wiki_pages` makes from facts of our own;
`gem.data.wiki.kiwix` reads the pages of a kiwix server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from gem.rng import RandomSource, choice

PAGES_HASH = "03a441d9b689ad5e"
"""The first 16 digits of the SHA-256 of `pages.jsonl`."""

_FILE = Path(__file__).parent / "pages.jsonl"


class Link(NamedTuple):
    """A way from one page to another."""

    words: str
    """What it says on the page; no two links of a page say the same."""
    page: str
    """The key of the page it leads to."""


class Page(NamedTuple):
    """What there is to read."""

    key: str
    title: str
    text: str
    links: tuple[Link, ...]


class LinkGraph(Protocol):
    """Pages that link to each other. The same `data_hash` promises the same pages."""

    data_hash: str

    def page(self, key: str) -> Page:
        """The page of this key.

        Raises:
            EnvironmentFailure: if it cannot be had.
        """
        ...

    def draw(self, rng: RandomSource, nearest: int, farthest: int) -> tuple[str, str]:
        """The keys of a start and a target that is between so many links away from it."""
        ...


class BundledGraph:
    """The pages that come with the package, all within reach of each other."""

    data_hash = PAGES_HASH

    def __init__(self, pages: Mapping[str, Page]) -> None:
        self._pages = pages
        self._keys = sorted(pages)

    def __reduce__(self) -> tuple[Any, ...]:
        return bundled, ()  # one copy in each process is enough

    def page(self, key: str) -> Page:
        """As `LinkGraph.page`."""
        return self._pages[key]

    def pages(self) -> Iterator[Page]:
        """All pages, in the order of their keys."""
        return (self._pages[key] for key in self._keys)

    def draw(self, rng: RandomSource, nearest: int, farthest: int) -> tuple[str, str]:
        """As `LinkGraph.draw`: a start, then a target, each as likely as the others that are so far away."""
        while True:
            start = choice(rng, self._keys)
            targets = [key for key, links in self._distances(start).items() if nearest <= links <= farthest]
            if targets:
                return start, choice(rng, targets)

    def _distances(self, start: str) -> dict[str, int]:
        """How many links every page is away from the start."""
        distances = {start: 0}
        for key in (queue := [start]):
            for link in self._pages[key].links:
                if link.page not in distances:
                    distances[link.page] = distances[key] + 1
                    queue.append(link.page)
        return distances


@cache
def bundled() -> BundledGraph:
    """The bundled graph, read when it is first asked for."""
    pages: dict[str, Page] = {}
    with _FILE.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            links = tuple(Link(words, page) for words, page in row["links"])
            pages[row["title"]] = Page(row["title"], row["title"], row["text"], links)
    return BundledGraph(pages)
