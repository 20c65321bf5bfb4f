"""What continuations by an agent will take, from its last episodes in the same environment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Avg, Count, F

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import Episode

MOST_EPISODES = 1000
"""The last episodes of an environment that are looked at, whoever played them."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The means of the ended episodes of one agent."""

    episodes: int
    turns: float
    seconds: float | None
    """Of an answer; None if none of the episodes measured that."""
    tokens: float | None
    """Read and written in a whole episode; None if none of the episodes counted them."""


def expected(env_id: str, agents: Iterable[Agent], viewer: Viewer, visitor: str) -> dict[int, Expected]:
    """By the key of the agent; those are left out that have not ended an episode which this person may see listed."""
    listed = Episode.objects.listed_for(viewer, visitor).ended().filter(env_id=env_id)
    last = listed.order_by("-created").values("pk")[:MOST_EPISODES]
    rows = (
        Episode.objects.filter(pk__in=last, seats__agent__in=[agent.pk for agent in agents])
        .order_by()
        .values_list("seats__agent")
        .annotate(
            episodes=Count("pk", distinct=True),
            mean_turns=Avg("turn_count"),
            mean_seconds=Avg("answer_seconds"),
            mean_tokens=Avg(F("tokens_in") + F("tokens_out")),
        )
    )
    return {agent: Expected(*means) for agent, *means in rows}
