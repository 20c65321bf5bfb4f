"""One field for everything: environments, agents, episodes, jobs and documents."""

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
LIMIT = 12
ID_START = 4
"""Shorter starts of an id would match too much; the pages show this many characters."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """What fits a query."""

    environments: list[Entry]
    agents: list[Agent]
    episodes: list[Episode]
    jobs: list[Job]
    documents: list[Document]

    @property
    def total(self) -> int:
        """How much that is."""
        lists: list[Sequence[object]] = [self.environments, self.agents, self.episodes, self.jobs, self.documents]
        return sum(map(len, lists))

    @property
    def only(self) -> Entry | Episode | Job | Document | None:
        """The one page that was meant, if the query names exactly one."""
        if self.total != 1 or self.agents:
            return None
        fits: list[Entry | Episode | Job | Document] = [
            *self.environments,
            *self.episodes,
            *self.jobs,
            *self.documents,
        ]
        return fits[0]


def search(query: str, viewer: Viewer) -> SearchResults:
    """Everything that fits `query`, the nearest first."""
    query = query.replace("\0", "").strip()[:MAX_QUERY]
    if not query:
        return SearchResults([], [], [], [], [])
    words = tuple(query.lower().split()[:8])
    fits = Filter(words=words, chosen={}, sort="name").apply(all_entries())
    environments = sorted(fits, key=lambda entry: query.lower() not in entry.id.lower())
    told = documents.matching(words)[:LIMIT]
    if any(entry.id == query for entry in environments):
        environments, told = [entry for entry in environments if entry.id == query], []
    agents = Agent.objects.named_to(viewer).filter(Q(name__icontains=query) | Q(slug__icontains=query))
    return SearchResults(environments[:LIMIT], list(agents[:LIMIT]), _episodes(query, viewer), _jobs(query), told)


def _episodes(query: str, viewer: Viewer) -> list[Episode]:
    """By id, or by its start; unlisted ones only by the whole id, which is their address."""
    key = query.lower()
    if len(key) == ID_LENGTH:
        return list(Episode.objects.filter(pk=key).with_seats())
    if len(key) < ID_START or not key.isalnum():
        return []
    return list(Episode.objects.visible_to(viewer).filter(pk__startswith=key).with_seats()[:LIMIT])


def _jobs(query: str) -> list[Job]:
    """By id or its start, or by words of its name."""
    wanted = Q(name__icontains=query)
    if len(query) >= ID_START:
        wanted |= Q(pk__startswith=query.lower())
    return list(Job.objects.filter(wanted).select_related("agent", "owner")[:LIMIT])
