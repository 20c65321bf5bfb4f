"""The trainings elsewhere of a person: in the export of the account, and when it is deleted."""

from __future__ import annotations

from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_json, as_line
from apps.curves import operations
from apps.curves.models import Entry, OutsideTraining, Transcript
from apps.zips import ExportedFile

_OF_TRAINING = (
    "id", "project", "name", "key", "group", "source", "config", "visibility", "state", "reason", "roles", "notes",
    "created", "heard", "hidden_reason",
)  # fmt: skip


def _export(user: User) -> Iterator[ExportedFile]:
    for row in OutsideTraining.objects.filter(owner=user).order_by("created"):
        place = f"outside_trainings/{row.pk}"
        yield ExportedFile(f"{place}/training.json", [as_json({name: getattr(row, name) for name in _OF_TRAINING})])
        entries = Entry.objects.filter(training=row).order_by("number").values("step", "seconds", "data")
        yield ExportedFile(f"{place}/entries.jsonl", map(as_line, entries.iterator()))
        transcripts = Transcript.objects.filter(training=row).values("name", "kind", "step", "data")
        yield ExportedFile(f"{place}/transcripts.jsonl", map(as_line, transcripts.iterator()))


def _erase(user: User) -> Iterator[None]:
    for row in OutsideTraining.objects.filter(owner=user):
        operations.delete(row)
        yield


PART = PersonalData(
    export=_export,
    erase=_erase,
    goes=("the curves and transcripts that your trainings elsewhere have sent",),
)
