"""What belongs to an account: its export as a zip archive, and its deletion.

Apps register their part in `AppConfig.ready`. When somebody deletes their account, its name disappears and everything
of theirs stops at once. The scheduler then deletes what they had, in small transactions, the upper apps first. What
somebody else has locked is left for its next round, so that one account's trouble delays no other.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import Any, TypeVar

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models.functions import Now
from django.utils import timezone

from apps.accounts import quotas
from apps.accounts.models import User
from apps.leases import RowsLocked, patient_transaction
from apps.live import recheck_access
from apps.zips import ExportedFile, streamed

logger = logging.getLogger(__name__)

ERASE_SECONDS = 5.0
"""How long the scheduler deletes before it goes on with its other duties; it continues ten seconds later."""
FRESH_LOGIN = timedelta(minutes=15)
"""Somebody without a password deletes the account within this time after they logged in by a link."""

Key = TypeVar("Key", bound=Hashable)


class NotYet(Exception):
    """Something cannot be deleted now, because a process still writes to it. The scheduler tries again."""


def _nothing(_: User) -> Iterator[Any]:
    return iter(())


@dataclass(frozen=True, slots=True)
class PersonalData:
    """What one app keeps of a person."""

    export: Callable[[User], Iterator[ExportedFile]] = _nothing
    stop: Callable[[User], object] = _nothing
    """Ends what runs for a person whose account was closed, and what others use of theirs. It can be called again.

    Raises:
        RowsLocked: if something is locked (`stop_each`); the rest has been stopped.
    """
    erase: Callable[[User], Iterator[None]] = _nothing
    """Deletes what a person had, with a step after each small transaction. It can be called again after any step, and
    yields only when it has deleted something, so that every call gets further. Its transactions are patient.

    Raises:
        NotYet: if something is still in use.
        RowsLocked: if something is locked.
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


def stop_each(keys: Iterable[Key], stop: Callable[[Key], object]) -> None:
    """Call `stop` with each of these keys, in a transaction of its own that waits for a lock for a moment only.

    Raises:
        RowsLocked: after the last one, if something was locked.
    """
    locked: dict[Key, RowsLocked] = {}
    for key in keys:
        try:
            with patient_transaction():
                stop(key)
        except RowsLocked as error:
            locked[key] = error
    if locked:
        raise RowsLocked(f"locked: {', '.join(map(str, locked))}") from next(iter(locked.values()))


# ---------------------------------------------------------------- export


def archive_of(user: User) -> Iterator[bytes]:
    """A zip archive of everything that a person has here, in pieces, of which none is kept in memory."""
    return streamed(file for part in _PARTS for file in part.export(user))


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


def close(user: User) -> None:
    """Close an account: its name disappears, nobody can log in to it, and everything that runs for it stops.

    The scheduler stops what is locked now, and deletes the rest soon (`erase_closed`).
    """
    user.first_name = user.get_username()  # `former_name`
    user.username = f"deleted {secrets.token_hex(6)}"
    user.last_name = user.email = ""
    user.is_active = user.is_staff = user.is_superuser = False
    user.set_unusable_password()
    user.closed = timezone.now()
    user.save()
    try:
        _stop(user)
    except RowsLocked as reason:
        logger.info("%s: not everything has stopped yet: %s", user, reason)
    recheck_access()


def _stop(user: User) -> None:
    """End everything that runs for a closed account.

    Raises:
        RowsLocked: if something is locked; the rest has been stopped.
    """
    locked = None
    for part in reversed(_PARTS):
        try:
            part.stop(user)
        except RowsLocked as error:
            locked = error
    if locked is not None:
        raise locked


def erase_closed() -> None:
    """Delete what closed accounts had, and then the accounts, for `ERASE_SECONDS`. The next call goes on.

    An account that cannot be deleted now goes to the end of the line, so that it keeps no other one waiting.
    """
    until = monotonic() + ERASE_SECONDS
    for user in User.objects.exclude(closed=None).order_by("closed"):
        try:
            _stop(user)
            for part in reversed(_PARTS):
                for _ in part.erase(user):
                    if monotonic() > until:
                        return
            with patient_transaction():
                user.delete()
            continue
        except (NotYet, RowsLocked) as reason:
            logger.info("%s is not deleted yet: %s", user, reason)
        except Exception:  # whatever is wrong with one account must not keep the others from their deletion
            logger.exception("%s cannot be deleted", user)
        _to_the_end_of_the_line(user)


def _to_the_end_of_the_line(user: User) -> None:
    with suppress(RowsLocked), patient_transaction():
        User.objects.filter(pk=user.pk).update(closed=Now())


# ---------------------------------------------------------------- the account itself


def _profile(user: User) -> Iterator[ExportedFile]:
    profile = {
        "name": user.get_username(),
        "member_since": user.date_joined,
        "last_login": user.last_login,
        "administrator": user.is_staff,
        "named_on_leaderboards": user.is_named,
        "quotas": [
            {"quota": use.quota.name, "used": use.used, "limit": use.limit, "unit": use.quota.unit}
            for use in quotas.uses(user)
        ],
        "cpu_seconds": list(user.cpu_uses.order_by("day").values("day", "use", "seconds")),
    }
    yield ExportedFile("profile.json", [as_json(profile)])


register(PersonalData(export=_profile, goes=("your name, your password and your quotas",)))
