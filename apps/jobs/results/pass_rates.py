"""pass@k of the problems that a job has tried several times."""

from __future__ import annotations

from apps.episodes.models import Episode
from apps.jobs.models import Job
from gem.evaluation.intervals import Estimate
from gem.evaluation.scores import Outcome
from gem.evaluation.scores import passes as pass_at_each


def passes(job: Job) -> dict[str, dict[int, Estimate]]:
    """pass@k by environment and k, over the seeds that were tried several times."""
    rows = (
        Episode.objects.filter(batch=job.batch_id)
        .exclude(status=Episode.Status.FAILED)
        .values_list("env_id", "slot", "seed", "scored_seat", "success")
    )
    outcomes: dict[str, list[Outcome]] = {}
    for env_id, slot, seed, seat, success in rows:
        outcome = Outcome(slot or 0, 0.0, bool(success), 0, failed=False, problem=(seed, seat))
        outcomes.setdefault(env_id, []).append(outcome)
    return {
        env_id: pass_rates for env_id, env_outcomes in outcomes.items() if (pass_rates := pass_at_each(env_outcomes))
    }
