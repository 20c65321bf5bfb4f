"""The challenges and the reported rows of a person: in the export of the account, and when it is deleted."""

from __future__ import annotations

from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_line
from apps.leaderboard.models import Challenge, ReportedRow
from apps.leases import patient_transaction
from apps.zips import ExportedFile

_OF_CHALLENGE = (
    "id", "agent_name", "declared", "spec", "visibility", "deadline", "state", "uploads", "problem", "created", "sent",
    "ended",
)  # fmt: skip
_OF_ROW = (
    "id", "agent_name", "declared", "benchmark", "benchmark_version", "tools", "source", "numbers", "score", "link",
    "notes", "visibility", "created", "hidden_reason",
)  # fmt: skip


def _export(user: User) -> Iterator[ExportedFile]:
    challenges = Challenge.objects.filter(owner=user).order_by("created")
    yield ExportedFile("challenges.jsonl", map(as_line, challenges.values(*_OF_CHALLENGE)))
    reported = ReportedRow.objects.filter(owner=user).order_by("created")
    yield ExportedFile("reported_rows.jsonl", map(as_line, reported.values(*_OF_ROW)))


def _stop(user: User) -> None:
    """Forget the files that wait to be checked. Their workers store nothing any more."""
    for challenge in Challenge.objects.waiting().filter(owner=user):
        Challenge.objects.filter(pk=challenge.pk).release(state=Challenge.State.OPEN)
        challenge.path.unlink(missing_ok=True)


def _erase(user: User) -> Iterator[None]:
    for row in ReportedRow.objects.filter(owner=user):
        with patient_transaction():
            row.delete()
        yield
    for challenge in Challenge.objects.filter(owner=user):
        with patient_transaction():
            challenge.delete()
        yield


PART = PersonalData(
    export=_export,
    stop=_stop,
    erase=_erase,
    goes=("the challenges that you drew, and the rows that you reported",),
)
