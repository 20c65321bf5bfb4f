"""The episodes to look at first: the worst and the best of each environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from django.contrib.postgres.fields import ArrayField
from django.db.models import F, FloatField, Func, IntegerField, Max, Min
from django.db.models.functions import Cast, Coalesce

from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.jobs.results import clusters
from apps.jobs.results.clusters import JobScores

SHOWN = 6


@dataclass(frozen=True, slots=True)
class Replay:
    """An episode to look at."""

    episode_id: str
    env_id: str
    seed: int
    reached: float
    """Its return."""
    turns: int
    outcome: Literal["won", "lost", "limit"]


@dataclass(frozen=True, slots=True)
class Replays:
    """Of each environment the episode with the lowest return, and the one with the highest."""

    worst: list[Replay]
    """Those of environments that the agent solves most often come first, because there they surprise most."""
    best: list[Replay]
    """Those of environments that the agent solves least often come first."""


def replays(job: Job, number: int = SHOWN) -> Replays:
    """The worst and the best episodes of a job, at most `number` of each; none of a closed one."""
    if job.is_closed:
        return Replays([], [])
    shares = _shares(clusters.scores_of(job))
    ended = Episode.objects.filter(batch=job.batch_id, status=Episode.Status.ENDED, slot__isnull=False)
    solved, reached, turns = Cast(Coalesce("success", False), IntegerField()), F("seats__total_reward"), F("turn_count")
    rows = (
        ended.filter(seats__number=F("scored_seat"), hidden_reason="")
        .order_by()
        .values("env_id")
        .annotate(
            worst=Min(_Numbers(solved, reached, -turns, F("slot"))),
            best=Max(_Numbers(solved, reached, -turns, -F("slot"))),
        )
        .values_list("worst", "best")
    )
    lowest, highest = set(), set()
    for worst_of_env, best_of_env in rows:
        highest.add(-int(best_of_env[3]))
        if not worst_of_env[0]:  # otherwise all are solved
            lowest.add(int(worst_of_env[3]))
    found = _replays(job, lowest | highest)
    worst, best = ([found[slot] for slot in slots if slot in found] for slots in (lowest, highest - lowest))
    worst.sort(key=lambda replay: (-shares.get(replay.env_id, 0.0), replay.env_id))
    best.sort(key=lambda replay: (shares.get(replay.env_id, 0.0), replay.env_id))
    return Replays(worst[:number], best[:number])


class _Numbers(Func):
    """Numbers that are compared one after the other."""

    template = "ARRAY[%(expressions)s]::double precision[]"
    output_field = ArrayField(FloatField())


def _replays(job: Job, slots: Iterable[int]) -> dict[int, Replay]:
    """The episodes in these slots, by slot."""
    rows = Episode.objects.filter(batch=job.batch_id, slot__in=slots, seats__number=F("scored_seat"), hidden_reason="")
    columns = ("slot", "pk", "env_id", "seed", "seats__total_reward", "turn_count", "success", "truncated")
    return {
        slot: Replay(key, env_id, seed, reached, turns, "won" if success else "limit" if truncated else "lost")
        for slot, key, env_id, seed, reached, turns, success, truncated in rows.values_list(*columns)
        if slot is not None
    }


def _shares(scores: JobScores) -> Mapping[str, float]:
    return {env_id: found.success.mean for env_id, found in scores.by_env.items() if found.success is not None}
