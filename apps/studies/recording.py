"""The writes of a worker that makes a run: its progress, its result, or why it failed. Each write is fenced."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Greatest
from django.utils import timezone

from apps.agents.models import Agent, Weights
from apps.episodes.text import storable
from apps.leases import LeaseLost
from apps.live import publish
from apps.studies.claims import GAVE_UP, RunClaim, worn
from apps.studies.limits import folder_of
from apps.studies.models import Study, StudyRun
from apps.studies.operations import TOPIC, settle
from apps.studies.planning import plan_runs
from gem.studies.results import RunResult
from gem.training.checkpoints.archive import sha256
from gem.training.checkpoints.folder_check import WEIGHTS, check_folder
from gem.training.checkpoints.weights_file import parameters_in

COLOURS = 8
"""The number of colours (`data-c`) on pages and charts."""


@transaction.atomic
def record_progress(claim: RunClaim, update: int, updates: int, curve: Sequence[float]) -> None:
    """Note how far the training of a run is. Farther than ever before, its failed attempts so far no longer count.

    Raises:
        LeaseLost: if this worker no longer owns the run. Nothing is written then.
    """
    study = _lock(claim)
    rows = StudyRun.objects.filter(pk=claim.pk)
    rows.filter(update__lt=update).update(attempt=0)
    rows.update(update=Greatest("update", update), updates=updates, curve=list(curve))
    study.seq += 1
    study.save(update_fields=["seq"])
    publish(f"{TOPIC}:{study.pk}", study.seq)


def record_result(claim: RunClaim, result: RunResult, policy: Path | None) -> None:
    """Store the result of a run, make an agent of its policy, and add the runs that can be planned now.

    Args:
        policy: the folder of the policy that is kept; None if none is.

    Raises:
        LeaseLost: if this worker no longer owns the run. Nothing is written then.
        InvalidArgument: if the folder does not hold a policy.
    """
    weights = None if policy is None else _weights(policy)
    with transaction.atomic():
        study = _lock(claim)
        row = StudyRun.objects.get(pk=claim.pk)
        row.state, row.ended, row.curve = StudyRun.State.DONE, timezone.now(), list(result.curve)
        row.result_data, row.cpu_seconds = result.model_dump(mode="json"), result.cpu_seconds
        row.attempt = 0
        if weights is not None:
            row.agent = _agent(study, claim, weights)
        row.let_go()
        row.save()
        plan_runs(study, claim.plan)
        settle(study)


def record_failure(claim: RunClaim, sentence: str) -> None:
    """Note that a run has failed. After `MOST_FAILURES`, its study has; otherwise the others are made.

    Raises:
        LeaseLost: if this worker no longer owns the run. Nothing is written then.
    """
    with transaction.atomic():
        study = _lock(claim)
        _fail(study, StudyRun.objects.get(pk=claim.pk), sentence)


def fail_worn() -> None:
    """Fail the runs whose workers have died each time."""
    for row in worn():
        with transaction.atomic():
            study = Study.objects.select_for_update(no_key=True).get(pk=row.study_id)
            fresh = StudyRun.objects.filter(pk=row.pk).worn().to_make().first()
            if fresh is not None:
                _fail(study, fresh, GAVE_UP)


def _fail(study: Study, row: StudyRun, sentence: str) -> None:
    row.state, row.sentence, row.ended = StudyRun.State.FAILED, storable(sentence)[:2000], timezone.now()
    row.let_go()
    row.save()
    settle(study)


def _lock(claim: RunClaim) -> Study:
    """Lock the study of a run that this worker owns.

    Raises:
        LeaseLost: if it does not.
    """
    study = Study.objects.select_for_update(no_key=True).filter(pk=claim.study_id).first()
    if study is None or not claim.holds():
        raise LeaseLost(f"run {claim.run.file} of study {claim.study_id} is no longer ours")
    return study


def _weights(policy: Path) -> dict[str, Any]:
    """What the site keeps about a policy, which takes a moment to read."""
    card = check_folder(policy).model_dump(mode="json")
    return {
        "folder": str(policy.relative_to(settings.RUNS_DIR)),
        "size": (policy / WEIGHTS).stat().st_size,
        "sha256": sha256(policy / WEIGHTS),
        "card": {**card, "parameters": parameters_in(policy / WEIGHTS)},
    }


def _agent(study: Study, claim: RunClaim, weights: dict[str, Any]) -> Agent:
    title = claim.plan.variants[claim.run.variant].title
    agent, _ = Agent.objects.update_or_create(
        slug=f"study-{study.pk}-{claim.number}",
        defaults={
            "name": f"{claim.run.environment}, {title}, seed {claim.run.seed}"[:120],
            "kind": Agent.Kind.CHECKPOINT,
            "about": f"A run of the study {study.title}.",
            "owner_id": study.owner_id,
            "colour": list(claim.plan.variants).index(claim.run.variant) % COLOURS + 1,
            "listed": False,
            "visibility": study.visibility,
            "parameters": weights["card"].get("parameters") or None,
        },
    )
    Weights.objects.update_or_create(agent=agent, defaults=weights)
    return agent


def remove_what_was_deleted(claim: RunClaim) -> None:
    """Delete the files of a study that was deleted while a process of this worker still saved a checkpoint there."""
    if not Study.objects.filter(pk=claim.study_id).exists():
        shutil.rmtree(folder_of(claim.study_id), ignore_errors=True)


def folder_of_run(claim: RunClaim) -> Path:
    """The folder in which a run is made."""
    return folder_of(claim.study_id) / f"{claim.number:05d}"
