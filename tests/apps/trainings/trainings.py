"""Trainings as workers leave them, written without any worker."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from apps.jobs import leases
from apps.jobs.leases import Claim
from apps.jobs.models import Job
from apps.trainings import records
from apps.trainings.records import KeptEpisode
from gem.agents import make_agent
from gem.rollout import EpisodeRequest, rollout
from gem.training.built_in_policies import policy_location
from gem.training.run_folder import update_name
from gem.training.spec import TrainingSpec, read_spec

ENV_ID = "game:GuessTheNumber-v0-easy"
NANO_BASE = Path(policy_location("nano-base"))


def small(**more: Any) -> TrainingSpec:
    """A training that no worker has to run."""
    return read_spec({"env_id": ENV_ID, "updates": 10, "episodes": 16, **more})


def claimed(job: Job) -> Claim:
    """What a worker that trains it holds."""
    claim = leases.claim(Job.Kind.TRAINING)
    assert claim is not None
    assert claim.job_id == job.pk
    return claim


def row(update: int, success: float = 0.5, **more: float) -> dict[str, Any]:
    """A point as the engine writes it."""
    told = {"return": 0.7, "invalid": 0.01, "entropy": 0.4, "turns_per_second": 900.0, "seconds_learner": 0.6}
    return {
        "update": update,
        "seconds": 1.5 * update,
        "turns": 60 * update,
        "episodes": 16 * update,
        "success": success,
        **told,
        **more,
    }


def trained(job: Job, updates: int = 4) -> Claim:
    """Some updates, kept episodes and a checkpoint, written as a worker does."""
    claim = claimed(job)
    records.record_points(claim, [row(update, update / 10) for update in range(1, updates + 1)])
    episodes = list(
        rollout(make_agent("random"), [EpisodeRequest(i, ENV_ID, 5 + i // 2) for i in range(4)], num_envs=4)
    )
    records.record_samples(claim, [KeptEpisode(updates, one.identity.seed - 5, one) for one in episodes])
    exams = list(rollout(make_agent("expert"), [EpisodeRequest(i, ENV_ID, i) for i in range(3)], num_envs=3))
    records.record_samples(claim, [KeptEpisode(updates, one.identity.seed, one, exam=True) for one in exams])
    add_checkpoint(claim, updates)
    return claim


def add_checkpoint(claim: Claim, update: int) -> None:
    """The base policy as the checkpoint after an update."""
    place = records.folder_of(claim.job_id) / "checkpoints" / update_name(update)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(NANO_BASE, place)
    card = json.loads((place / "card.json").read_text("utf-8"))
    (place / "card.json").write_text(json.dumps({**card, "update": update, "env_id": ENV_ID}), "utf-8")
    records.record_checkpoint(claim, place)
