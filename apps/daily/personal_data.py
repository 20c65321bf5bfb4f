"""The tries of a person: in the export of the account. They are deleted with the account."""

from __future__ import annotations

from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_line
from apps.daily.models import Try
from apps.leases import patient_transaction
from apps.zips import ExportedFile


def _export(user: User) -> Iterator[ExportedFile]:
    columns = ("season__number", "episode", "solved", "turns", "score", "begun", "ended")
    tries = Try.objects.filter(user=user).order_by("begun")
    yield ExportedFile("daily.jsonl", (as_line(row) for row in tries.values(*columns)))


def _erase(user: User) -> Iterator[None]:
    with patient_transaction():
        deleted, _ = Try.objects.filter(user=user).delete()
    if deleted:
        yield


PART = PersonalData(export=_export, erase=_erase, goes=("your results at daily seeds",))
