"""What belongs to an account: its export as a zip archive, and its deletion.

Apps register their part in `AppConfig.ready`. When somebody deletes their account, its name disappears and everything
of theirs stops at once. The scheduler then deletes what they had, in small transactions, the upper apps first.
"""

from __future__ import annotations

import json
import logging
import secrets
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import IO, Any, cast

from django.core.serializers.json import DjangoJSONEncoder
from django.db import transaction
from django.utils import timezone

from apps.accounts import quotas
from apps.accounts.models import User
from apps.live import recheck_access

logger = logging.getLogger(__name__)

ERASE_SECONDS = 5.0
"""How long the scheduler deletes before it goes on with its other duties; it continues ten seconds later."""
FRESH_LOGIN = timedelta(minutes=15)
"""Somebody without a password deletes the account within this time after they logged in by a link."""
CHUNK_BYTES = 64 * 1024


class NotYet(Exception):
    """Something cannot be deleted now, because a process still writes to it. The scheduler tries again."""


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of the archive."""

    path: str
    parts: Iterable[bytes]
    compressed: bool = True


def _nothing(_: User) -> Iterator[Any]:
    return iter(())


@dataclass(frozen=True, slots=True)
class PersonalData:
    """What one app keeps of a person."""

    export: Callable[[User], Iterator[ExportedFile]] = _nothing
    stop: Callable[[User], object] = _nothing
    """Ends what runs for a person who deletes the account; called in the transaction that closes it."""
    erase: Callable[[User], Iterator[None]] = _nothing
    """Deletes what a person had, with a step after each small transaction. It can be called again after any step, and
    yields only when it has deleted something, so that every call gets further.

    Raises:
        NotYet: if something is still in use.
    """
    goes: tuple[str, ...] = field(default=())
    """What is deleted, in words for the page that asks for a confirmation."""
    stays: tuple[str, ...] = field(default=())
    """What stays without a name, in words for the same page."""


_PARTS: list[PersonalData] = []


def register(part: PersonalData) -> None:
    """Add an app's part. Apps call this in the order of their layers, from the lowest to the highest."""
    _PARTS.append(part)


def parts() -> list[PersonalData]:
    """The parts of all apps, the lowest first."""
    return list(_PARTS)


# ---------------------------------------------------------------- export


def archive_of(user: User) -> Iterator[bytes]:
    """A zip archive of everything that a person has here, in pieces, of which none is kept in memory."""
    sink = _Sink()
    with zipfile.ZipFile(cast("IO[bytes]", sink), "w") as archive:  # it writes to the sink in order and never goes back
        for part in _PARTS:
            for file in part.export(user):
                info = zipfile.ZipInfo(file.path, timezone.now().timetuple()[:6])
                info.compress_type = zipfile.ZIP_DEFLATED if file.compressed else zipfile.ZIP_STORED
                with archive.open(info, "w", force_zip64=True) as out:
                    for piece in file.parts:
                        out.write(piece)
                        if sink.size >= CHUNK_BYTES:
                            yield sink.take()
    yield sink.take()


class _Sink:
    """A file that can only be written to, whose content is taken away as it grows."""

    def __init__(self) -> None:
        self.size = 0
        self._pieces: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        """Append."""
        self._pieces.append(bytes(data))
        self.size += len(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: everything is in memory."""

    def take(self) -> bytes:
        """What was written since the last call."""
        data, self._pieces, self.size = b"".join(self._pieces), [], 0
        return data


def as_json(data: object) -> bytes:
    """Data as a JSON document."""
    return (json.dumps(data, cls=DjangoJSONEncoder, ensure_ascii=False, indent=2) + "\n").encode()


def as_line(data: object) -> bytes:
    """Data as a line of a JSONL file."""
    return (json.dumps(data, cls=DjangoJSONEncoder, ensure_ascii=False) + "\n").encode()


# ---------------------------------------------------------------- deletion


def tombstone() -> User:
    """The account that owns what stays of deleted accounts. Nobody can choose its name or log in to it."""
    owner, created = User.objects.get_or_create(username="deleted account", defaults={"is_active": False})
    if created:
        owner.set_unusable_password()
        owner.save(update_fields=["password"])
    return owner


def has_fresh_login(user: User) -> bool:
    """Whether somebody logged in so recently that this confirms who they are."""
    return user.last_login is not None and timezone.now() - user.last_login < FRESH_LOGIN


@transaction.atomic
def close(user: User) -> None:
    """Close an account: its name disappears, nobody can log in to it, and everything that runs for it stops.

    The scheduler deletes the rest soon (`erase_closed`).
    """
    for part in reversed(_PARTS):
        part.stop(user)
    user.username = f"deleted {secrets.token_hex(6)}"
    user.first_name = user.last_name = user.email = ""
    user.is_active = user.is_staff = user.is_superuser = False
    user.set_unusable_password()
    user.closed = timezone.now()
    user.save()
    recheck_access()


def erase_closed() -> None:
    """Delete what closed accounts had, and then the accounts, for `ERASE_SECONDS`. The next call goes on."""
    until = monotonic() + ERASE_SECONDS
    for user in User.objects.exclude(closed=None).order_by("closed"):
        try:
            for part in reversed(_PARTS):
                for _ in part.erase(user):
                    if monotonic() > until:
                        return
            user.delete()
        except NotYet as reason:
            logger.info("%s is not deleted yet: %s", user, reason)


# ---------------------------------------------------------------- the account itself


def _profile(user: User) -> Iterator[ExportedFile]:
    profile = {
        "name": user.get_username(),
        "member_since": user.date_joined,
        "last_login": user.last_login,
        "administrator": user.is_staff,
        "quotas": [
            {"quota": use.quota.name, "used": use.used, "limit": use.limit, "unit": use.quota.unit}
            for use in quotas.uses(user)
        ],
        "cpu_seconds": list(user.cpu_uses.order_by("day").values("day", "use", "seconds")),
    }
    yield ExportedFile("profile.json", [as_json(profile)])


register(PersonalData(export=_profile, goes=("your name, your password and your quotas",)))
