"""The reports that a person has sent: in the export of the account. When it is deleted, they stay without the name."""

from __future__ import annotations

from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_line
from apps.moderation.models import Report
from apps.zips import ExportedFile


def _export(user: User) -> Iterator[ExportedFile]:
    reports = Report.objects.filter(reporter=user).order_by("created")
    yield ExportedFile("reports.jsonl", map(as_line, reports.values("kind", "key", "reason", "created", "closed")))


PART = PersonalData(export=_export, stays=("reports that you sent to the administrators",))
