"""What a person has reported: in the export of the account, and when it is deleted."""

from __future__ import annotations

from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_json, as_line
from apps.leases import patient_transaction
from apps.reported.models import ReportedEpisode, ReportedEvaluation
from apps.zips import ExportedFile

_OF_EVALUATION = (
    "id", "name", "model", "source", "key", "environments", "config", "metrics", "visibility", "state", "reason",
    "created", "ended", "hidden_reason",
)  # fmt: skip


def _export(user: User) -> Iterator[ExportedFile]:
    for row in ReportedEvaluation.objects.filter(owner=user).order_by("created"):
        place = f"reported_evaluations/{row.pk}"
        yield ExportedFile(f"{place}/evaluation.json", [as_json({name: getattr(row, name) for name in _OF_EVALUATION})])
        episodes = ReportedEpisode.objects.filter(evaluation=row).values(
            "number", "key", "example", "env_id", "reward", "solved", "error", "messages", "extra"
        )
        yield ExportedFile(f"{place}/episodes.jsonl", map(as_line, episodes.iterator()))


def _erase(user: User) -> Iterator[None]:
    for row in ReportedEvaluation.objects.filter(owner=user):
        with patient_transaction():
            ReportedEvaluation.objects.filter(pk=row.pk).delete()
        row.path.unlink(missing_ok=True)
        yield


PART = PersonalData(export=_export, erase=_erase, goes=("the evaluations that you reported, with their transcripts",))
