"""The best checkpoint of a training, and its evaluation on request.

The best checkpoint has the highest mean return over the ten updates around it, because the return of a single update
varies by chance. In a curriculum only updates of the last stage count, because returns of easier stages differ. No
checkpoint is called the best if it is not clearly better than the policy was at the start, if it solves nothing, or if
the policy played against itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.jobs import operations
from apps.jobs.changes import change
from apps.jobs.errors import JobRefusal, check_environments
from apps.jobs.models import Checkpoint, Job, JobEvent
from gem import benchmarks
from gem.evaluation.spec import EvaluationSpec
from gem.training.study.noise import WINDOW, Curve

BEFORE, AFTER = 4, 5
"""Updates before and after a checkpoint's own that are averaged, where they exist."""
EPISODES = 100
"""Episodes of an evaluation on an environment that is in no benchmark."""
MIN_UPDATES = 4
"""Updates of the last stage that a best checkpoint needs: fewer do not show how far batches differ by chance."""
ERRORS = 2.0
"""Standard errors by which the best checkpoint has to be above the start."""
FIRST_SEED = 1000
"""The first seed of such an evaluation. Trainings and exams do not use these seeds."""


@dataclass(frozen=True, slots=True)
class Best:
    """The best checkpoint, and the updates that it was chosen by."""

    checkpoint: Checkpoint
    mean: float
    """The mean return over updates `first` to `last`."""
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Choice:
    """The best checkpoint of a training so far, or why none is called the best."""

    best: Best | None
    reason: str = ""
    """A sentence; empty if there is a best one."""


def best_of(job: Job) -> Best | None:
    """The best checkpoint of a training so far, the latest of equal ones; None if none is called the best."""
    return choose(job).best


def choose(job: Job) -> Choice:
    """The best checkpoint of a training so far, or why there is none."""
    checkpoints = list(job.checkpoints.select_related("agent"))
    if not checkpoints:
        return Choice(None, "There is no checkpoint to evaluate yet.")
    if job.spec.get("self_play"):
        return Choice(
            None,
            "No checkpoint is called the best, because with self-play the return depends on opponents that get better "
            "too. Evaluate the newest checkpoint against an opponent of your choice, on the checkpoint's page.",
        )
    rows = _rows_of_last_stage(job)
    returns = {update: value for update, value, _ in rows}
    smoothed = [_smoothed(checkpoint, returns) for checkpoint in checkpoints]
    candidates = [candidate for candidate in smoothed if candidate is not None]
    best = max(candidates, key=lambda candidate: (candidate.mean, candidate.checkpoint.update), default=None)
    if best is None or len(rows) < MIN_UPDATES:
        return Choice(
            None,
            f"No checkpoint is called the best yet: {len(rows)} update{'' if len(rows) == 1 else 's'} cannot show "
            f"whether the policy got better than at the start. At least {MIN_UPDATES} are needed.",
        )
    curve = Curve(window=min(WINDOW, len(rows) // 2))
    for value in returns.values():
        curve.add(value)
    if best.mean <= curve.start + ERRORS * curve.error_of(best.last - best.first + 1):
        return Choice(
            None,
            f"No checkpoint is called the best, because none is clearly better than the start: the mean return was "
            f"{curve.start:.3g} over the first updates and at most {best.mean:.3g} around a checkpoint.",
        )
    successes = [value for update, _, value in rows if best.first <= update <= best.last and value is not None]
    if successes and not any(successes):
        return Choice(
            None, "No checkpoint is called the best, because the one with the highest return solved no episode."
        )
    return Choice(best)


def benchmark_of(env_id: str) -> str:
    """The name of the first benchmark that an environment belongs to; empty if it is in none.

    Benchmarks on the rows of a dataset are left out, because the training may have learned from these rows.
    """
    for name in benchmarks.names():
        if any(entry.env_id == env_id and not entry.is_fixed for entry in benchmarks.load(name).entries):
            return name
    return ""


def evaluate(job: Job) -> Job:
    """Submit the evaluation of the best checkpoint. Further calls for the same checkpoint return the same job.

    Raises:
        JobRefusal: if no checkpoint is called the best (see `choose`), the environment is gone, or the owner may not
            have another job.
    """
    choice = choose(job)
    best = choice.best
    if best is None:
        raise JobRefusal(choice.reason)
    check_environments([job.spec["env_id"]], "evaluation")
    agent, benchmark = best.checkpoint.agent, benchmark_of(job.spec["env_id"])
    episodes = {"benchmark": benchmark} if benchmark else {
        "env_ids": [job.spec["env_id"]], "episodes_per_env": EPISODES, "seed": FIRST_SEED
    }  # fmt: skip
    return operations.submit(
        job.owner,
        EvaluationSpec.model_validate({"agent": agent.slug, **episodes}),
        name=f"Best of {job.title}: update {best.checkpoint.update}"[:120],
        idempotency_key=f"best:{agent.slug}",
        checkpoint=best.checkpoint,
        visibility=job.visibility,
    )


def evaluate_if_requested(job_id: str) -> None:
    """Submit the evaluation of the best checkpoint if the training asks for one.

    Call it in the transaction that ends the training, so that both happen or neither.
    """
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


def _rows_of_last_stage(job: Job) -> list[tuple[int, float, float | None]]:
    """Update, return and share solved of the updates of the last stage that was reached, in order."""
    points = job.points.order_by("update")
    rows = list(points.values_list("update", "data__return", "data__success", "data__stage"))
    last_stage = max((stage or 0 for *_, stage in rows), default=0)
    return [
        (update, value, success)
        for update, value, success, stage in rows
        if (stage or 0) == last_stage and value is not None
    ]


def _smoothed(checkpoint: Checkpoint, returns: dict[int, float]) -> Best | None:
    around = range(checkpoint.update - BEFORE, checkpoint.update + AFTER + 1)
    updates = [update for update in around if update in returns]
    if not updates:
        return None
    mean = sum(returns[update] for update in updates) / len(updates)
    return Best(checkpoint, mean, updates[0], updates[-1])
