"""The benchmarks of a person: in the export of the account, and when it is deleted."""

from __future__ import annotations

from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData, as_line, tombstone
from apps.benchmarks.models import BenchmarkVersion, OwnBenchmark
from apps.benchmarks.operations import BenchmarkRefused, delete
from apps.leases import patient_transaction
from apps.zips import ExportedFile


def _export(user: User) -> Iterator[ExportedFile]:
    rows = BenchmarkVersion.objects.filter(benchmark__owner=user).order_by("pk")
    columns = ("benchmark__name", "benchmark__visibility", "number", "document", "state", "problems", "created")
    yield ExportedFile("benchmarks.jsonl", map(as_line, rows.values(*columns)))


def _erase(user: User) -> Iterator[None]:
    for row in OwnBenchmark.objects.filter(owner=user):
        with patient_transaction():
            try:
                delete(row)
            except BenchmarkRefused:
                OwnBenchmark.objects.filter(pk=row.pk).update(owner=tombstone())
        yield


PART = PersonalData(
    export=_export,
    erase=_erase,
    goes=("your benchmarks on which nothing was ranked",),
    stays=("benchmarks on which something was ranked, under their names",),
)
