"""Adding benchmarks, checking them in workers, and opening and deleting them."""

from __future__ import annotations

import logging
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from apps.accounts import quotas
from apps.accounts.models import User
from apps.benchmarks.limits import BENCHMARKS
from apps.benchmarks.models import MAX_NAME, BenchmarkVersion, OwnBenchmark
from apps.episodes.errors import Refusal
from apps.episodes.text import storable
from apps.faults import infrastructure_fault
from apps.queue import enqueue
from apps.seasons.models import Season
from apps.visibility import Visibility, as_open_as
from gem import benchmarks
from gem.benchmarks import document
from gem.check import benchmark_file
from gem.errors import GemError, InvalidArgument

logger = logging.getLogger(__name__)

TASK = "verify.benchmarks"
MAX_BYTES = 1_000_000
MOST_VERSIONS = 100
"""Versions of one benchmark. None is ever deleted, because rows refer to them."""
State = BenchmarkVersion.State


class BenchmarkRefused(Refusal):
    """A benchmark that is not added, with all reasons."""

    status = 422
    title = "This benchmark cannot be added"

    def __init__(self, reasons: list[str], *, status: int = 422) -> None:
        super().__init__(" ".join(reasons))
        self.reasons, self.status = reasons, status


def add(owner: User, text: str, visibility: str = "") -> BenchmarkVersion:
    """Add a benchmark, or a new version of one of this person's. A worker checks what its environments are.

    Args:
        text: the file. Its name is that of the benchmark behind its owner's.
        visibility: who may see it; a new version leaves that as it is.

    Raises:
        BenchmarkRefused: with everything that is wrong with its form, or because there is no room. Nothing is added.
    """
    data = _read(text)
    name = f"{slugify(owner.get_username()) or f'user-{owner.pk}'}.{data['name']}"
    if len(name) > MAX_NAME:
        raise BenchmarkRefused([f"The name {name} is too long: shorten it in the file."])
    try:
        with transaction.atomic():
            User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent calls count each other
            row = _find_or_make(owner, name, visibility)
            return _add_version(row, data)
    except IntegrityError as error:
        raise BenchmarkRefused([f"Somebody else has a benchmark {name}. Choose another name."], status=409) from error


def _read(text: str) -> dict[str, Any]:
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise BenchmarkRefused([f"A benchmark has at most {MAX_BYTES:,} bytes."])
    try:
        data = document.parse(text)
    except InvalidArgument as error:
        raise BenchmarkRefused([str(error)]) from error
    if found := document.problems(data):
        raise BenchmarkRefused(found)
    assert isinstance(data, dict)  # otherwise there is a problem
    own = [each["name"] for each in data.get("members", []) if benchmarks.is_own(str(each["name"]))]
    if own:
        raise BenchmarkRefused(
            [f"{own[0]} was added by a person; only benchmarks that come with gemweb can be members."]
        )
    return data


def _find_or_make(owner: User, name: str, visibility: str) -> OwnBenchmark:
    row = OwnBenchmark.objects.filter(owner=owner, name=name).first()
    if row is not None:
        return row
    if problem := quotas.refusal(owner, BENCHMARKS):
        raise BenchmarkRefused([problem], status=429)
    return OwnBenchmark.objects.create(owner=owner, name=name, visibility=visibility or Visibility.PRIVATE)


def _add_version(row: OwnBenchmark, data: dict[str, Any]) -> BenchmarkVersion:
    versions = BenchmarkVersion.objects.filter(benchmark=row)
    newest = versions.exclude(state=State.REFUSED).order_by("-number").first()
    if newest is not None and data["version"] <= newest.number:
        raise BenchmarkRefused(
            [
                f"{row.name} has version {newest.number} already, and versions never change: write a higher one into "
                f"the file."
            ],
            status=409,
        )
    if versions.exclude(state=State.REFUSED).count() >= MOST_VERSIONS:
        raise BenchmarkRefused(
            [f"{row.name} has {MOST_VERSIONS} versions, the most that one may have. Give the file another name."],
            status=409,
        )
    versions.filter(state=State.REFUSED).delete()
    version = BenchmarkVersion.objects.create(benchmark=row, number=data["version"], document=data)
    enqueue(TASK, str(version.pk))
    return version


def check(version_id: int) -> None:
    """Check a version in a worker: whether what it says of its environments is true. A second call changes nothing."""
    version = BenchmarkVersion.objects.filter(pk=version_id, state=State.CHECKING).first()
    if version is None:
        return
    try:
        problems = benchmark_file.problems(version.document)
        notes = [] if problems else benchmark_file.notes(version.document)
    except GemError as error:  # an environment that fails to be made
        problems, notes = [str(error)], []
    except Exception as error:  # an environment may fail in any way; without a verdict it would be checked for ever
        if infrastructure_fault(error) is not None:
            raise
        logger.exception("%s cannot be checked", version)
        problems, notes = [f"It could not be checked: {type(error).__name__}: {storable(str(error))[:500]}"], []
    BenchmarkVersion.objects.filter(pk=version_id, state=State.CHECKING).update(
        state=State.REFUSED if problems else State.READY, problems=problems, notes=notes
    )


def wake_workers() -> int:
    """Send the messages about versions that wait to be checked. Returns their number."""
    waiting = list(BenchmarkVersion.objects.filter(state=State.CHECKING).values_list("pk", flat=True))
    for key in waiting:
        enqueue(TASK, str(key))
    return len(waiting)


def open_up(row: OwnBenchmark, visibility: Visibility) -> None:
    """Let more people see a benchmark.

    Raises:
        BenchmarkRefused: if that would close it to somebody, who may have rows on it.
    """
    with transaction.atomic():
        row = OwnBenchmark.objects.select_for_update(no_key=True).get(pk=row.pk)
        if visibility not in as_open_as(row.visibility):
            raise BenchmarkRefused(
                [f"{row.name} is {row.visibility} and cannot be made less visible: others may have rows on it."],
                status=409,
            )
        OwnBenchmark.objects.filter(pk=row.pk).update(visibility=visibility)


def delete(row: OwnBenchmark) -> None:
    """Delete a benchmark on which nothing was ranked.

    Raises:
        BenchmarkRefused: if it has had a season, whose rows and certificates name it.
    """
    if Season.objects.filter(benchmark=row.name).exists():
        raise BenchmarkRefused(
            [f"{row.name} has had a season, and rows refer to it, so it cannot be deleted."], status=409
        )
    row.delete()
