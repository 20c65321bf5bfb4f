"""What pages and programs show of comparisons that jobs stop by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q

from apps.accounts.models import Viewer
from apps.jobs.decisions.rows import Decision
from apps.jobs.models import Job
from gem.evaluation.comparison.words import sequential_sentence

THIS, OTHER = "this agent", "the other agent"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A comparison with a job, as one person may know it."""

    decision: Decision
    other: Job | None
    """The job that it is compared with; None if it was deleted, or this person does not know of it."""
    sentence: str
    is_own: bool
    """Whether the job stops by it; otherwise the other one does."""

    def is_of(self, jobs: Sequence[Job], others: Sequence[Job]) -> bool:
        """Whether it is decided, and about these two jobs."""
        keys = {job.pk for job in (*jobs, *others)}
        return self.decision.is_decided and keys == {self.decision.job_id, self.decision.against_id}


def sentence_of(decision: Decision) -> str:
    """What the last look says, without the name of the other job."""
    return sequential_sentence(THIS, OTHER, decision.look, decision.planned)


def decision_of(job: Job) -> Decision | None:
    """The comparison that a job stops by; None if there is none."""
    return Decision.objects.filter(job=job.pk).first()


def known_other(decision: Decision | None, viewer: Viewer) -> str | None:
    """The id of the job that a job is compared with, if this person finds it in lists."""
    if decision is None or decision.against_id is None:
        return None
    return Job.objects.listed_for(viewer).filter(pk=decision.against_id).values_list("pk", flat=True).first()


def between(jobs: Sequence[Job], viewer: Viewer) -> list[Verdict]:
    """The comparisons by which some of these jobs stop, with others of them, which this person may know of."""
    rows = Decision.objects.filter(job__in=jobs, against__in=jobs).select_related("job__agent", "against__agent")
    pairs: dict[frozenset[str | None], Decision] = {}
    for row in rows.order_by("job"):
        pairs.setdefault(frozenset((row.job_id, row.against_id)), row)
    found = []
    for row in pairs.values():
        if known_other(row, viewer) is not None and row.against is not None:
            names = row.job.agent.name, row.against.agent.name
            found.append(Verdict(row, row.against, sequential_sentence(*names, row.look, row.planned), is_own=True))
    return found


def verdicts(job: Job, viewer: Viewer) -> list[Verdict]:
    """The comparison that a job stops by, and those by which other jobs stop that this person finds in lists."""
    rows = Decision.objects.filter(Q(job=job.pk) | Q(against=job.pk)).select_related("job__agent", "against__agent")
    own = next((row for row in rows if row.job_id == job.pk), None)
    others = [row for row in rows if row.job_id != job.pk and (own is None or row.job_id != own.against_id)]
    keys = [row.job_id for row in others] + ([own.against_id] if own is not None else [])
    known = Job.objects.listed_for(viewer).select_related("agent", "batch").in_bulk([key for key in keys if key])
    found = [Verdict(own, known.get(own.against_id or ""), sentence_of(own), is_own=True)] if own is not None else []
    for row in others:
        if other := known.get(row.job_id):
            names = other.agent.name, job.agent.name
            sentence = sequential_sentence(*names, row.look, row.planned)
            found.append(Verdict(row, other, sentence, is_own=False))
    return found
