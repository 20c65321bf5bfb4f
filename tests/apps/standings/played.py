"""Evaluations that are played in this transaction, without workers."""

from __future__ import annotations

from django.db.models.functions import Now

from apps.accounts.models import User
from apps.jobs import leases, operations
from apps.jobs.models import Job
from gem.agents import make_agent
from gem.evaluation.spec import EvaluationSpec
from gem.rollout import rollout


def played(owner: User | None, spec: EvaluationSpec, visibility: str = "public") -> Job:
    """An evaluation by built-in agents that is done."""
    job = operations.submit(owner, spec, visibility=visibility)
    while (claim := leases.claim()) is not None:
        opponent = make_agent(claim.opponent.slug) if claim.opponent else None
        records = rollout(make_agent(claim.agent.slug), claim.slots(), num_envs=4, opponent=opponent)
        leases.record_episodes(claim, sorted(records, key=lambda record: record.index))
    Job.objects.filter(pk=job.pk).update(state=Job.State.DONE, ended=Now())
    return Job.objects.get(pk=job.pk)
