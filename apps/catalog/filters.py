"""Search and filters of the catalog. The address holds every choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import QueryDict

from apps.catalog import plays
from apps.catalog.entries import BOARDS, Entry

MAX_WORDS = 8


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """A check box of a facet."""

    key: str
    """The suffix of the DOM ids of its elements."""
    value: str
    label: str
    count: int
    """The number of environments with this value among those that match all other filters."""
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """A property of environments with the values to choose from."""

    name: str
    label: str
    choices: tuple[FilterChoice, ...]


@dataclass(frozen=True, slots=True)
class Relief:
    """The search with one condition removed, and the number of environments it would find."""

    label: str
    query: str
    count: int


@dataclass(frozen=True, slots=True)
class _Property:
    name: str
    label: str
    read: Callable[[Entry], tuple[str, ...]]
    """Returns the entry's values without importing or creating the environment."""


PROPERTIES = (
    _Property("kind", "Kind", lambda entry: (entry.category,)),
    _Property("turns", "Turns", lambda entry: ("one turn" if entry.spec.turns == "single" else "many turns",)),
    _Property("tools", "Tools", lambda entry: entry.spec.tools or ("none",)),
    _Property("seats", "Seats", lambda entry: ("one" if entry.spec.seats == 1 else "two or more",)),
    _Property("replay", "Replay", lambda entry: (entry.replay,)),
    _Property("difficulty", "Difficulty", lambda entry: (entry.difficulty,)),
    _Property("board", "Board", lambda entry: (BOARDS[entry.board_kind],)),
)

SORTS: dict[str, str] = {
    "name": "Sort by name",
    "played": "Most played",
    "random": "Hardest for the random agent",
    "expert": "Hardest for the expert",
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A search: words, chosen values and a sort order."""

    words: tuple[str, ...]
    chosen: dict[str, frozenset[str]]
    sort: str

    @classmethod
    def read(cls, query: QueryDict) -> Filter:
        """Read a search from an address, ignoring what is invalid."""
        chosen = {p.name: frozenset(query.getlist(p.name)) for p in PROPERTIES if query.getlist(p.name)}
        sort = query.get("sort", "name")
        words = tuple(query.get("q", "").replace("\0", "").lower().split()[:MAX_WORDS])
        return cls(words, chosen, sort if sort in SORTS else "name")

    @property
    def active(self) -> bool:
        """Whether it filters at all."""
        return bool(self.words or self.chosen)

    @property
    def query(self) -> str:
        """The query string of this search, without invalid parts."""
        pairs = [("q", " ".join(self.words))] if self.words else []
        pairs += [(p.name, value) for p in PROPERTIES for value in sorted(self.chosen.get(p.name, ()))]
        return urlencode([*pairs, ("sort", self.sort)] if self.sort != "name" else pairs)

    def apply(self, entries: Iterable[Entry]) -> list[Entry]:
        """The entries that match, sorted."""
        matches = [entry for entry in entries if self._has_words(entry) and self._has_choices(entry)]
        if self.sort == "name":
            return sorted(matches, key=lambda entry: (entry.place, entry.category, entry.family.lower()))
        if self.sort == "played":
            played = plays.of_families(entries)
            return sorted(matches, key=lambda entry: -played[entry.spec.category, entry.family])
        return sorted(matches, key=lambda entry: _solved(entry, self.sort))

    def facets(self, entries: Sequence[Entry]) -> list[Facet]:
        """The facets that have more than one value to choose from."""
        all_facets = (self._facet(prop, entries) for prop in PROPERTIES)
        return [facet for facet in all_facets if len(facet.choices) > 1]

    def reliefs(self, entries: Sequence[Entry]) -> list[Relief]:
        """Every condition whose removal gives results, the one with the fewest results first."""
        relaxed = [(f"the words \u201c{' '.join(self.words)}\u201d", replace(self, words=()))] if self.words else []
        for prop in PROPERTIES:
            if values := self.chosen.get(prop.name):
                label = f"{prop.label.lower()}: {' or '.join(sorted(values)).lower()}"
                relaxed.append((label, self._without(prop)))
        reliefs = [Relief(label, fewer.query, len(fewer.apply(entries))) for label, fewer in relaxed]
        return sorted((relief for relief in reliefs if relief.count), key=lambda relief: relief.count)

    def choosing(self, name: str, value: str) -> str:
        """The query string of this search with only this value of a property; without any, if it is empty."""
        chosen = {other: values for other, values in self.chosen.items() if other != name}
        return replace(self, chosen={**chosen, name: frozenset({value})} if value else chosen).query

    def _without(self, prop: _Property) -> Filter:
        return replace(self, chosen={name: values for name, values in self.chosen.items() if name != prop.name})

    def _facet(self, prop: _Property, entries: Sequence[Entry]) -> Facet:
        chosen = self.chosen.get(prop.name, frozenset())
        # The order does not depend on the choices, so that the boxes keep their places.
        totals = Counter(value for entry in entries for value in prop.read(entry))
        counts = Counter(value for entry in self._without(prop).apply(entries) for value in prop.read(entry))
        choices = tuple(
            FilterChoice(f"{prop.name}-{place}", value, value.capitalize(), counts[value], value in chosen)
            for place, (value, _) in enumerate(totals.most_common())
        )
        return Facet(prop.name, prop.label, choices)

    def _has_words(self, entry: Entry) -> bool:
        return all(word in entry.text for word in self.words)

    def _has_choices(self, entry: Entry) -> bool:
        return all(self.chosen[p.name].intersection(p.read(entry)) for p in PROPERTIES if p.name in self.chosen)


def _solved(entry: Entry, agent: str) -> float:
    measured = entry.random if agent == "random" else entry.expert
    return measured.success_rate if measured else 2.0  # environments that are not measured come last
