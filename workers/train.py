"""Trainings: claim one, run it in a process of its own, and record what it writes to its folder. When none waits, the
next run of a study is made (`workers.studies`).

The process is `python -m gem.training`, the same command as in a terminal. It does not use the database: this worker
reads its folder, renews the lease, and stops it when the training was paused, cancelled or taken back. When the worker
dies, the process saves a checkpoint and ends, and the worker that claims the training next continues from there.
"""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

from celery import current_app
from django.conf import settings

from apps.accounts.models import CpuUse
from apps.failpoints import failpoint
from apps.jobs import leases
from apps.jobs.leases import Claim
from apps.jobs.models import Job
from apps.trainings import operations, permissions, records
from apps.trainings.records import KeptEpisode, folder_of
from gem.errors import UsageError
from gem.processes import ending_in_words
from gem.records import episode_files
from gem.training.run_folder import FAILED_BATCH, RunFolder, update_name, write_atomically
from workers import studies, training_process
from workers.evaluate import stopping
from workers.playing.cpu import CpuMeter
from workers.playing.lease import AttemptFailed, GivesWay, Lease, Stopping

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.5
FINISHED, FAILED, REFUSED, STOPPED, INTERRUPTED = 0, 1, 2, 4, 75
"""Exit codes of `python -m gem.training`."""


@current_app.task(name="train.run")
def run(job_id: str) -> None:  # noqa: ARG001 (the claim decides, not the message)
    """Run trainings until none is left to claim, and runs of studies as long as no training waits.

    `job_id` is only the job or study that woke this worker.
    """
    while not stopping():
        claim = leases.claim(Job.Kind.TRAINING)
        if claim is None:
            if not studies.make_next():
                return
            continue
        failpoint("claimed")
        lease = Lease(claim, stopping, slice_seconds=settings.TRAINING_SLICE_SECONDS)
        with lease, CpuMeter(claim.owner_id, CpuUse.Use.TRAININGS) as meter:
            train(claim, lease, meter)


def train(claim: Claim, lease: Lease, meter: CpuMeter) -> None:
    """Run one training until it ends or must stop.

    Raises:
        LeaseLost, Stopping: see `Lease.check`. The training has saved a checkpoint.
        GivesWay: a training of somebody else is served first; this one has saved a checkpoint and goes on later.
    """
    folder = folder_of(claim.job_id)
    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    wait_for_folder(folder, lease)
    try:
        prepare(claim, folder)
    except operations.Unfit as refusal:  # its initial weights or its checkpoint were deleted in the meantime
        records.fail(claim, str(refusal))
        return
    process = start(folder)
    reader = Reader(claim, folder)
    try:
        while process.poll() is None:
            lease.check()
            reader.read()
            meter.tick()
            if lease.gives_way.is_set():
                raise GivesWay
            threading.Event().wait(TICK_SECONDS)
    except Stopping:
        training_process.end(process)
        reader.read()  # what it wrote while it ended still belongs to this worker
        raise
    finally:
        training_process.end(process)
    reader.read()
    _handle_exit(claim, process.returncode, folder)


def wait_for_folder(folder: Path, lease: Lease) -> None:
    """Wait until the process of an earlier attempt, whose worker died, has saved its checkpoint.

    Raises:
        LeaseLost, Stopping: see `Lease.check`.
        UsageError: the process does not end.
    """
    until = monotonic() + training_process.SAVE_SECONDS
    while True:
        lease.check()
        try:
            with RunFolder(folder).lock():
                return
        except UsageError:
            if monotonic() > until:
                raise
        threading.Event().wait(TICK_SECONDS)


def prepare(claim: Claim, folder: Path) -> None:
    """Prepare the folder: write the current request and, for a fork, copy the checkpoint that it continues from.

    Raises:
        Unfit: if what it begins with was deleted.
    """
    for name in ("pause", "cancel"):
        (folder / name).unlink(missing_ok=True)
    job = Job.objects.select_related("owner").get(pk=claim.job_id)
    request = dict(claim.request)
    if request["model"].startswith(permissions.AGENT):
        request["model"] = str(operations.weights_of(job.owner, request["model"]).path)
    write_atomically(folder / "spec.json", json.dumps(request, indent=2) + "\n")
    has_begun = any((folder / "checkpoints").iterdir())
    if job.parent_update and job.parent_id is None and not has_begun:
        raise operations.Unfit("The checkpoint from which this training was to continue was deleted.")
    if job.parent_id and not has_begun:
        name = update_name(job.parent_update)
        shutil.copytree(folder_of(job.parent_id) / "checkpoints" / name, folder / "checkpoints" / f".{name}.new")
        (folder / "checkpoints" / f".{name}.new").rename(folder / "checkpoints" / name)


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start or continue the training. Its output goes to `log.txt`."""
    command = [sys.executable, "-m", "gem.training", "--folder", str(folder), "--log", "--with-parent"]
    return training_process.start(command, folder / "log.txt")


class Reader:
    """Reads the files that a training writes, each record once."""

    def __init__(self, claim: Claim, folder: Path) -> None:
        self._claim, self._folder = claim, folder
        self._began = monotonic()
        self._points: dict[int, float] = {}
        """Update number to its seconds, for updates that were recorded. A repeated update has other seconds."""
        self._samples: set[str] = set()
        self._exams: set[str] = set()
        self._checkpoints: set[str] = set()

    def read(self) -> None:
        """Record everything new.

        Raises:
            LeaseLost: the training no longer belongs to this worker.
        """
        rows = list(self._new_points())
        if rows:
            records.record_points(self._claim, rows)
            self._points |= {row["update"]: row["seconds"] for row in rows}
            failpoint("points")
        for path in self._new(self._folder / "episodes", ".jsonl", self._samples):
            records.record_samples(self._claim, samples(path))
        for path in self._new(self._folder / "exams", ".jsonl", self._exams):
            records.record_samples(self._claim, samples(path, exam=True))
        for path in self._new(self._folder / "checkpoints", "", self._checkpoints):
            if int(path.name) <= self._claim.begins_after:
                continue  # the first checkpoint of a fork belongs to its parent
            records.record_checkpoint(self._claim, path)
            failpoint("checkpoint")

    def _new_points(self) -> Iterator[dict[str, Any]]:
        try:
            lines = (self._folder / "metrics.jsonl").read_text("utf-8").splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:  # the line is still being written
                return
            if self._points.get(row["update"]) != row["seconds"]:
                yield row

    def _new(self, folder: Path, suffix: str, seen: set[str]) -> list[Path]:
        paths = [path for path in sorted(folder.glob(f"*{suffix}")) if path.stem.isdecimal() and path.name not in seen]
        seen.update(path.name for path in paths)
        return paths


def samples(path: Path, *, exam: bool = False) -> list[KeptEpisode]:
    """The episodes of a file that a training wrote, with their updates and groups."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    stored = episode_files.read(path)
    return [
        KeptEpisode(data["update"], data["group"], episode.record, exam)
        for data, episode in zip(rows, stored, strict=True)
    ]


def _handle_exit(claim: Claim, code: int, folder: Path) -> None:
    """Finish, stop or fail the training according to the exit code of its process.

    Raises:
        AttemptFailed: the process was killed; the training will be tried again.
        Stopping: the process was stopped from outside; the training continues elsewhere.
    """
    if code == FINISHED:
        records.finish(claim)
    elif code == STOPPED:
        records.stop(claim, reason(folder))
    elif code == INTERRUPTED:
        raise Stopping
    elif code in {FAILED, REFUSED}:
        batch = folder / "episodes" / f"{FAILED_BATCH}.jsonl"
        if code == FAILED and batch.exists():
            records.record_samples(claim, samples(batch))
        records.fail(claim, reason(folder))
    else:
        raise AttemptFailed(
            f"The training's process {ending_in_words(code)}. It goes on from its last checkpoint. "
            f"The last line of its log: {training_process.last_line(folder / 'log.txt')}"
        )


def reason(folder: Path) -> str:
    """The reason that a training has written which failed or stopped by itself."""
    try:
        state = json.loads((folder / "state.json").read_text("utf-8"))
    except (OSError, ValueError):
        state = {}
    if state.get("state") in {"failed", "stopped"} and state.get("reason"):
        return str(state["reason"])
    return training_process.last_line(folder / "log.txt").removeprefix("gem.training: ")
