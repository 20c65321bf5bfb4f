"""Searching the catalog: every choice is in the address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import QueryDict

from apps.catalog.entries import Entry

MAX_WORDS = 8


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """One box to tick."""

    key: str
    """What its elements' ids end with."""
    value: str
    label: str
    count: int
    """How many environments have it, of those that fit everything else that is asked for."""
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """One property to choose by."""

    name: str
    label: str
    choices: tuple[FilterChoice, ...]


@dataclass(frozen=True, slots=True)
class Relief:
    """What there would be with one condition fewer."""

    label: str
    query: str
    count: int


@dataclass(frozen=True, slots=True)
class _Property:
    name: str
    label: str
    read: Callable[[Entry], tuple[str, ...]]
    """What an entry has of it; nothing here imports or makes the environment."""


PROPERTIES = (
    _Property("kind", "Kind", lambda entry: (entry.category,)),
    _Property("turns", "Turns", lambda entry: ("one turn" if entry.spec.turns == "single" else "many turns",)),
    _Property("tools", "Tools", lambda entry: entry.spec.tools or ("none",)),
    _Property("seats", "Seats", lambda entry: ("one" if entry.spec.seats == 1 else "two or more",)),
    _Property("replay", "Replay", lambda entry: (entry.replay,)),
    _Property("difficulty", "Difficulty", lambda entry: (entry.difficulty,)),
)

SORTS: dict[str, str] = {
    "name": "Sort by name",
    "random": "Hardest for the random agent",
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
        words = tuple(query.get("q", "").replace("\0", "").lower().split()[:MAX_WORDS])
        return cls(words, chosen, sort if sort in SORTS else "name")

    @property
    def active(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.words or self.chosen)

    @property
    def query(self) -> str:
        """The address that it was read from, without what could not be understood."""
        pairs = [("q", " ".join(self.words))] if self.words else []
        pairs += [(p.name, value) for p in PROPERTIES for value in sorted(self.chosen.get(p.name, ()))]
        return urlencode([*pairs, ("sort", self.sort)] if self.sort != "name" else pairs)

    def apply(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries that are asked for, sorted."""
        found = [entry for entry in entries if self._has_words(entry) and self._has_choices(entry)]
        if self.sort == "name":
            return sorted(found, key=lambda entry: (entry.place, entry.category, entry.spec.family.lower()))
        return sorted(found, key=lambda entry: _solved(entry, self.sort))

    def facets(self, entries: Sequence[Entry]) -> list[Facet]:
        """What can be chosen; a property that all environments share is none."""
        found = (self._facet(prop, entries) for prop in PROPERTIES)
        return [facet for facet in found if len(facet.choices) > 1]

    def reliefs(self, entries: Sequence[Entry]) -> list[Relief]:
        """Each condition that could be dropped so that something fits, the one that lets in least first."""
        without = [(f"the words \u201c{' '.join(self.words)}\u201d", replace(self, words=()))] if self.words else []
        for prop in PROPERTIES:
            if values := self.chosen.get(prop.name):
                label = f"{prop.label.lower()}: {' or '.join(sorted(values)).lower()}"
                without.append((label, self._without(prop)))
        counted = [Relief(label, fewer.query, len(fewer.apply(entries))) for label, fewer in without]
        return sorted((relief for relief in counted if relief.count), key=lambda relief: relief.count)

    def _without(self, prop: _Property) -> Filter:
        return replace(self, chosen={name: values for name, values in self.chosen.items() if name != prop.name})

    def _facet(self, prop: _Property, entries: Sequence[Entry]) -> Facet:
        chosen = self.chosen.get(prop.name, frozenset())
        # In an order that no choice changes, so that a box stays where it is.
        everything = Counter(value for entry in entries for value in prop.read(entry))
        now = Counter(value for entry in self._without(prop).apply(entries) for value in prop.read(entry))
        choices = tuple(
            FilterChoice(f"{prop.name}-{place}", value, value.capitalize(), now[value], value in chosen)
            for place, (value, _) in enumerate(everything.most_common())
        )
        return Facet(prop.name, prop.label, choices)

    def _has_words(self, entry: Entry) -> bool:
        return all(word in entry.text for word in self.words)

    def _has_choices(self, entry: Entry) -> bool:
        return all(self.chosen[p.name].intersection(p.read(entry)) for p in PROPERTIES if p.name in self.chosen)


def _solved(entry: Entry, agent: str) -> float:
    reached = entry.random if agent == "random" else entry.expert
    return reached.success_rate if reached else 2.0  # not measured: last
