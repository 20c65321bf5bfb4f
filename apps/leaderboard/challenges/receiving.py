"""Taking the episodes of a challenge: what is checked by the headers, and where the file waits for a worker."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from time import time
from typing import IO

from django.conf import settings
from django.core.files.move import file_move_safe
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from apps.accounts import quotas
from apps.accounts.models import User
from apps.agents.uploads import COPIES, MEGABYTE, UploadRefused, bytes_in
from apps.leaderboard.challenges.drawing import ChallengeRefused
from apps.leaderboard.models import Challenge
from apps.leaderboard.models.challenges import folder
from apps.queue import enqueue

TASK = "verify.results"
LEFTOVER_SECONDS = 3600.0
"""Files without a challenge that waits for them are deleted when they are this old."""


def check_admission(owner: User, own_bytes: int, bytes_under_way: int = 0) -> None:
    """Check that a person may send episodes now, by what is known before the file is sent.

    Args:
        own_bytes: the size of the file.
        bytes_under_way: the size of those that are being received from others.

    Raises:
        UploadRefused: if they have no open challenge, or there is no room.
    """
    if not Challenge.objects.open().filter(owner=owner, state=Challenge.State.OPEN).exists():
        raise UploadRefused(422, "You have no challenge that waits for episodes. Nothing was stored. Draw one first.")
    if problem := quotas.refusal(owner, quotas.STORAGE, own_bytes / MEGABYTE):
        raise UploadRefused(422, problem)
    needed_bytes = own_bytes + bytes_under_way
    folder().mkdir(parents=True, exist_ok=True)
    is_full = bytes_in(folder()) + needed_bytes > settings.UPLOAD_FOLDER_MEGABYTES * MEGABYTE
    places = (Path(tempfile.gettempdir()), folder())
    if is_full or any(shutil.disk_usage(place).free < COPIES * needed_bytes for place in places):
        raise UploadRefused(507, "There is no room for these episodes. Nothing was stored. Ask an administrator.")


def accept(owner: User, challenge_id: str, file: IO[bytes] | UploadedFile[bytes]) -> Challenge:
    """Store the episodes of a challenge until a worker has executed them again. Nothing in them is read here.

    Raises:
        ChallengeRefused: if this person has no such challenge, or it takes no episodes now. Nothing is stored then.
    """
    folder().mkdir(parents=True, exist_ok=True)
    _refuse_unless_open(owner, challenge_id)
    with tempfile.NamedTemporaryFile(dir=folder(), suffix=".new", delete=False) as place:
        received = Path(place.name)
    try:
        _save(file, received)
        with transaction.atomic():
            challenge = _refuse_unless_open(owner, challenge_id, lock=True)
            Challenge.objects.filter(pk=challenge.pk).update(
                state=Challenge.State.SENT, sent=Now(), uploads=F("uploads") + 1, problem="", lines=0, leaves=[],
                executed=0, turns=0, notes={}, seconds=0.0, attempt=0,
            )  # fmt: skip
            received.rename(challenge.path)  # the row is locked, so this is the file of this upload
            enqueue(TASK, challenge.pk)
    except BaseException:  # even if this process is ending: no row knows this file
        received.unlink(missing_ok=True)
        raise
    return Challenge.objects.get(pk=challenge.pk)


def _refuse_unless_open(owner: User, challenge_id: str, *, lock: bool = False) -> Challenge:
    rows = Challenge.objects.select_for_update() if lock else Challenge.objects
    challenge = rows.filter(owner=owner, pk=challenge_id).first()
    if challenge is None:
        raise ChallengeRefused("You have no such challenge. Nothing was stored.", status=404)
    if challenge.state == Challenge.State.SENT:
        raise ChallengeRefused(
            "The episodes that you sent for this challenge are being verified. Nothing was stored. Wait for the "
            "result.",
            status=409,
        )
    if challenge.state != Challenge.State.OPEN:
        raise ChallengeRefused(
            f"This challenge is {challenge.state_in_words} already. Nothing was stored. Draw another one.", status=409
        )
    if challenge.is_over:
        raise ChallengeRefused(
            f"The deadline of this challenge has passed, at {challenge.deadline:%Y-%m-%d %H:%M} UTC. Nothing was "
            "stored. Draw another one.",
            status=409,
        )
    return challenge


def _save(file: IO[bytes] | UploadedFile[bytes], place: Path) -> None:
    """Move or copy what was received, piece by piece."""
    if isinstance(file, TemporaryUploadedFile):
        file_move_safe(file.temporary_file_path(), str(place), allow_overwrite=True)
        return
    file.seek(0)
    with place.open("wb") as out:
        shutil.copyfileobj(file, out)


def reap() -> None:
    """Wake a worker for episodes that wait, and delete files that no challenge waits for."""
    waiting = set(Challenge.objects.waiting().values_list("pk", flat=True))
    free = Challenge.objects.waiting().free().values_list("pk", flat=True).first()
    if free is not None:
        enqueue(TASK, free)
    for path in (*folder().glob("*.sent"), *folder().glob("*.new")):
        if path.suffix == ".sent" and path.stem in waiting:
            continue
        with suppress(FileNotFoundError):
            if time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                path.unlink(missing_ok=True)
