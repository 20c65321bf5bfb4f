"""Which run of a study is made next, and the lease of the worker that makes it.

Runs are made when no training waits, each by one worker. People are served in turn, whatever their studies have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import CharField, F, Value
from django.db.models.functions import Cast, Concat, Greatest, LPad, Now

from apps.accounts import quotas
from apps.admission.line import Line, note_spent, rows
from apps.holders import new_token
from apps.jobs import admission
from apps.jobs.models import Job
from apps.studies.models import Study, StudyRun, StudyRunQuerySet
from gem.studies.study import Run, read_plan
from gem.studies.study import Study as Plan

LINE = Line("studies")
GAVE_UP = "The workers that made this run died every time."


@dataclass(frozen=True)
class RunClaim:
    """A run that a worker owns while its lease lasts."""

    pk: str
    token: UUID
    study_id: str
    owner_id: int
    number: int
    run: Run
    plan_data: Mapping[str, Any]
    keeps_policy: bool

    @cached_property
    def plan(self) -> Plan:
        """The plan of the study. Reading it makes its environments, which can take longer than a lease lasts unless the
        lease is renewed meanwhile.

        Raises:
            InvalidArgument: if gemweb was upgraded since the study was started, and does not take it any more.
        """
        return read_plan(self.plan_data, self.study_id)

    @property
    def owned(self) -> StudyRunQuerySet:
        """The row, if it is still owned and its study goes on."""
        return StudyRun.objects.to_make().owned_by(self.token).filter(pk=self.pk)

    def renew(self) -> int:
        """Prolong the lease. Returns whether it still held."""
        return self.owned.renew()

    def holds(self) -> bool:
        """Whether the lease still holds."""
        return self.owned.exists()


def claim() -> RunClaim | None:
    """Lease the run that is next; None if there is none."""
    token = new_token()
    keys = LINE.claim(_rows(_waiting()), _busy(), token, 1)
    if not keys:
        return None
    with transaction.atomic():
        row = StudyRun.objects.select_related("study").get(pk=keys[0])
        StudyRun.objects.filter(pk=row.pk).update(began=Now())
        started = Study.objects.filter(pk=row.study_id, state=Study.State.QUEUED)
        started.update(state=Study.State.RUNNING, started=Now())
    keeps = row.study.keeps_policies and not row.run.is_trial and not row.run.is_untrained
    return RunClaim(
        row.pk, token, row.study_id, row.study.owner_id, row.number, row.run, row.study.plan_data, keeps_policy=keeps
    )


def worn() -> list[StudyRun]:
    """Runs whose workers have died each time."""
    return list(StudyRun.objects.to_make().worn().select_related("study"))


def give_back(owned: RunClaim) -> None:
    """End the lease of a run that goes on later. It does not count as an attempt."""
    StudyRun.objects.owned_by(owned.token).filter(pk=owned.pk).release(attempt=0)


def try_again(owned: RunClaim) -> None:
    """End the lease of a run that was not made this time. It counts as an attempt."""
    StudyRun.objects.owned_by(owned.token).filter(pk=owned.pk).release()


def postpone(owned: RunClaim) -> None:
    """End the lease of a run that a fault of the infrastructure interrupted. It does not count as an attempt."""
    rows = StudyRun.objects.owned_by(owned.token).filter(pk=owned.pk)
    rows.release(attempt=Greatest(F("attempt") - 1, 0))


def gives_way(owned: RunClaim, *, is_slice_over: bool) -> bool:
    """Whether a worker should give its run back: a training waits, or, after a while, a run of somebody else."""
    if admission.next_jobs(Job.Kind.TRAINING):
        return True
    if not is_slice_over:
        return False
    others = _waiting().exclude(study__owner=owned.owner_id)
    busy = StudyRun.objects.filter(lease_until__gt=Now()).values("study__owner")
    return others.exclude(study__owner__in=busy).exists()


def note_time(owned: RunClaim, seconds: float) -> None:
    """Note for how long a worker was busy, so that others are next."""
    note_spent(LINE.name, f"user:{owned.owner_id}", "", seconds)


def _waiting() -> StudyRunQuerySet:
    """The runs that a worker may claim now."""
    return StudyRun.objects.to_make().claimable().exclude(study__owner__in=quotas.people_over_cpu())


def _rows(waiting: StudyRunQuerySet) -> StudyRunQuerySet:
    number = LPad(Cast(F("number"), CharField()), 8, Value("0"))
    return rows(waiting, since="study__created", unit=Concat(F("study_id"), Value(":"), number))


def _busy() -> StudyRunQuerySet:
    return _rows(StudyRun.objects.filter(lease_until__gt=Now()))
