"""Runs of studies, which training workers make when no training waits: one run at a time, in a process of its own.

The process is `python -m gem.studies.work`. It does not use the database: this worker reads its folder, renews the
lease, and stops it when the study was paused or cancelled, or when a training waits. The process saves a checkpoint
then, and whoever claims the run next goes on from there.
"""

from __future__ import annotations

import logging
import shutil
import sys
import threading
from pathlib import Path
from time import monotonic

from django.conf import settings

from apps.accounts.models import CpuUse
from apps.failpoints import failpoint
from apps.faults import infrastructure_fault
from apps.leases import Heartbeat, LeaseLost
from apps.studies import claims, recording
from apps.studies.claims import RunClaim
from gem.errors import InvalidArgument, UsageError
from gem.processes import ending_in_words
from gem.studies import work
from gem.training.__main__ import EXIT_INTERRUPTED
from gem.training.results import condensed
from gem.training.run_folder import RunFolder
from workers import training_process
from workers.evaluate import stopping
from workers.playing.cpu import CpuMeter
from workers.playing.lease import AttemptFailed, GivesWay, Stopping

logger = logging.getLogger(__name__)

TICK_SECONDS = 0.5
PROGRESS_SECONDS = 3.0
"""Time between two notes of how far a run is."""
LOOK_SECONDS = 2.0
"""Time between two looks whether a training waits."""
KEPT_STATE = ("trainer.safetensors", "trainer.json")
"""What a training needs to go on, and a kept policy does not."""


def make_next() -> bool:
    """Make the run that is next, unless a training has to be served before it ends. Returns whether there was one."""
    recording.fail_worn()
    claim = claims.claim()
    if claim is None:
        return False
    failpoint("study-claimed")
    began = monotonic()
    try:
        with (
            Heartbeat(claim.renew, claim.holds, name=f"run {claim.number} of study {claim.study_id}") as heartbeat,
            CpuMeter(claim.owner_id, CpuUse.Use.TRAININGS) as meter,
        ):
            _Making(claim, heartbeat, meter).make()
    except LeaseLost as lost:
        logger.info("%s", lost)
        recording.remove_what_was_deleted(claim)
    except Stopping:  # the worker ends, or a training waits
        claims.give_back(claim)
    except AttemptFailed as failure:
        logger.warning("%s", failure)
        claims.try_again(claim)
    except Exception as error:
        if infrastructure_fault(error) is None:
            logger.exception("run %s of study %s cannot be made", claim.number, claim.study_id)
            claims.try_again(claim)
        else:
            claims.postpone(claim)
        raise
    finally:
        claims.note_time(claim, monotonic() - began)
    return True


class _Making:
    """A run while it is made."""

    def __init__(self, claim: RunClaim, heartbeat: Heartbeat, meter: CpuMeter) -> None:
        self.claim, self.heartbeat, self.meter = claim, heartbeat, meter
        self.folder = recording.folder_of_run(claim)
        self._began = monotonic()
        self._noted = self._looked = -1e9
        self._update = -1

    def make(self) -> None:
        """Make the run, from where an earlier worker left it.

        Raises:
            LeaseLost: the study was paused or cancelled, or somebody else has the run.
            Stopping: this worker ends, or a training waits. The run has saved a checkpoint.
            AttemptFailed: the process was killed; the run will be tried again.
        """
        try:
            plan = self.claim.plan  # read here, while the lease is renewed
        except InvalidArgument as error:
            recording.record_failure(self.claim, f"This version of gemweb does not take the plan: {error}")
            return
        work.prepare(self.folder, plan.model_dump(mode="json"), self.claim.run)
        self._wait_for_folder()
        command = [sys.executable, "-m", "gem.studies.work", str(self.folder), "--with-parent"]
        process = training_process.start(command, self.folder / "log.txt")
        try:
            while process.poll() is None:
                self._check()
                self._note_progress()
                self.meter.tick()
                threading.Event().wait(TICK_SECONDS)
        finally:
            training_process.end(process)
        self._handle_exit(process.returncode)

    def _check(self) -> None:
        if self.heartbeat.lost.is_set():
            raise LeaseLost(f"run {self.claim.number} of study {self.claim.study_id} is no longer ours")
        if stopping():
            raise Stopping
        if monotonic() - self._looked >= LOOK_SECONDS:
            self._looked = monotonic()
            is_slice_over = monotonic() - self._began >= settings.TRAINING_SLICE_SECONDS
            if claims.gives_way(self.claim, is_slice_over=is_slice_over):
                raise GivesWay

    def _wait_for_folder(self) -> None:
        """Wait until the process of an earlier worker, which died, has ended."""
        until = monotonic() + training_process.SAVE_SECONDS
        while True:
            self._check()
            try:
                with work.lock(self.folder):
                    return
            except UsageError:
                if monotonic() > until:
                    raise
            threading.Event().wait(TICK_SECONDS)

    def _note_progress(self) -> None:
        if monotonic() - self._noted < PROGRESS_SECONDS:
            return
        self._noted = monotonic()
        rows = RunFolder(self.folder / work.TRAINING).metrics()
        if not rows or rows[-1]["update"] == self._update:
            return
        self._update = int(rows[-1]["update"])
        spec = RunFolder(self.folder / work.TRAINING).spec()
        curve = condensed([float(row["success"]) for row in rows])
        recording.record_progress(self.claim, self._update, spec.updates if spec else self._update, curve)

    def _handle_exit(self, code: int) -> None:
        if code == 0:
            recording.record_result(self.claim, work.read_result(self.folder), self._kept_policy())
            failpoint("study-recorded")
            self._tidy()
        elif code == EXIT_INTERRUPTED:
            raise Stopping
        elif code in {work.EXIT_FAILED, 2}:
            recording.record_failure(self.claim, self._reason())
        else:
            last = training_process.last_line(self.folder / "log.txt")
            raise AttemptFailed(f"The process of a run {ending_in_words(code)}. The last line of its log: {last}")

    def _reason(self) -> str:
        try:
            return (self.folder / work.REASON).read_text("utf-8").strip()
        except OSError:
            return training_process.last_line(self.folder / "log.txt")

    def _kept_policy(self) -> Path | None:
        """The folder of the policy at the end, without what a training needs to go on; None if none is kept."""
        if not self.claim.keeps_policy:
            return None
        policy = self.folder / "policy"
        if not policy.is_dir():
            checkpoints = sorted((self.folder / work.TRAINING / "checkpoints").iterdir())
            draft = self.folder / ".policy.new"
            shutil.rmtree(draft, ignore_errors=True)
            shutil.copytree(checkpoints[-1], draft, ignore=shutil.ignore_patterns(*KEPT_STATE))
            draft.rename(policy)
        return policy

    def _tidy(self) -> None:
        """Delete what is no longer needed: all but the policy, if that is kept."""
        if self.claim.keeps_policy:
            shutil.rmtree(self.folder / work.TRAINING, ignore_errors=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
