"""Files of other programs: taken here, and read by a worker in a confined process that knows our readers alone."""

from __future__ import annotations

import json
import logging
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from time import time
from typing import IO

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from pydantic import ValidationError

from apps.accounts import quotas
from apps.accounts.models import User
from apps.agents.uploads import COPIES, MEGABYTE, UploadRefused, bytes_in
from apps.episodes.text import storable
from apps.names import visible
from apps.queue import enqueue
from apps.reported import limits, recording
from apps.reported.models import MAX_KEY, MAX_NAME, ReportedEvaluation, folder
from apps.reported.recording import ReportRefused
from gem.errors import InvalidData, SandboxUnavailable
from gem.sandbox import policy_confinement
from gem.sandbox.policy_confinement import PolicyLimits
from gem.transcripts import Header, Transcript

logger = logging.getLogger(__name__)

TASK = "verify.reported"
CONVERT = "gem.transcripts.convert"
LIMITS = PolicyLimits(memory_bytes=2 * 2**30, cpu_seconds=300, threads=16)
AT_A_TIME = 50
"""Episodes of one transaction."""
ATTEMPTS = 3
LEASE = timedelta(minutes=10)
"""After so long without an episode another worker reads a file again; what was stored stays stored once."""
END_SECONDS = 10.0
"""How long the confined process may take to end after it has written everything."""
State = ReportedEvaluation.State


def check_admission(owner: User, own_bytes: int, bytes_under_way: int = 0) -> None:
    """Check that a person may send a file now, by what is known before it is sent.

    Raises:
        UploadRefused: if they have reported too much, or there is no room.
    """
    problem = quotas.refusal(owner, limits.REPORTED_EVALUATIONS)
    if problem := problem or quotas.refusal(owner, quotas.STORAGE, own_bytes / MEGABYTE):
        raise UploadRefused(422, problem)
    needed_bytes = own_bytes + bytes_under_way
    folder().mkdir(parents=True, exist_ok=True)
    is_full = bytes_in(folder()) + needed_bytes > settings.UPLOAD_FOLDER_MEGABYTES * MEGABYTE
    places = (Path(tempfile.gettempdir()), folder())
    if is_full or any(shutil.disk_usage(place).free < COPIES * needed_bytes for place in places):
        raise UploadRefused(507, "There is no room for this file. Nothing was stored. Ask an administrator.")


def accept(
    owner: User, name: str, file: IO[bytes] | UploadedFile[bytes], *, visibility: str = ""
) -> ReportedEvaluation:
    """Store a file until a worker has read it. Nothing in it is read here.

    Raises:
        ReportRefused: if the quota is used up. Nothing is stored then.
    """
    row = recording.begin(
        owner, name, source=ReportedEvaluation.Source.UNKNOWN, state=State.RECEIVING, visibility=visibility
    )
    folder().mkdir(parents=True, exist_ok=True)
    try:
        file.seek(0)
        with row.path.open("xb") as out:
            shutil.copyfileobj(file, out)
        with transaction.atomic():
            ReportedEvaluation.objects.filter(pk=row.pk).update(state=State.WAITING)
            enqueue(TASK, row.pk)
    except BaseException:
        recording.delete(row)
        raise
    row.state = State.WAITING
    return row


def wake_workers() -> None:
    """Send the message of a file again that waits, or whose worker has died; delete files without a row."""
    overdue = ReportedEvaluation.objects.filter(state=State.READING, begun__lt=Now() - LEASE)
    overdue.update(state=State.WAITING)
    waiting = ReportedEvaluation.objects.filter(state=State.WAITING).values_list("pk", flat=True)
    for key in waiting[:AT_A_TIME]:
        enqueue(TASK, key)
    for path in folder().glob("*.sent"):
        with suppress(FileNotFoundError):
            is_old = time() - path.stat().st_mtime > LEASE.total_seconds()
            if is_old and not ReportedEvaluation.objects.filter(pk=path.stem).exists():
                path.unlink(missing_ok=True)


def read(evaluation_id: str) -> None:
    """Read the file of an evaluation, if no other worker does."""
    claimed = ReportedEvaluation.objects.filter(pk=evaluation_id, state=State.WAITING)
    if not claimed.update(state=State.READING, attempt=F("attempt") + 1, begun=Now()):
        return
    row = ReportedEvaluation.objects.select_related("owner").get(pk=evaluation_id)
    try:
        if row.attempt > ATTEMPTS:
            raise InvalidData("The worker died several times while reading it.")
        _store(row)
    except (InvalidData, ReportRefused, SandboxUnavailable) as error:
        sentence = str(error).replace(row.path.name, row.name)  # its readers know it by the name that it came with
        is_ours = recording.end(row, State.REFUSED, sentence)
    else:
        is_ours = recording.end(row, State.DONE)
    if is_ours:
        row.path.unlink(missing_ok=True)


def _store(row: ReportedEvaluation) -> None:
    """Store the header and the episodes of a file."""
    part: list[Transcript] = []
    environments: dict[str, None] = {}
    for found in _converted(row):
        if isinstance(found, Header):
            ReportedEvaluation.objects.filter(pk=row.pk).update(
                source=found.source,
                key=storable(found.key)[:MAX_KEY],
                model=row.model or _name(found.model),
                name=_name(found.name) or row.name,
            )
            recording.describe(row, metrics=found.metrics, config=found.config)
            continue
        part.append(found)
        environments[found.env_id] = None
        if len(part) >= AT_A_TIME:
            recording.add(row, part)
            ReportedEvaluation.objects.filter(pk=row.pk).update(begun=Now())
            part = []
    recording.add(row, part)
    known = [_name(name) for name in environments if name][:20]
    ReportedEvaluation.objects.filter(pk=row.pk).update(environments=known)


def _name(text: str) -> str:
    """What a file calls something, as it is stored."""
    return visible(storable(text)).strip()[:MAX_NAME]


def _converted(row: ReportedEvaluation) -> Iterator[Header | Transcript]:
    """What the confined process writes.

    Raises:
        InvalidData: if the file is none that is known, or the process died.
        SandboxUnavailable: if this machine cannot confine it.
    """
    start = policy_confinement.command(CONVERT, [str(row.path.resolve())], [row.path], LIMITS)
    with subprocess.Popen(  # noqa: S603 (our own program)
        start.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=start.env, cwd="/"
    ) as process:
        assert process.stdout is not None
        try:
            yield from _lines(process.stdout)
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
        finally:
            process.kill()
    if process.returncode != 0:  # it may have written a part of the file only
        raise InvalidData("The process that read the file ended. The file may need more memory or time than there is.")


def _lines(output: IO[bytes]) -> Iterator[Header | Transcript]:
    first = True
    for line in output:
        try:
            if line.startswith(b'{"refused"'):
                raise InvalidData(str(json.loads(line)["refused"]))
            yield Header.model_validate_json(line) if first else Transcript.model_validate_json(line)
        except ValidationError as error:
            raise InvalidData("The file has an episode that is too large or not valid.") from error
        first = False
    if first:
        raise InvalidData("The file could not be read; it may need more memory than there is.")
