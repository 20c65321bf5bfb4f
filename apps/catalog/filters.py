"""Searching the catalog: every choice is in the address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.http import QueryDict

from apps.catalog.entries import Entry

MAX_WORDS = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """One box to tick."""

    value: str
    label: str
    count: int
    """How many environments there are of it."""
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """One property to choose by."""

    name: str
    label: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class _Property:
    name: str
    label: str
    read: Callable[[Entry], str]


def _turns(entry: Entry) -> str:
    if entry.turn_limit is None:
        return "drawn at reset"
    if entry.turn_limit == 0:
        return "no limit"
    if entry.turn_limit == 1:
        return "one"
    return "up to 20" if entry.turn_limit <= 20 else "more than 20"


PROPERTIES = (
    _Property("kind", "Kind", lambda entry: entry.category),
    _Property("board", "Board", lambda entry: entry.board),
    _Property("turns", "Turns", _turns),
    _Property("seats", "Seats", lambda entry: "one" if entry.seats == 1 else "two or more"),
    _Property("replay", "Replay", lambda entry: entry.replay),
)

SORTS: dict[str, str] = {
    "name": "By name",
    "random": "Hardest for random",
    "expert": "Hardest for the expert",
}


@dataclass(frozen=True, slots=True)
class Filter:
    """What somebody is looking for."""

    words: tuple[str, ...]
    chosen: dict[str, frozenset[str]]
    sort: str

    @classmethod
    def read(cls, query: QueryDict) -> Filter:
        """From an address; what cannot be understood is left out."""
        chosen = {p.name: frozenset(query.getlist(p.name)) for p in PROPERTIES if query.getlist(p.name)}
        sort = query.get("sort", "name")
        words = tuple(query.get("q", "").lower().split()[:MAX_WORDS])
        return cls(words, chosen, sort if sort in SORTS else "name")

    @property
    def active(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.words or self.chosen)

    def apply(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries that are asked for, sorted."""
        found = [entry for entry in entries if self._has_words(entry) and self._has_choices(entry)]
        if self.sort == "name":
            return found
        return sorted(found, key=lambda entry: _solved(entry, self.sort))

    def facets(self, entries: Iterable[Entry]) -> list[Facet]:
        """What can be chosen, with how much there is of it altogether."""
        entries = list(entries)
        return [self._facet(p, Counter(p.read(entry) for entry in entries)) for p in PROPERTIES]

    def _facet(self, prop: _Property, counts: Counter[str]) -> Facet:
        chosen = self.chosen.get(prop.name, frozenset())
        choices = tuple(
            Choice(value, value.capitalize(), count, value in chosen) for value, count in counts.most_common()
        )
        return Facet(prop.name, prop.label, choices)

    def _has_words(self, entry: Entry) -> bool:
        rules = " ".join(line for section in entry.page.sections for block in section.blocks for line in block.lines)
        text = f"{entry.id} {entry.page.summary} {rules}".lower()
        return all(word in text for word in self.words)

    def _has_choices(self, entry: Entry) -> bool:
        return all(p.read(entry) in self.chosen[p.name] for p in PROPERTIES if p.name in self.chosen)


def _solved(entry: Entry, agent: str) -> float:
    reached = entry.random if agent == "random" else entry.expert
    return reached.success_rate if reached else 2.0  # not measured: last
