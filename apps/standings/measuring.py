"""Measuring a job that is done: what its page says, kept by environment, and the games of two that it has played.

It reads every episode of the job, so only workers do it, once for each job.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.db import connection
from django.db.models import Avg, Count, F, FloatField, Max, Q, Sum

from apps.episodes.models import Episode
from apps.jobs.models import Job, JobBooks
from apps.jobs.results.clusters import Scores, scores_of
from apps.standings.models import JobResult
from gem.evaluation.spec import EvaluationSpec, read_stored

MOST_ENVIRONMENTS = 250
"""Environments of one job that are kept; those of training sets with more are on the page of the job alone."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of an agent in one environment of a job."""

    env_id: str
    env_version: int
    n: int
    """The episodes that count."""
    errors: int
    seeds: int
    solved: list[float | None]
    """The share of solved episodes and the ends of its 95 % interval, which are None where there is none."""
    returns: list[float | None]
    """Likewise the mean return."""
    turns: float
    """The mean number of turns."""
    tokens: int | None
    """The tokens of all episodes, in and out, also of those that a retry replaced; None if nothing counted them, or a
    server did not count all of them."""
    unreadable: int
    """Actions that the environment could not understand."""
    best: str
    """The episode that was solved in the fewest turns or, of equals, with the highest return; of none solved, the
    highest return."""
    worst: str
    """The unsolved episode with the lowest return; empty if all were solved."""

    @property
    def tokens_per_solved(self) -> float | None:
        """Tokens of all episodes for each solved one; None if nothing counted them, or none was solved."""
        solved = self.solved[0] or 0.0
        return None if self.tokens is None or not solved else self.tokens / (solved * self.n)


def record(job: Job) -> JobResult:
    """Measure an evaluation that is done. A second call measures it anew."""
    scores = scores_of(job)
    spec = read_stored(job.spec)
    measured = [_measured(job, row, scores.of(row["env_id"])) for row in _sums(job)[:MOST_ENVIRONMENTS]]
    if JobBooks.objects.filter(Q(estimated_in__gt=0) | Q(estimated_out__gt=0), job=job).exists():
        measured = [replace(one, tokens=None) for one in measured]
    kept, _ = JobResult.objects.update_or_create(
        job=job,
        defaults={
            "agent_id": job.agent_id,
            "version": (job.set_up or {}).get("version", 1),
            "setting": setting_of(spec)[:200],
            "environments": [asdict(one) for one in measured],
            "games": games_of(job),
            "ended": job.ended or job.created,
        },
    )
    return kept


def record_nothing(job: Job) -> None:
    """Keep that a job has no results that could be read, so that it is measured once."""
    JobResult.objects.update_or_create(
        job=job, defaults={"agent_id": job.agent_id, "environments": [], "games": [], "ended": job.ended or job.created}
    )


def setting_of(spec: EvaluationSpec) -> str:
    """What sets an evaluation apart from one of the same agent without anything added; empty if nothing does."""
    parts = [spec.tools_in_words, f"against {spec.opponent}" if spec.opponent else ""]
    parts += [", ".join(str(wrapper.get("name", "wrapper")) for wrapper in spec.wrappers)]
    parts += ["with a token limit"] if spec.max_episode_tokens else []
    parts += ["with a money limit"] if spec.max_episode_money else []
    parts += [f"at most {spec.max_turns:,} turns"] if spec.max_turns else []
    return "; ".join(filter(None, parts))


def _sums(job: Job) -> list[dict[str, Any]]:
    is_present = Q(slot__isnull=False)
    counted = Q(is_present, status__in=[Episode.Status.ENDED, Episode.Status.ABANDONED])
    episodes = Episode.objects.filter(batch=job.batch_id).order_by("env_id")
    rows = episodes.values("env_id").annotate(
        env_version=Max("env_version", filter=is_present),
        n=Count("pk", filter=counted),
        errors=Count("pk", filter=Q(is_present, status=Episode.Status.FAILED)),
        mean_turns=Avg("turn_count", filter=counted, output_field=FloatField()),
        tokens=Sum(F("tokens_in") + F("tokens_out")),
        misread=Sum("unreadable", filter=counted),
    )
    return [dict(row) for row in rows if row["n"] or row["errors"]]  # not if a retry has replaced all of them


def _measured(job: Job, row: dict[str, Any], scores: Scores) -> Measured:
    success, returns = scores.success, scores.mean_return
    episodes = Episode.objects.filter(batch=job.batch_id, env_id=row["env_id"], status=Episode.Status.ENDED)
    scored = episodes.filter(seats__number=F("scored_seat"), hidden_reason="")
    best = scored.order_by(F("success").desc(nulls_last=True), "turn_count", "-seats__total_reward", "slot").first()
    if best is not None and not best.success:
        best = scored.order_by("-seats__total_reward", "slot").first()
    worst = scored.exclude(success=True).order_by("seats__total_reward", "slot").first()
    return Measured(
        env_id=row["env_id"],
        env_version=row["env_version"],
        n=row["n"],
        errors=row["errors"],
        seeds=scores.seeds,
        solved=[success.mean, success.low, success.high] if success else [None, None, None],
        returns=[returns.mean, returns.low, returns.high] if returns else [None, None, None],
        turns=row["mean_turns"] or 0.0,
        tokens=row["tokens"] or None,
        unreadable=row["misread"] or 0,
        best=best.pk if best else "",
        worst=worst.pk if worst else "",
    )


GAMES = """
SELECT episode.env_id, first.agent_id, second.agent_id,
    count(*) FILTER (WHERE first.total_reward > second.total_reward + %(same)s),
    count(*) FILTER (WHERE abs(first.total_reward - second.total_reward) <= %(same)s),
    count(*) FILTER (WHERE first.total_reward < second.total_reward - %(same)s)
FROM episodes_episode AS episode
JOIN episodes_seat AS first ON first.episode_id = episode.id AND first.number = 0
JOIN episodes_seat AS second ON second.episode_id = episode.id AND second.number = 1
WHERE episode.batch_id = %(batch)s AND episode.seat_count = 2 AND episode.status = 'ended'
    AND episode.slot IS NOT NULL AND first.agent_id <> second.agent_id
GROUP BY 1, 2, 3
"""
SAME_RETURN = 1e-9


def games_of(job: Job) -> list[list[Any]]:
    """Environment, first and second agent, and how often the first got more than the second, as much, and less."""
    if not job.spec.get("opponent"):
        return []
    with connection.cursor() as cursor:
        cursor.execute(GAMES, {"batch": job.batch_id, "same": SAME_RETURN})
        rows: Iterable[tuple[Any, ...]] = cursor.fetchall()
    return [list(row) for row in rows]
