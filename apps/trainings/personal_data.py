"""The trainings of a person: in the export of the account, and when it is deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import NotYet, PersonalData, as_json, as_line
from apps.jobs.changes import drop_open_shards, end, lock_shards
from apps.jobs.models import Job, JobEvent, Point
from apps.leases import patient_transaction
from apps.trainings.logs import LOG_NAME, log_of
from apps.trainings.records import folder_of
from apps.zips import ExportedFile, content_of
from gem.errors import UsageError
from gem.training.checkpoints.archive import POLICY_FILES
from gem.training.run_folder import RunFolder


def _export(user: User) -> Iterator[ExportedFile]:
    for job in Job.objects.trainings().filter(owner=user).order_by("created"):
        yield ExportedFile(f"trainings/{job.pk}/spec.json", [as_json(job.spec)])
        points = Point.objects.filter(job=job).order_by("update").values_list("data", flat=True)
        yield ExportedFile(f"trainings/{job.pk}/metrics.jsonl", map(as_line, points))
        yield ExportedFile(f"trainings/{job.pk}/{LOG_NAME}", content_of(log_of(job.pk)), compressed=False)
        for checkpoint in job.checkpoints.select_related("agent__weights"):
            for name in POLICY_FILES:
                if (path := checkpoint.agent.weights.path / name).is_file():
                    place = f"trainings/{job.pk}/checkpoints/{checkpoint.update}/{name}"
                    yield ExportedFile(place, content_of(path), compressed=False)


def _erase(user: User) -> Iterator[None]:
    """Delete the folders of all trainings. The app of jobs deletes their rows.

    Raises:
        NotYet: if the process of one still writes its last checkpoint.
    """
    for job in Job.objects.trainings().filter(owner=user):
        for fork in Job.objects.unfinished().filter(parent=job, checkpoints=None).exclude(owner=user):
            with patient_transaction():
                _end_fork(fork)
        folder = folder_of(job.pk)
        if folder.is_dir():
            try:
                with RunFolder(folder).lock():
                    shutil.rmtree(folder)
            except UsageError as error:
                raise NotYet(str(error)) from error
            yield


def _end_fork(fork: Job) -> None:
    """End somebody else's training that was to continue from a checkpoint that is deleted now."""
    reason = "The checkpoint from which this training was to continue was deleted with its owner's account."
    lock_shards(fork.pk)
    if fork.kind == Job.Kind.TRAINING and end(fork.pk, Job.State.FAILED, reason, reason, JobEvent.Tone.LOSS):
        drop_open_shards(fork.pk)


PART = PersonalData(
    export=_export,
    erase=_erase,
    goes=("the files of your trainings: checkpoints, metrics and logs",),
)
