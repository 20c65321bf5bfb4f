"""The episodes of evaluations as `gem.evaluation.compare` reads them, and which of them are hidden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.db.models import F, Q
from django.db.models.functions import Coalesce

from apps.episodes.models import Episode
from apps.jobs.models import Job
from gem.evaluation.comparison.runs import ScoredEpisode


def episodes_of(job: Job, env_ids: Sequence[str] | None = None) -> list[ScoredEpisode]:
    """Return the finished episodes of an evaluation; of these environments, or all.

    Episodes that administrators have hidden count, as on the page of the job. Their names are not to be shown.
    """
    rows = (
        Episode.objects.filter(batch=job.batch_id, seats__number=F("scored_seat"))
        .exclude(status__in=[Episode.Status.RUNNING, Episode.Status.ABANDONED])
        .order_by("slot")
        .values_list(
            "env_id", "seed", "scored_seat", "seats__total_reward", "success", "turn_count", "status", "failed_by",
            "pk", Coalesce("tokens_in", 0) + Coalesce("tokens_out", 0),
        )
    )  # fmt: skip
    if env_ids is not None:
        rows = rows.filter(env_id__in=env_ids)
    tries: Counter[tuple[str, int, int]] = Counter()
    episodes = []
    for env_id, seed, seat, reached, success, turns, status, failed_by, key, tokens in rows:
        place = (env_id, seed, seat)
        is_failed, by_agent = status == Episode.Status.FAILED, failed_by == Episode.FailedBy.AGENT
        episodes.append(
            ScoredEpisode(
                *place,
                repeat=tries[place],
                total_reward=reached,
                success=bool(success),
                turns=turns,
                failed=is_failed and not by_agent,
                unanswered=is_failed and by_agent,
                tokens=tokens,
                name=key,
            )
        )
        tries[place] += 1
    return episodes


def hidden_among(names: Sequence[str]) -> set[str]:
    """The ids of these that may not be shown: administrators have hidden them, or their batch is closed."""
    may_not_be_shown = Q(batch__closed=True) | ~Q(hidden_reason="")
    return set(Episode.objects.filter(may_not_be_shown, pk__in=names).values_list("pk", flat=True))
