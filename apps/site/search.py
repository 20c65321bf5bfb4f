"""The search field: environments, agents, episodes, jobs and documents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from django.db.models import Q

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.catalog.entries import Entry, all_entries
from apps.catalog.filters import Filter
from apps.episodes.models import ID_LENGTH, Episode
from apps.jobs.models import Job
from apps.site import documents
from apps.site.documents import Document
from gem.validation.near import nearest

MAX_QUERY = 200
"""The longest query, in characters."""
MAX_RESULTS = 12
"""Results of each kind."""
MIN_ID_CHARACTERS = 4
"""Shorter prefixes of an id match too much. Pages show ids shortened to this many characters."""
MAX_WORDS = 8
SIMILAR = 0.75
"""How similar a word has to be to be suggested, from 0 to 1, as in `difflib.get_close_matches`."""


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


def search(query: str, viewer: Viewer, visitor: str = "") -> SearchResults:
    """Find what matches `query` and may be shown to this person, the best matches first."""
    query = query.replace("\0", "").strip()[:MAX_QUERY]
    if not query:
        return SearchResults([], [], [], [], [])
    words = tuple(query.lower().split()[:MAX_WORDS])
    matches = Filter(words=words, chosen={}, sort="name").apply(all_entries())
    environments = sorted(matches, key=lambda entry: query.lower() not in entry.id.lower())
    pages = documents.matching(words)[:MAX_RESULTS]
    if any(entry.id == query for entry in environments):
        environments, pages = [entry for entry in environments if entry.id == query], []
    agents = Agent.objects.named_to(viewer).filter(Q(name__icontains=query) | Q(slug__icontains=query))
    episodes, jobs = _episodes(query, viewer, visitor), _jobs(query, viewer)
    return SearchResults(environments[:MAX_RESULTS], list(agents[:MAX_RESULTS]), episodes, jobs, pages)


def other_spelling(query: str) -> str:
    """The query with each unknown word replaced by a similar one of the ids and titles; empty if there is none."""
    words = query.lower().split()[:MAX_WORDS]
    similar = [
        word if word in _vocabulary() else next(iter(nearest(word, _vocabulary(), cutoff=SIMILAR)), word)
        for word in words
    ]
    return " ".join(similar) if similar != words else ""


@cache
def _vocabulary() -> tuple[str, ...]:
    """The words of the ids of environments and of the titles of documents."""
    ids = {part for entry in all_entries() for part in re.findall("[a-z]{3,}", entry.id.lower())}
    titles = {part for page in documents.documents() for part in re.findall("[a-z]{3,}", page.title.lower())}
    return tuple(sorted(ids | titles))


def _episodes(query: str, viewer: Viewer, visitor: str) -> list[Episode]:
    """Episodes by id or its prefix. An unlisted episode needs its whole id, which works as its secret address."""
    key = query.lower()
    if len(key) == ID_LENGTH:
        return list(Episode.objects.visible_to(viewer, visitor).filter(pk=key).with_seats())
    if len(key) < MIN_ID_CHARACTERS or not key.isalnum():
        return []
    return list(Episode.objects.listed_for(viewer, visitor).filter(pk__startswith=key).with_seats()[:MAX_RESULTS])


def _jobs(query: str, viewer: Viewer) -> list[Job]:
    """Jobs by id, by its prefix, or by a part of the name. An unlisted one needs its whole id."""
    condition = Q(name__icontains=query)
    if len(query) >= MIN_ID_CHARACTERS:
        condition |= Q(pk__startswith=query.lower())
    if len(query) == ID_LENGTH and (exact := Job.objects.visible_to(viewer).filter(pk=query.lower())):
        return list(exact.select_related("agent", "owner"))
    return list(Job.objects.listed_for(viewer).filter(condition).select_related("agent", "owner")[:MAX_RESULTS])
