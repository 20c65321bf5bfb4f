"""Small trainings for the tests of workers, and what one must look like at its end."""

from __future__ import annotations

import functools
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from apps.episodes.models import Episode, Turn
from apps.jobs.models import Job, Sample
from apps.trainings.records import folder_of
from gem.training.spec import TrainingSpec, read_spec
from tests import warm
from tests.services import ROOT
from tests.workers.processes import Worker
from tests.workers.records import fresh

Trainer = Callable[..., AbstractContextManager[Worker]]
UPDATES = 12


def small(**more: Any) -> TrainingSpec:
    """A training of seconds."""
    asked = {
        "env_id": "game:GuessTheNumber-v0-easy",
        "episodes": 16,
        "updates": UPDATES,
        "sample_every": 2,
        "sample_episodes": 4,
        "checkpoint_seconds": 0.0,
        "keep_checkpoints": 1000,
        "max_length": 256,
    }
    return read_spec({**asked, **more})


def assert_whole(job: Job, updates: int = UPDATES, first: int = 1) -> None:
    """Every update is there once, with its samples and the last checkpoint."""
    job = fresh(job)
    assert job.state == Job.State.DONE, job.reason
    assert list(job.points.values_list("update", flat=True)) == list(range(first, updates + 1))
    assert [row["update"] for row in metrics(job)] == list(range(first, updates + 1))
    assert job.checkpoints.last() is not None
    assert job.checkpoints.latest("update").update == updates
    assert job.agent.weights.folder.endswith(f"{updates:06d}")
    assert list(job.events.values_list("seq", flat=True)) == list(range(1, job.seq + 1))
    for update in {update for update in range(first, updates + 1) if update % 2 == 0 or update == first == 1}:
        kept = Sample.objects.filter(job=job, update=update, exam=False)
        assert kept.count() == 4, f"update {update}"
    for place in job.checkpoints.values_list("update", flat=True):
        seeds = Sample.objects.filter(job=job, update=place, exam=True).values_list("episode__seed", flat=True)
        assert sorted(seeds) == [0, 1, 2, 3, 4]
    episodes = Episode.objects.filter(batch=job.batch_id)
    assert sorted(episodes.values_list("slot", flat=True)) == sorted(set(episodes.values_list("slot", flat=True)))
    assert Turn.objects.filter(episode__in=episodes).count() == sum(episodes.values_list("turn_count", flat=True))


def metrics(job: Job) -> list[dict[str, Any]]:
    """The points in the training's folder."""
    return [json.loads(line) for line in (folder_of(job.pk) / "metrics.jsonl").read_text("utf-8").splitlines()]


def weights(job: Job) -> bytes:
    """Of the last checkpoint."""
    return (fresh(job).agent.weights.path / "model.safetensors").read_bytes()


@functools.cache
def undisturbed_weights() -> bytes:
    """The last weights of a small training that nothing happened to, which needs neither a worker nor a database."""
    with tempfile.TemporaryDirectory(prefix="gemweb-undisturbed-") as folder:
        spec = Path(folder) / "spec.json"
        spec.write_text(small().model_dump_json())
        command = [sys.executable, "-m", "gem.training", "--spec", str(spec), "--folder", f"{folder}/run", "--quiet"]
        done = warm.run("training", command, cwd=ROOT)
        assert done.returncode == 0, done.stderr
        return (Path(folder) / "run" / "checkpoints" / f"{UPDATES:06d}" / "model.safetensors").read_bytes()
