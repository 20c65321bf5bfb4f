"""Searches for environments and agents in the form of an evaluation, and names for what is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from django.db.models import Q

import gem
from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.catalog.entries import CATEGORIES, Entry, all_entries
from gem import benchmarks
from gem.errors import UsageError
from gem.evaluation import selection

MAX_SHOWN = 12
"""Environments of one category that a search shows. The others are counted, and can be added with them."""
MAX_WORDS = 8
MAX_AGENTS = 10
NAMES_IN_A_NOTE = 4


@dataclass(frozen=True, slots=True)
class Token:
    """Something that is chosen: an environment, or a pattern that stands for several."""

    value: str
    label: str
    count: int
    is_id: bool


@dataclass(frozen=True, slots=True)
class FoundEntry:
    """An environment that a search found."""

    id: str
    note: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class FoundGroup:
    """The environments of one category that a search found."""

    key: str
    """The suffix of the DOM ids of its elements."""
    label: str
    note: str
    count: int
    tokens: str
    """All of them as tokens, for the button that adds or removes them."""
    is_chosen: bool
    entries: tuple[FoundEntry, ...]
    more: int
    """Those that are not among `entries`."""


@dataclass(frozen=True, slots=True)
class Option:
    """A value of a select element."""

    value: str
    label: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Search:
    """A search for environments: words, and a category, a difficulty and a benchmark if they are not empty."""

    words: tuple[str, ...]
    category: str
    difficulty: str
    benchmark: str

    @classmethod
    def read(cls, data: Mapping[str, str]) -> Search:
        """Read a search from the entries of the form."""
        words = tuple(data.get("find", "").replace("\0", "").lower().split()[:MAX_WORDS])
        return cls(
            words, data.get("find_category", ""), data.get("find_difficulty", ""), data.get("find_benchmark", "")
        )

    @property
    def is_active(self) -> bool:
        """Whether it searches for anything."""
        return bool(self.words or self.category or self.difficulty or self.benchmark)

    def groups(self, chosen: Sequence[str]) -> list[FoundGroup]:
        """What it finds, by category. Without a search these are all categories, without their environments."""
        found = sorted(self._matches(), key=lambda entry: entry.place)
        return [
            self._group(category, list(entries), frozenset(chosen))
            for category, entries in groupby(found, key=lambda entry: entry.spec.category)
        ]

    def _group(self, category: str, entries: list[Entry], chosen: frozenset[str]) -> FoundGroup:
        ids = [entry.id for entry in entries]
        families = list(dict.fromkeys(entry.spec.family for entry in entries))
        shown = entries[:MAX_SHOWN] if self.is_active else []
        return FoundGroup(
            key=category,
            label=CATEGORIES.get(category, category),
            note=", ".join(families[:NAMES_IN_A_NOTE]) + (", …" if len(families) > NAMES_IN_A_NOTE else ""),
            count=len(ids),
            tokens=" ".join(selection.compact(ids)),
            is_chosen=chosen.issuperset(ids),
            entries=tuple(FoundEntry(entry.id, entry.turns, entry.id in chosen) for entry in shown),
            more=len(ids) - len(shown) if shown else 0,
        )

    def _matches(self) -> Iterable[Entry]:
        ranked = set(benchmarks.load(self.benchmark).env_ids) if self.benchmark in benchmarks.names() else None
        for entry in all_entries():
            is_match = (
                all(word in entry.text for word in self.words)
                and self.category in ("", entry.spec.category)
                and self.difficulty in ("", entry.difficulty)
                and (ranked is None or entry.id in ranked)
            )
            if is_match:
                yield entry

    @property
    def categories(self) -> list[Option]:
        """The categories to choose from."""
        return _options((entry.spec.category for entry in all_entries()), self.category, CATEGORIES)

    @property
    def levels(self) -> list[Option]:
        """The difficulties to choose from."""
        return _options((entry.difficulty for entry in all_entries()), self.difficulty, {})

    @property
    def benchmarks(self) -> list[Option]:
        """The benchmarks to choose environments from."""
        return [
            Option(name, name, len(benchmarks.load(name).env_ids), self.benchmark == name)
            for name in benchmarks.names()
        ]


def _options(values: Iterable[str], chosen: str, labels: Mapping[str, str]) -> list[Option]:
    counts: dict[str, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    ordered = [value for value in labels if value in counts] + [value for value in counts if value not in labels]
    return [Option(value, labels.get(value, value), counts[value], value == chosen) for value in ordered]


# ---------------------------------------------------------------- what is chosen


def ids_of(tokens: Iterable[str]) -> list[str]:
    """The environments that these tokens stand for, each once. Patterns that match nothing are left out."""
    ids: dict[str, None] = {}
    for token in tokens:
        try:
            ids.update(dict.fromkeys(selection.expand([token])))
        except UsageError:
            continue
    return list(ids)


def known_ids(tokens: Iterable[str]) -> list[str]:
    """The same without those that are not registered."""
    return [env_id for env_id in ids_of(tokens) if _exists(env_id)]


def tokens_of(ids: Sequence[str]) -> list[Token]:
    """What is chosen in few words, in the order of the catalog."""
    places = {entry.id: entry.place for entry in all_entries()}
    tokens = [token_of(value) for value in selection.compact(ids)]
    return sorted(tokens, key=lambda token: places.get(selection.matching(token.value)[0], 99) if token.count else 99)


def token_of(value: str) -> Token:
    """The name of an environment or a pattern."""
    if selection.WILDCARD not in value:
        return Token(value, value, 1 if _exists(value) else 0, is_id=True)
    matches = selection.matching(value)
    category, _, rest = value.partition(":")
    label = CATEGORIES.get(category, category) if rest else value
    if rest not in ("", selection.WILDCARD) and matches:
        label += f", {gem.spec(matches[0]).difficulty.replace('vs-', 'against ') or 'default'}"
    return Token(value, label, len(matches), is_id=False)


def _exists(env_id: str) -> bool:
    try:
        gem.spec(env_id)
    except UsageError:
        return False
    return True


# ---------------------------------------------------------------- agents


def find_agents(viewer: Viewer, words: str, chosen: Sequence[str]) -> tuple[list[Agent], int]:
    """Agents that somebody may choose and has not chosen yet, and how many more there are.

    Without words these are the ones that forms offer: of each training of one's own only the newest checkpoint. Words
    also find single checkpoints, and the agents of others that lists show.
    """
    offered = Agent.objects.offered_to(viewer)
    if words := words.replace("\0", "").strip()[:80]:
        pk = Agent.objects.named_to(viewer).values("pk")
        offered = Agent.objects.selectable_by(viewer).filter(pk__in=pk)
        for word in words.split()[:MAX_WORDS]:
            is_named = Q(name__icontains=word) | Q(slug__icontains=word) | Q(kind__startswith=word.lower())
            offered = offered.filter(is_named)
    found = offered.exclude(slug__in=chosen).select_related("endpoint", "owner", "weights").distinct()
    looked_at = list(found[: MAX_AGENTS * 5])
    count = len(looked_at) if len(looked_at) < MAX_AGENTS * 5 else found.count()
    mine_first = sorted(looked_at, key=lambda agent: (agent.owner_id != viewer.pk, not agent.listed, agent.pk))
    return mine_first[:MAX_AGENTS], max(0, count - MAX_AGENTS)


def chosen_agents(viewer: Viewer, slugs: Sequence[str]) -> list[Agent]:
    """The chosen agents that this person may use, in the order in which they were chosen."""
    rows = Agent.objects.selectable_by(viewer).filter(slug__in=slugs).select_related("endpoint", "owner", "weights")
    by_slug = {agent.slug: agent for agent in rows}
    return [by_slug[slug] for slug in dict.fromkeys(slugs) if slug in by_slug]
