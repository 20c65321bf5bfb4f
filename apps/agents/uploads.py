"""Checkpoints from elsewhere: accepted here, tried by a worker, and then an agent or refused with a reason.

A worker owns an upload while its lease lasts, by the database's clock, and writes what came of it only if it still
does. One that dies has written nothing, so another one tries the same file again; after a few times that is a refusal.
"""

from __future__ import annotations

import fcntl
import logging
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from time import time
from typing import IO, Any
from uuid import UUID, uuid4

from django.conf import settings
from django.core.files.move import file_move_safe
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from apps.accounts.models import User
from apps.agents.models import Agent, Upload, UploadQuerySet, Weights
from apps.agents.operations import COLOURS, TooManyAgents, new_slug
from apps.leases import Heartbeat
from apps.queue import enqueue
from gem.errors import InvalidArgument
from gem.training.checkpoints.archive import sha256, unpack
from gem.training.checkpoints.folder_check import WEIGHTS, check_alone, check_folder
from gem.training.checkpoints.trial import Interrupted, try_folder

logger = logging.getLogger(__name__)

TASK = "verify.uploads"
MEGABYTE = 10**6
PROBLEM_CHARS = 1000
DRAFT_SECONDS = 3600.0
"""After so long nobody works on what is being unpacked, and a file that no row names was never accepted."""
REFUSED_DAYS = 7
"""How long a refusal can be read."""


# ------------------------------------------------------------------ people


def accept(owner: User, name: str, file: IO[bytes] | UploadedFile[bytes], *, shared: bool = False) -> Upload:
    """Keep an archive until a worker has unpacked it, looked at it and tried it; nothing is judged here.

    Args:
        name: what pages will call the agent; what its card says it was trained with, if empty.
        file: a zip or tar archive; one that Django keeps in a file of its own is moved away.

    Raises:
        TooManyAgents: above `UPLOADS_PER_USER`; nothing is kept.
    """
    _check_room(owner)
    slug = new_slug(name or "checkpoint")
    _uploads().mkdir(parents=True, exist_ok=True)
    _keep(file, _sent(slug))
    try:
        with transaction.atomic():
            User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # two at once count each other
            _check_room(owner)
            upload = Upload.objects.create(slug=slug, owner=owner, name=name, shared=shared)
            enqueue(TASK, slug)
    except BaseException:  # even if this process is told to end: no row names the file
        _sent(slug).unlink(missing_ok=True)
        raise
    return upload


def _keep(file: IO[bytes] | UploadedFile[bytes], place: Path) -> None:
    if isinstance(file, TemporaryUploadedFile):
        file_move_safe(file.temporary_file_path(), str(place))
        return
    file.seek(0)
    with place.open("xb") as out:
        shutil.copyfileobj(file, out)


def _check_room(owner: User) -> None:
    number = Agent.objects.uploads().filter(owner=owner).count() + Upload.objects.waiting().filter(owner=owner).count()
    if number >= settings.UPLOADS_PER_USER:
        raise TooManyAgents(
            f"You have uploaded {number} checkpoints, the most that one person may have. Delete one first."
        )


# ------------------------------------------------------------------ workers


@dataclass(frozen=True, slots=True)
class UploadClaim:
    """An upload that this process may try while its lease lasts."""

    upload: Upload
    token: UUID

    def owned(self) -> UploadQuerySet:
        """The row while the claim holds: every write of a worker goes through it."""
        return Upload.objects.waiting().filter(pk=self.upload.pk).owned_by(self.token)


def try_next(stopping: Callable[[], bool] = lambda: False) -> bool:
    """Try the upload that has waited longest; whether there was one.

    On one machine they are tried one after the other: each takes a core and the memory of a whole policy. A process
    that finds another one at it does nothing, for the other one goes on until nothing waits.
    """
    with _alone() as alone:
        claim = _claim() if alone else None
        if claim is None:
            return False
        try:
            with Heartbeat(lambda: claim.owned().renew(), name=str(claim.upload)):
                _try(claim, stopping)
        finally:  # an error leaves the upload to another attempt, which may come at once
            claim.owned().release()
        return True


def _claim() -> UploadClaim | None:
    free = Upload.objects.waiting().free()
    for worn in free.worn():
        problem = f"The check was killed {worn.attempt} times. The checkpoint may need too much memory."
        _refuse(free.filter(pk=worn.pk), problem)
        _sent(worn.slug).unlink(missing_ok=True)
    token = uuid4()
    claimed = free.order_by("created").claim(token, 1)
    return UploadClaim(Upload.objects.select_related("owner").get(pk=claimed[0]), token) if claimed else None


def _try(claim: UploadClaim, stopping: Callable[[], bool]) -> None:
    """Make an agent of the file, or say why not."""
    upload = claim.upload
    draft = _uploads() / f".{upload.slug}.{secrets.token_hex(4)}.new"
    draft.mkdir()
    try:
        told = _inspected(draft, _sent(upload.slug), stopping)
        settled = _store(claim, draft, told)
    except InvalidArgument as refused:
        settled = _refuse(claim.owned(), str(refused))
    except Interrupted:  # it costs no attempt
        claim.owned().update(attempt=F("attempt") - 1)
        settled = False
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    if settled:
        _sent(upload.slug).unlink(missing_ok=True)


def _inspected(draft: Path, sent: Path, stopping: Callable[[], bool]) -> dict[str, Any]:
    """What is stored of the policy in an archive, once it has been unpacked into `draft` and has played.

    Raises:
        InvalidArgument: if it is refused.
        Interrupted: if this process is to end.
    """
    try:
        with sent.open("rb") as file:
            unpack(file, draft, most=settings.UPLOAD_MEGABYTES * MEGABYTE)
    except FileNotFoundError as error:
        raise InvalidArgument("The uploaded file is gone. Upload it again.") from error
    card = check_folder(draft)
    check_alone(draft)
    tried = try_folder(draft, card.env_id, stopping=stopping)
    first = {"env_id": tried.env_id, "action": tried.action.replace("\0", ""), "seconds": round(tried.seconds, 3)}
    return {
        "card": {**card.model_dump(mode="json"), "parameters": tried.parameters, "tried": first},
        "size": (draft / WEIGHTS).stat().st_size,
        "sha256": sha256(draft / WEIGHTS),
    }


@transaction.atomic
def _store(claim: UploadClaim, draft: Path, told: dict[str, Any]) -> bool:
    """Whether the agent was made: not where the claim is lost."""
    upload = claim.upload
    if claim.owned().select_for_update().first() is None:
        return False
    agent = Agent.objects.create(
        slug=upload.slug,
        name=(upload.name or told["card"]["recipe"] or "checkpoint")[:80],
        kind=Agent.Kind.CHECKPOINT,
        about="Uploaded.",
        owner=upload.owner,
        colour=COLOURS[Agent.objects.count() % len(COLOURS)],
        shared=upload.shared,
    )
    place = _uploads() / upload.slug
    Weights.objects.create(agent=agent, folder=str(place.relative_to(settings.RUNS_DIR)), uploaded=True, **told)
    claim.owned().delete()
    draft.rename(place)  # last: only a lost commit leaves a folder without its row
    return True


def _refuse(uploads: UploadQuerySet, sentence: str) -> bool:
    problem = sentence.replace("\0", "")[:PROBLEM_CHARS]
    return uploads.release(problem=problem) > 0


# ------------------------------------------------------------------ what the reaper does


def reap() -> None:
    """Wake a worker for what nobody tries, and delete what is left of refusals and of processes that were killed."""
    waiting = Upload.objects.waiting().free().first()
    if waiting is not None:
        enqueue(TASK, waiting.slug)
    Upload.objects.exclude(problem="").filter(created__lt=Now() - timedelta(days=REFUSED_DAYS)).delete()
    named = set(Upload.objects.waiting().values_list("slug", flat=True))
    for left in (*_uploads().glob(".*.new"), *_uploads().glob(".*.sent")):
        if left.name[1:].removesuffix(".sent") in named or _age(left) < DRAFT_SECONDS:
            continue
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


# ------------------------------------------------------------------ the disk


def _age(path: Path) -> float:
    """Seconds since it was written; 0 if it is gone by now, because whoever works on it has finished."""
    try:
        return time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _uploads() -> Path:
    return Path(settings.RUNS_DIR) / "uploads"


def _sent(slug: str) -> Path:
    """Where the archive lies as it was sent."""
    return _uploads() / f".{slug}.sent"


@contextmanager
def _alone() -> Iterator[bool]:
    """Whether nobody else on this machine tries an upload, and nobody else will while the block lasts."""
    _uploads().mkdir(parents=True, exist_ok=True)
    with (_uploads() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
