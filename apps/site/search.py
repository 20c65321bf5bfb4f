"""The search field: environments, agents, episodes, jobs and documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.catalog.entries import Entry, all_entries
from apps.catalog.filters import Filter
from apps.episodes.models import ID_LENGTH, Episode
from apps.jobs.models import Job
from apps.site import documents
from apps.site.documents import Document

MAX_QUERY = 200
"""The longest query, in characters."""
MAX_RESULTS = 12
"""Results of each kind."""
MIN_ID_CHARACTERS = 4
"""Shorter prefixes of an id match too much. Pages show ids shortened to this many characters."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """The results of a query."""

    environments: list[Entry]
    agents: list[Agent]
    episodes: list[Episode]
    jobs: list[Job]
    documents: list[Document]

    @property
    def total(self) -> int:
        """The number of results."""
        lists: list[Sequence[object]] = [self.environments, self.agents, self.episodes, self.jobs, self.documents]
        return sum(map(len, lists))

    @property
    def only(self) -> Entry | Episode | Job | Document | None:
        """The only result, if there is exactly one and it has a page to open."""
        if self.total != 1 or self.agents:
            return None
        results: list[Entry | Episode | Job | Document] = [
            *self.environments,
            *self.episodes,
            *self.jobs,
            *self.documents,
        ]
        return results[0]


def search(query: str, viewer: Viewer) -> SearchResults:
    """Find what matches `query`, the best matches first."""
    query = query.replace("\0", "").strip()[:MAX_QUERY]
    if not query:
        return SearchResults([], [], [], [], [])
    words = tuple(query.lower().split()[:8])
    matches = Filter(words=words, chosen={}, sort="name").apply(all_entries())
    environments = sorted(matches, key=lambda entry: query.lower() not in entry.id.lower())
    pages = documents.matching(words)[:MAX_RESULTS]
    if any(entry.id == query for entry in environments):
        environments, pages = [entry for entry in environments if entry.id == query], []
    agents = Agent.objects.named_to(viewer).filter(Q(name__icontains=query) | Q(slug__icontains=query))
    return SearchResults(
        environments[:MAX_RESULTS], list(agents[:MAX_RESULTS]), _episodes(query, viewer), _jobs(query, viewer), pages
    )


def _episodes(query: str, viewer: Viewer) -> list[Episode]:
    """Episodes by id or its prefix. An unlisted episode needs its whole id, which works as its secret address."""
    key = query.lower()
    if len(key) == ID_LENGTH:
        return list(Episode.objects.filter(pk=key).shown_to(viewer).with_seats())
    if len(key) < MIN_ID_CHARACTERS or not key.isalnum():
        return []
    return list(Episode.objects.visible_to(viewer).filter(pk__startswith=key).with_seats()[:MAX_RESULTS])


def _jobs(query: str, viewer: Viewer) -> list[Job]:
    """Jobs by id, by its prefix, or by a part of the name."""
    condition = Q(name__icontains=query)
    if len(query) >= MIN_ID_CHARACTERS:
        condition |= Q(pk__startswith=query.lower())
    return list(Job.objects.filter(condition).shown_to(viewer).select_related("agent", "owner")[:MAX_RESULTS])
