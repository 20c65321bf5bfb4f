"""Uploaded checkpoints: accepted here, checked by a worker, and then an agent or refused with a reason.

A worker owns an upload while its lease lasts, by the database's clock, and stores the result only if it still owns it.
If a worker dies, another one checks the same file again. After a few attempts the upload is refused.
"""

from __future__ import annotations

import fcntl
import logging
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from time import monotonic, time
from typing import IO, Any
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.move import file_move_safe
from django.core.files.uploadedfile import TemporaryUploadedFile, UploadedFile
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from apps.accounts import quotas
from apps.accounts.models import User
from apps.admission.line import Line, note_spent, rows
from apps.admission.models import name_of, name_of_account
from apps.agents.models import Agent, Upload, UploadQuerySet, Weights
from apps.agents.operations import COLOURS, TooManyAgents, new_slug
from apps.faults import infrastructure_fault
from apps.holders import new_token
from apps.leases import Heartbeat
from apps.names import validate_free_name
from apps.queue import enqueue
from gem.errors import InvalidArgument, SandboxUnavailable
from gem.training.checkpoints.archive import sha256, unpack
from gem.training.checkpoints.folder_check import WEIGHTS, check_folder, check_self_contained
from gem.training.checkpoints.trial import Interrupted, try_folder

logger = logging.getLogger(__name__)

TASK = "verify.uploads"
MEGABYTE = 10**6
PROBLEM_CHARS = 1000
HOUR = 3600
COPIES = 2
"""How often a file is on the disk while it is received and read."""
MAX_WAITING = 2
"""How many uploads of one person wait to be checked at a time."""
DRAFT_SECONDS = 3600.0
"""Unpacked folders and files without a row are deleted when they are this old: nobody uses them any more."""
REFUSED_DAYS = 7
"""How long refusals are kept."""


# ------------------------------------------------------------------ people


class UploadRefused(Exception):
    """An upload that cannot be taken now, with a sentence for its owner and an HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def check_admission(owner: User, own_bytes: int, bytes_under_way: int = 0) -> None:
    """Check that a person may upload now, by what is known before the file is sent.

    Args:
        own_bytes: the size of this upload.
        bytes_under_way: the size of those that are being received from others.

    Raises:
        UploadRefused: if they have uploaded too much, or if there is no room.
    """
    try:
        _check_room(owner, own_bytes)
    except TooManyAgents as error:
        raise UploadRefused(422, str(error)) from error
    if Upload.objects.waiting().filter(owner=owner).count() >= MAX_WAITING:
        raise UploadRefused(
            429,
            f"{MAX_WAITING} of your checkpoints still wait to be checked. Nothing was stored. Try again in a minute.",
        )
    needed_bytes = own_bytes + bytes_under_way
    _uploads().mkdir(parents=True, exist_ok=True)
    is_full = bytes_in(_uploads()) + needed_bytes > settings.UPLOAD_FOLDER_MEGABYTES * MEGABYTE
    places = (Path(tempfile.gettempdir()), _uploads())
    if is_full or any(shutil.disk_usage(place).free < COPIES * needed_bytes for place in places):
        raise UploadRefused(507, "There is no room for this checkpoint. Nothing was stored. Ask an administrator.")


def rate_limit_of(owner: User) -> tuple[str, float, float]:
    """The bucket that limits how often a person uploads, its size, and the tokens that it gains in a second."""
    return f"upload:user:{owner.pk}", settings.UPLOADS_PER_HOUR, settings.UPLOADS_PER_HOUR / HOUR


def too_often(wait: float) -> str:
    """The sentence for somebody who has to wait this many seconds."""
    minutes = max(1, round(wait / 60))
    return f"You have uploaded {settings.UPLOADS_PER_HOUR} times within an hour. Try again in {minutes} min."


def bytes_in(folder: Path) -> int:
    """The size of all files in a folder; those that are deleted meanwhile do not count."""
    size = 0
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            size += path.lstat().st_size
    return size


def accept(owner: User, name: str, file: IO[bytes] | UploadedFile[bytes], *, visibility: str = "") -> Upload:
    """Store an archive until a worker has checked it. Only its name is checked here.

    Args:
        name: the name of the later agent; if empty, the recipe on its card.
        file: a zip or tar archive. A temporary file of Django is moved, not copied.
        visibility: that of the later agent; if empty, the one that the account says.

    Raises:
        ValidationError: if an agent cannot have this name. Nothing is stored then.
        TooManyAgents: if they have as many as one person may have, or no room. Nothing is stored then.
    """
    if name:
        validate_free_name(name)
    _check_room(owner)
    slug = new_slug(name or "checkpoint")
    _uploads().mkdir(parents=True, exist_ok=True)
    _save_archive(file, _sent(slug))
    try:
        with transaction.atomic():
            User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent calls count each other
            _check_room(owner)
            visibility = visibility or owner.agent_visibility
            upload = Upload.objects.create(slug=slug, owner=owner, name=name, visibility=visibility)
            enqueue(TASK, slug)
    except BaseException:  # even if this process is ending: the file has no row
        _sent(slug).unlink(missing_ok=True)
        raise
    return upload


def withdraw(slug: str) -> None:
    """Delete an upload that is not an agent yet, with its file. A worker that is checking it stores nothing."""
    Upload.objects.filter(pk=slug).delete()
    _sent(slug).unlink(missing_ok=True)


def _save_archive(file: IO[bytes] | UploadedFile[bytes], place: Path) -> None:
    if isinstance(file, TemporaryUploadedFile):
        file_move_safe(file.temporary_file_path(), str(place))
        return
    file.seek(0)
    with place.open("xb") as out:
        shutil.copyfileobj(file, out)


def _check_room(owner: User, needed_bytes: int = 0) -> None:
    problem = quotas.refusal(owner, quotas.UPLOADS) or quotas.refusal(owner, quotas.STORAGE, needed_bytes / MEGABYTE)
    if problem:
        raise TooManyAgents(problem)


def uploads_of(owner: User) -> int:
    """How many checkpoints this person has uploaded, those included that wait for their check."""
    return Agent.objects.uploads().filter(owner=owner).count() + Upload.objects.waiting().filter(owner=owner).count()


def bytes_of_uploads(owner: User) -> int:
    """The size of the files that this person has uploaded."""
    folders = Weights.objects.filter(agent__owner=owner, uploaded=True)
    archives = [_sent(slug) for slug in Upload.objects.filter(owner=owner).values_list("slug", flat=True)]
    return sum(bytes_in(weights.path) for weights in folders) + sum(map(_file_bytes, archives))


def _file_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


# ------------------------------------------------------------------ workers


@dataclass(frozen=True, slots=True)
class UploadClaim:
    """An upload that this process may check while its lease lasts."""

    upload: Upload
    token: UUID

    def owned(self) -> UploadQuerySet:
        """The row, or nothing if the lease is lost. Every write of a worker starts from this query."""
        return Upload.objects.waiting().filter(pk=self.upload.pk).owned_by(self.token)


def try_next(
    stopping: Callable[[], bool] = lambda: False,
    metered: Callable[[int], AbstractContextManager[object]] = lambda _: nullcontext(),
) -> bool:
    """Check the next upload, of each person in turn. Returns whether there was one.

    A machine checks one upload at a time, because each needs a core and the memory of a whole policy. If another
    process is checking, this one does nothing: the other one continues until no upload waits.

    Args:
        metered: what the check runs in, which counts its CPU seconds for the account with this id.
    """
    with _exclusive_lock() as is_locked:
        claim = _claim() if is_locked else None
        if claim is None:
            return False
        started = monotonic()
        try:
            with Heartbeat(lambda: claim.owned().renew(), name=str(claim.upload)), metered(claim.upload.owner_id):
                _check(claim, stopping)
        finally:  # after an error, another attempt may start at once
            claim.owned().release()
            note_spent(LINE.name, name_of(claim.upload.owner_id), "", monotonic() - started)
        return True


def _claim() -> UploadClaim | None:
    free = Upload.objects.waiting().free()
    for worn in free.worn():
        problem = f"The check was killed {worn.attempt} times. The checkpoint may need too much memory."
        _refuse(free.filter(pk=worn.pk), problem)
        _sent(worn.slug).unlink(missing_ok=True)
    token = new_token()
    affordable = free.exclude(owner__in=quotas.people_over_cpu())
    claimed = LINE.claim(_rows(affordable), _busy(), token, 1)
    return UploadClaim(Upload.objects.select_related("owner").get(pk=claimed[0]), token) if claimed else None


def place(upload: Upload) -> int | None:
    """The place of an upload in the queue, from 1; None if it does not wait for a worker."""
    return LINE.place(_rows(Upload.objects.waiting().free()), _busy(), upload.pk)


LINE = Line("upload")
"""The line of uploads. A machine checks one at a time, so there are no other limits."""


def _rows(some: UploadQuerySet) -> UploadQuerySet:
    return rows(some, since="created", person=name_of_account("owner"))


def _busy() -> UploadQuerySet:
    """The uploads that are being checked."""
    return _rows(Upload.objects.waiting().filter(lease_until__gt=Now()))


def _check(claim: UploadClaim, stopping: Callable[[], bool]) -> None:
    """Create an agent from the file, or refuse it with a reason."""
    upload = claim.upload
    draft = _uploads() / f".{upload.slug}.{secrets.token_hex(4)}.new"
    draft.mkdir()
    try:
        weights = _inspect(draft, _sent(upload.slug), stopping)
        is_settled = _store(claim, draft, weights)
    except (InvalidArgument, SandboxUnavailable) as error:
        is_settled = _refuse(claim.owned(), str(error))
    except Interrupted:
        _forget_attempt(claim)
        is_settled = False
    except Exception as error:
        if infrastructure_fault(error) is not None:
            _forget_attempt(claim)  # the reaper has it tried again
        raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    if is_settled:
        _sent(upload.slug).unlink(missing_ok=True)


def _forget_attempt(claim: UploadClaim) -> None:
    """Do not count the present attempt, which says nothing about the upload."""
    claim.owned().update(attempt=F("attempt") - 1)


def _inspect(draft: Path, archive: Path, stopping: Callable[[], bool]) -> dict[str, Any]:
    """Unpack an archive into `draft`, let its policy play one turn, and return the values for its `Weights`.

    Raises:
        InvalidArgument: if it is refused.
        SandboxUnavailable: if this machine cannot confine the process that plays the turn.
        Interrupted: if this process should end.
    """
    try:
        with archive.open("rb") as file:
            unpack(file, draft, max_bytes=settings.UPLOAD_MEGABYTES * MEGABYTE)
    except FileNotFoundError as error:
        raise InvalidArgument("The uploaded file is gone. Upload it again.") from error
    card = check_folder(draft)
    check_self_contained(draft)
    trial = try_folder(draft, card.env_id, should_stop=stopping)
    first_turn = {"env_id": trial.env_id, "action": _storable(trial.action), "seconds": round(trial.seconds, 3)}
    return {
        "card": {**card.model_dump(mode="json"), "parameters": trial.parameters, "tried": first_turn},
        "size": (draft / WEIGHTS).stat().st_size,
        "sha256": sha256(draft / WEIGHTS),
    }


@transaction.atomic
def _store(claim: UploadClaim, draft: Path, weights: dict[str, Any]) -> bool:
    """Create the agent. Returns False, and creates nothing, if the lease is lost."""
    upload = claim.upload
    if claim.owned().select_for_update().first() is None:
        return False
    agent = Agent.objects.create(
        slug=upload.slug,
        name=upload.name or _name_on(weights["card"]),
        kind=Agent.Kind.CHECKPOINT,
        about="Uploaded.",
        owner=upload.owner,
        colour=COLOURS[Agent.objects.count() % len(COLOURS)],
        visibility=upload.visibility,
        parameters=weights["card"].get("parameters") or None,
    )
    place = _uploads() / upload.slug
    Weights.objects.create(agent=agent, folder=str(place.relative_to(settings.RUNS_DIR)), uploaded=True, **weights)
    claim.owned().delete()
    draft.rename(place)  # last: only a failed commit leaves a folder without a row
    return True


def _name_on(card: Mapping[str, Any]) -> str:
    """The name of the recipe on a card, which anybody may have written, if an agent can have it."""
    name = str(card["recipe"])[:80]
    try:
        validate_free_name(name)
    except ValidationError:
        return "checkpoint"
    return name


def _refuse(uploads: UploadQuerySet, sentence: str) -> bool:
    return uploads.release(problem=_storable(sentence)[:PROBLEM_CHARS]) > 0


def _storable(text: str) -> str:
    """Text from an archive without NUL characters and lone surrogates, which a database cannot store."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()


# ------------------------------------------------------------------ the reaper


def reap() -> None:
    """Wake a worker for waiting uploads, and delete old refusals and the files of processes that were killed."""
    waiting = Upload.objects.waiting().free().first()
    if waiting is not None:
        enqueue(TASK, waiting.slug)
    with transaction.atomic():
        refused = Upload.objects.exclude(problem="").filter(created__lt=Now() - timedelta(days=REFUSED_DAYS))
        old = refused.select_for_update(skip_locked=True).values_list("pk", flat=True)
        Upload.objects.filter(pk__in=list(old)).delete()
    waiting_slugs = set(Upload.objects.waiting().values_list("slug", flat=True))
    for leftover in (*_uploads().glob(".*.new"), *_uploads().glob(".*.sent")):
        if leftover.name[1:].removesuffix(".sent") in waiting_slugs or _age(leftover) < DRAFT_SECONDS:
            continue
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


# ------------------------------------------------------------------ the disk


def _age(path: Path) -> float:
    """Seconds since the file was written; 0 if it is gone, because another process has finished with it."""
    try:
        return time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _uploads() -> Path:
    return Path(settings.RUNS_DIR) / "uploads"


def _sent(slug: str) -> Path:
    """The path of the uploaded archive."""
    return _uploads() / f".{slug}.sent"


@contextmanager
def _exclusive_lock() -> Iterator[bool]:
    """Try to lock the checks of this machine for the block. Yields False if another process holds the lock."""
    _uploads().mkdir(parents=True, exist_ok=True)
    with (_uploads() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
