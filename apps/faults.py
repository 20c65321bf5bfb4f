"""Faults of the infrastructure, which are no faults of the work that met them: a full disk, a database that restarts.

Work that meets one waits and is done again. It does not use up the attempts that unfit work has, unless it meets again
and again one that it may cause itself.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

import django.db
import redis
from kombu.exceptions import OperationalError as BrokerError
from psycopg import errors as postgres

from gem.agents.endpoint.ledger import StoreHangs

_DISK = {
    errno.ENOSPC: "The disk is full.",
    errno.EDQUOT: "The disk is full: the quota of this account is used up.",
    errno.EIO: "A disk reported an error.",
    errno.EROFS: "The disk cannot be written to.",
    errno.EMFILE: "This process has too many open files.",
    errno.ENFILE: "This machine has too many open files.",
}
_OF_LONG_WRITES = (postgres.TransactionTimeout, postgres.IdleInTransactionSessionTimeout)
_DATABASE: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    (postgres.DiskFull, "The disk of the database is full."),
    (postgres.ReadOnlySqlTransaction, "The database is read-only at the moment."),
    (_OF_LONG_WRITES, "A write took too long and was ended."),
)
NO_SPACE = {errno.ENOSPC, errno.EDQUOT}


def infrastructure_fault(error: BaseException) -> str | None:
    """What is wrong with the infrastructure, as a sentence; None if the error is one of the work itself."""
    return next((sentence for link in _causes(error) if (sentence := _fault_of(link)) is not None), None)


def may_be_of_the_work(error: BaseException) -> bool:
    """Whether the work may cause the fault itself: by writing for too long, or by opening files and closing none."""
    return any(
        isinstance(link, _OF_LONG_WRITES) or (isinstance(link, OSError) and link.errno == errno.EMFILE)
        for link in _causes(error)
    )


def is_disk_full(error: BaseException | None) -> bool:
    """Whether the error says that there is no space left, on a disk of this machine or of the database."""
    return any(
        isinstance(link, postgres.DiskFull) or (isinstance(link, OSError) and link.errno in NO_SPACE)
        for link in _causes(error)
    )


_AWAY = ("08", "53300", "57P01", "57P02", "57P03")
"""The states with which Postgres says that a connection is lost, or that it takes none: the beginnings of SQLSTATE."""


def is_database_away(error: BaseException | None) -> bool:
    """Whether the error says that the database cannot be reached, and not that it could not do what it was asked."""
    return any(
        isinstance(link, django.db.OperationalError | django.db.InterfaceError)
        and (getattr(link.__cause__, "sqlstate", None) or "08").startswith(_AWAY)
        for link in _causes(error)
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error's causes, deepest first, and the error itself."""
    if error is not None:
        yield from _causes(error.__cause__)
        yield error


def _fault_of(error: BaseException) -> str | None:
    for kinds, sentence in _DATABASE:
        if isinstance(error, kinds):
            return sentence
    if isinstance(error, django.db.OperationalError | django.db.InterfaceError):
        return "The database was not available."
    if isinstance(error, StoreHangs):
        return str(error)
    if isinstance(error, redis.ConnectionError | redis.TimeoutError | BrokerError):
        return "The broker was not available."
    return _DISK.get(error.errno or 0) if isinstance(error, OSError) else None
