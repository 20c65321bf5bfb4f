"""Trainings: claim one, run it in a process of its own, and write down what it leaves in its folder.

The process is `python -m gem.training`, the same command as in a terminal. It knows no database: this worker reads
its folder, renews the lease, and tells it to stop when the training was paused, cancelled or taken back. When the
worker dies, so does the process, with a checkpoint; whoever claims the training next goes on from there.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

from celery import current_app
from django.conf import settings

from apps.failpoints import failpoint
from apps.jobs import leases
from apps.jobs.leases import Claim
from apps.jobs.models import Job
from apps.trainings import operations, permissions, records
from apps.trainings.records import KeptEpisode, folder_of
from gem.errors import UsageError
from gem.records import episode_files
from gem.training.run_folder import FAILED_BATCH, RunFolder, update_name, write_atomically
from workers.evaluate import stopping
from workers.lease import Lease, Stopping

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.5
SAVE_SECONDS = 60.0
"""How long a training may take to write its last checkpoint before it is killed."""
FINISHED, FAILED, REFUSED, INTERRUPTED = 0, 1, 2, 75
"""Exit codes of `python -m gem.training`."""


@current_app.task(name="train.run")
def run(job_id: str) -> None:  # noqa: ARG001 (the claim decides, not the message)
    """Train until nothing is left to claim; `job_id` only says what woke this worker."""
    while not stopping() and (claim := leases.claim(Job.Kind.TRAINING)) is not None:
        failpoint("claimed")
        with Lease(claim, stopping) as lease:
            train(claim, lease)


def train(claim: Claim, lease: Lease) -> None:
    """Run one training to its end, or until it is to stop.

    Raises:
        LeaseLost, Stopping: as `Lease.check`; the training wrote a checkpoint.
    """
    folder = folder_of(claim.job_id)
    (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
    wait_alone(folder, lease)
    try:
        prepare(claim, folder)
    except operations.Unfit as refusal:  # its first weights were deleted meanwhile
        records.fail(claim, str(refusal))
        return
    process = start(folder)
    reader = Reader(claim, folder)
    try:
        while process.poll() is None:
            lease.check()
            reader.read()
            threading.Event().wait(TICK_SECONDS)
    except Stopping:
        end(process)
        reader.read()  # what it wrote while it ended is still ours
        raise
    finally:
        end(process)
    reader.read()
    _ended(claim, process.returncode, folder)


def wait_alone(folder: Path, lease: Lease) -> None:
    """Wait until the process of an earlier attempt, which has lost its worker, has written its checkpoint.

    Raises:
        LeaseLost, Stopping: as `Lease.check`.
        UsageError: if it does not end.
    """
    until = monotonic() + SAVE_SECONDS
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
    """Make the folder: the request as it is now, and for a fork the checkpoint that it goes on from."""
    for name in ("pause", "cancel"):
        (folder / name).unlink(missing_ok=True)
    job = Job.objects.select_related("owner").get(pk=claim.job_id)
    request = dict(claim.request)
    if request["model"].startswith(permissions.AGENT):
        request["model"] = str(operations.weights_of(job.owner, request["model"]).path)
    write_atomically(folder / "spec.json", json.dumps(request, indent=2) + "\n")
    if job.parent_id and not any((folder / "checkpoints").iterdir()):
        name = update_name(job.parent_update)
        shutil.copytree(folder_of(job.parent_id) / "checkpoints" / name, folder / "checkpoints" / f".{name}.new")
        (folder / "checkpoints" / f".{name}.new").rename(folder / "checkpoints" / name)


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Begin or go on; what it says is kept in `log.txt`."""
    command = [sys.executable, "-m", "gem.training", "--folder", str(folder), "--log", "--with-parent"]
    kept = {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith(PREFIXES)}
    with (folder / "log.txt").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=kept, cwd=settings.BASE_DIR
        )


PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
PREFIXES = ("GEM_", "HF_", "CUDA_", "OMP_", "NVIDIA_")
"""What a training sees of the worker's environment: no addresses and no secrets of the site."""


def end(process: subprocess.Popen[bytes]) -> None:
    """Have it write a checkpoint and end."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(SAVE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Reader:
    """Reads what a training writes, each thing once."""

    def __init__(self, claim: Claim, folder: Path) -> None:
        self._claim, self._folder = claim, folder
        self._began = monotonic()
        self._points: dict[int, float] = {}
        """Updates that were written by this worker, and their seconds: one made again has others."""
        self._samples: set[str] = set()
        self._exams: set[str] = set()
        self._checkpoints: set[str] = set()

    def read(self) -> None:
        """Write down what is new.

        Raises:
            LeaseLost: if the training is no longer this worker's.
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
                continue  # a fork's first one is its parent's
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
            except ValueError:  # it is being written
                return
            if self._points.get(row["update"]) != row["seconds"]:
                yield row

    def _new(self, folder: Path, suffix: str, seen: set[str]) -> list[Path]:
        found = [path for path in sorted(folder.glob(f"*{suffix}")) if path.stem.isdecimal() and path.name not in seen]
        seen.update(path.name for path in found)
        return found


def samples(path: Path, *, exam: bool = False) -> list[KeptEpisode]:
    """The episodes of a file that a training wrote, with the groups that stand beside them."""
    beside = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    stored = episode_files.read(path)
    return [
        KeptEpisode(data["update"], data["group"], one.record, exam) for data, one in zip(beside, stored, strict=True)
    ]


def _ended(claim: Claim, code: int, folder: Path) -> None:
    """What the exit code says.

    Raises:
        RuntimeError: if something killed the process: the training will be tried again.
        Stopping: if somebody stopped it from outside; it goes on elsewhere.
    """
    if code == FINISHED:
        records.finish(claim)
    elif code == INTERRUPTED:
        raise Stopping
    elif code in {FAILED, REFUSED}:
        batch = folder / "episodes" / f"{FAILED_BATCH}.jsonl"
        if code == FAILED and batch.exists():
            records.record_samples(claim, samples(batch))
        records.fail(claim, reason(folder))
    else:
        raise RuntimeError(f"the training's process ended with {code}: {last_line(folder / 'log.txt')}")


def reason(folder: Path) -> str:
    """Why a training says it cannot go on."""
    try:
        state = json.loads((folder / "state.json").read_text("utf-8"))
    except (OSError, ValueError):
        state = {}
    if state.get("state") == "failed" and state.get("reason"):
        return str(state["reason"])
    return last_line(folder / "log.txt").removeprefix("gem.training: ")


def last_line(path: Path) -> str:
    """The last thing said in a log."""
    try:
        lines = path.read_text("utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "it said nothing"
