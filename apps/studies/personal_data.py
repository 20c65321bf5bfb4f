"""The studies of a person: in the export of the account, and when it is deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_json
from apps.leases import patient_transaction
from apps.studies import operations
from apps.studies.limits import folder_of
from apps.studies.models import Study, StudyRun
from apps.zips import ExportedFile
from gem.studies.results import file_text

_OF_STUDY = (
    "id", "title", "plan_data", "visibility", "state", "reason", "keeps_policies", "total", "done", "cpu_seconds",
    "created", "started", "ended", "hidden_reason",
)  # fmt: skip


def _export(user: User) -> Iterator[ExportedFile]:
    for study in Study.objects.filter(owner=user).order_by("created"):
        place = f"studies/{study.pk}"
        yield ExportedFile(f"{place}/study.json", [as_json({name: getattr(study, name) for name in _OF_STUDY})])
        for row in StudyRun.objects.filter(study=study, state=StudyRun.State.DONE).iterator():
            if (result := row.result) is not None:
                yield ExportedFile(f"{place}/results/{row.run.file}", [file_text(result).encode()])


def _erase(user: User) -> Iterator[None]:
    for study in Study.objects.filter(owner=user):
        with patient_transaction():
            operations.remove(study)
        shutil.rmtree(folder_of(study.pk), ignore_errors=True)
        yield


PART = PersonalData(
    export=_export,
    erase=_erase,
    goes=("your studies, with their results and the policies that they keep",),
)
