"""How often somebody has tried to be ranked in a season, whatever became of it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Q
from django.db.models.functions import Now

from apps.agents.models import Agent
from apps.jobs.models import Job
from apps.jobs.ranked.tries import tries_of as tries_of_jobs
from apps.leaderboard.models import Challenge
from apps.seasons.models import Season


@dataclass(frozen=True, slots=True)
class Challenges:
    """The challenges of one account in one season. Each counts as a try from the moment that it is drawn."""

    drawn: int = 0
    verified: int = 0
    reported: int = 0
    failed: int = 0
    """Those whose deadline has passed, and whose episodes did not agree."""
    unused: int = 0
    """Those whose deadline has passed without episodes."""

    @property
    def under_way(self) -> int:
        """Those that still take episodes, or whose episodes are being checked."""
        return self.drawn - self.verified - self.reported - self.failed - self.unused

    @property
    def in_words(self) -> str:
        """`3 challenges drawn: 1 verified, 2 unused`; empty without any."""
        if not self.drawn:
            return ""
        names = ("verified", "reported", "failed", "unused", "under_way")
        parts = [f"{getattr(self, name)} {name.replace('_', ' ')}" for name in names if getattr(self, name)]
        return f"{self.drawn} challenge{'' if self.drawn == 1 else 's'} drawn: {', '.join(parts)}"


def challenges_of(owner_id: int | None, season: Season | None) -> Challenges:
    """The challenges of an account in a season, in one query."""
    return challenges_by_owner([owner_id], season).get(owner_id, Challenges())


def challenges_by_owner(owner_ids: list[int | None], season: Season | None) -> dict[int | None, Challenges]:
    """The challenges of several accounts in a season, for the rows of a board. Those without any are missing."""
    if season is None:
        return {}
    states = Challenge.State
    over = Q(state=states.OPEN, deadline__lte=Now())
    rows = Challenge.objects.filter(season=season, owner__in=[each for each in owner_ids if each is not None])
    counts = {
        "drawn": Count("pk"),
        "verified": Count("pk", filter=Q(state=states.VERIFIED)),
        "reported": Count("pk", filter=Q(state=states.REPORTED)),
        "failed": Count("pk", filter=over & Q(uploads__gt=0)),
        "unused": Count("pk", filter=over & Q(uploads=0)),
    }
    counted = rows.order_by().values("owner_id").annotate(**counts).values_list("owner_id", *counts)
    return {owner_id: Challenges(**dict(zip(counts, numbers, strict=True))) for owner_id, *numbers in counted}


def tries_of(job: Job) -> int:
    """The tries of a ranked job's owner in its season: with its agent here, or by any challenge played elsewhere.

    Whoever plays elsewhere chooses the name of the agent, so there the tries of the account count together.
    """
    if job.agent.kind != Agent.Kind.OUTSIDE:
        return tries_of_jobs(job)
    return challenges_of(job.owner_id, job.batch.season).drawn
