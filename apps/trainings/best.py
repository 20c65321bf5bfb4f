"""The best checkpoint of a training, and its evaluation on request.

The best one is that with the highest mean return over the ten updates around it: one update's return is mostly chance.
In a curriculum only updates of its last stage count, because the returns of easier ones are others.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.jobs import operations
from apps.jobs.changes import change
from apps.jobs.errors import JobRefusal
from apps.jobs.models import Checkpoint, Job, JobEvent
from gem import benchmarks
from gem.evaluation.spec import EvaluationSpec

BEFORE, AFTER = 4, 5
"""How many updates before and after a checkpoint's own are averaged, where there are so many."""
EPISODES = 100
"""Of an environment that is in no benchmark."""
FIRST_SEED = 1000
"""As in the benchmarks: neither trained on nor played at checkpoints."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best checkpoint and what it rests on."""

    checkpoint: Checkpoint
    mean: float
    """Return over these updates."""
    first: int
    last: int


def best_of(job: Job) -> Best | None:
    """The best checkpoint of a training so far; of equal ones the latest. None without a checkpoint."""
    returns = _returns(job)
    known = [_smoothed(each, returns) for each in job.checkpoints.select_related("agent")]
    found = [each for each in known if each is not None]
    return max(found, key=lambda each: (each.mean, each.checkpoint.update), default=None)


def benchmark_of(env_id: str) -> str:
    """The name of the benchmark that an environment belongs to; empty if it is in none."""
    return next((name for name in benchmarks.names() if env_id in benchmarks.load(name).env_ids), "")


def evaluate(job: Job) -> Job:
    """Submit the evaluation of the best checkpoint; the same one is evaluated once, however often this is called.

    Raises:
        JobRefusal: if there is no checkpoint, or the owner may not have another job.
    """
    found = best_of(job)
    if found is None:
        raise JobRefusal("There is no checkpoint to evaluate yet.")
    agent, benchmark = found.checkpoint.agent, benchmark_of(job.spec["env_id"])
    asked = {"benchmark": benchmark} if benchmark else {
        "env_ids": [job.spec["env_id"]], "episodes_per_env": EPISODES, "seed": FIRST_SEED
    }  # fmt: skip
    return operations.submit(
        job.owner,
        EvaluationSpec.model_validate({"agent": agent.slug, **asked}),
        name=f"Best of {job.title}: update {found.checkpoint.update}"[:120],
        idempotency_key=f"best:{agent.slug}",
        checkpoint=found.checkpoint,
    )


def evaluate_if_wished(job_id: str) -> None:
    """At the end of a training, in the transaction that ends it: so it is submitted with the end, or not at all."""
    job = Job.objects.select_related("owner", "agent").get(pk=job_id)
    if not job.evaluate_best:
        return
    try:
        evaluation = evaluate(job)
    except JobRefusal as refusal:
        text = f"the best checkpoint could not be submitted for evaluation: {refusal}"
        change(job_id, JobEvent.Kind.CHECKPOINT, text, tone=JobEvent.Tone.WARN)
        return
    change(job_id, JobEvent.Kind.CHECKPOINT, f"submitted for evaluation: {evaluation.name}")


def _returns(job: Job) -> dict[int, float]:
    rows = list(job.points.values_list("update", "data__return", "data__stage"))
    last = max((stage or 0 for _, _, stage in rows), default=0)
    return {update: value for update, value, stage in rows if (stage or 0) == last and value is not None}


def _smoothed(checkpoint: Checkpoint, returns: dict[int, float]) -> Best | None:
    around = range(checkpoint.update - BEFORE, checkpoint.update + AFTER + 1)
    updates = [update for update in around if update in returns]
    if not updates:
        return None
    mean = sum(returns[update] for update in updates) / len(updates)
    return Best(checkpoint, mean, updates[0], updates[-1])
