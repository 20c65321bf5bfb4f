"""Graphs of pages and links for WikiGame.

The bundled graph is read from `pages.jsonl`, which `tools.wiki_pages` generates from facts of our own.
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
"""The first 16 hexadecimal digits of the SHA-256 of `pages.jsonl`."""

_FILE = Path(__file__).parent / "pages.jsonl"


class WikiLink(NamedTuple):
    """A link from one page to another."""

    words: str
    """The text of the link; no two links of a page have the same text."""
    page: str
    """The key of the page that it leads to."""


class WikiPage(NamedTuple):
    """A page with its links."""

    key: str
    title: str
    text: str
    links: tuple[WikiLink, ...]


class LinkGraph(Protocol):
    """Pages that link to each other. Graphs with the same `data_hash` have the same pages."""

    data_hash: str

    def page(self, key: str) -> WikiPage:
        """The page with this key.

        Raises:
            EnvironmentFailure: if the page is not available.
        """
        ...

    def draw(self, rng: RandomSource, min_distance: int, max_distance: int) -> tuple[str, str]:
        """Draw a start and a target that is `min_distance` to `max_distance` links away; return their keys."""
        ...


class BundledGraph:
    """The pages that come with the package. Every page can be reached from every other one."""

    data_hash = PAGES_HASH

    def __init__(self, pages: Mapping[str, WikiPage]) -> None:
        self._pages = pages
        self._keys = sorted(pages)

    def __reduce__(self) -> tuple[Any, ...]:
        return bundled, ()  # so that unpickling uses the one copy of the process

    def page(self, key: str) -> WikiPage:
        """See `LinkGraph.page`."""
        return self._pages[key]

    def pages(self) -> Iterator[WikiPage]:
        """All pages, in the order of their keys."""
        return (self._pages[key] for key in self._keys)

    def draw(self, rng: RandomSource, min_distance: int, max_distance: int) -> tuple[str, str]:
        """See `LinkGraph.draw`. Start and target are drawn uniformly."""
        while True:
            start = choice(rng, self._keys)
            targets = [
                key for key, distance in self._distances(start).items() if min_distance <= distance <= max_distance
            ]
            if targets:
                return start, choice(rng, targets)

    def _distances(self, start: str) -> dict[str, int]:
        """The number of links from the start to every page."""
        distances = {start: 0}
        for key in (queue := [start]):
            for link in self._pages[key].links:
                if link.page not in distances:
                    distances[link.page] = distances[key] + 1
                    queue.append(link.page)
        return distances


@cache
def bundled() -> BundledGraph:
    """The bundled graph, read when it is first needed."""
    pages: dict[str, WikiPage] = {}
    with _FILE.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            links = tuple(WikiLink(words, page) for words, page in row["links"])
            pages[row["title"]] = WikiPage(row["title"], row["title"], row["text"], links)
    return BundledGraph(pages)
