"""Profiles of agents, composed of the results of their evaluations: the newest of each version and environment.

A profile is composed when an evaluation ends. It names the jobs behind its numbers, so that the page can leave out
those that have become private or were hidden since (`pages`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from apps.agents.models import Agent
from apps.jobs.models import Checkpoint, Job
from apps.standings.models import JobResult, Profile

MOST_JOBS = 400
"""The newest evaluations of an agent that are looked at."""
MOST_VERSIONS = 5
MOST_ENVIRONMENTS = 100


@dataclass(frozen=True, slots=True)
class Member:
    """An agent of a family: itself, or the checkpoints of one training."""

    agent_id: int
    label: str
    """`update 40`; empty for an agent that is no checkpoint."""
    order: int


def family_of(agent: Agent) -> list[Member]:
    """The agents that are versions of one another: of a training, its checkpoints and the agent with its newest one."""
    training = Job.objects.trainings().filter(agent=agent).first()
    if training is None:
        training = Job.objects.trainings().filter(checkpoints__agent=agent).first()
    if training is None:
        return [Member(agent.pk, "", 0)]
    rows = Checkpoint.objects.filter(job=training).order_by("update").values_list("agent", "update")
    checkpoints = [Member(agent_id, f"update {update:,}", update) for agent_id, update in rows]
    newest = checkpoints[-1].order if checkpoints else 0
    return [*checkpoints, Member(training.agent_id, "newest", newest + 1)]


def refresh(agent_id: int) -> Profile | None:
    """Compose the profile of an agent anew, and those of its family; None if there is no such agent."""
    agent = Agent.objects.filter(pk=agent_id).first()
    if agent is None:
        return None
    members = family_of(agent)
    content = compose(members)
    for member in members:
        Profile.objects.update_or_create(agent_id=member.agent_id, defaults={"content": content})
    return Profile.objects.get(agent=agent)


def compose(members: Iterable[Member]) -> dict[str, Any]:
    """What a profile keeps: `cells`, each the newest result of a version in an environment, and `totals`."""
    by_agent = {member.agent_id: member for member in members}
    jobs = Job.objects.evaluations().published().filter(state=Job.State.DONE)
    results = JobResult.objects.filter(agent__in=by_agent, job__in=jobs).order_by("-ended")[:MOST_JOBS]
    cells: dict[tuple[Any, ...], dict[str, Any]] = {}
    versions: dict[tuple[int, int], dict[str, Any]] = {}
    totals = {"jobs": 0, "episodes": 0, "tokens": 0}
    for result in results:
        member = by_agent[result.agent_id]
        totals["jobs"] += 1
        version = (member.order, result.version)
        versions.setdefault(
            version,
            {
                "agent": result.agent_id,
                "label": member.label or f"v{result.version}",
                "order": list(version),
                "ended": result.ended.isoformat(),
            },
        )
        for measured in result.environments:
            totals["episodes"] += measured["n"]
            totals["tokens"] += measured["tokens"] or 0
            place = (version, measured["env_id"], result.setting)
            if place not in cells and len(cells) < MOST_VERSIONS * MOST_ENVIRONMENTS:
                cells[place] = {
                    **measured,
                    "job": result.job_id,
                    "agent": result.agent_id,
                    "version": list(version),
                    "setting": result.setting,
                }
    kept = sorted(versions)[-MOST_VERSIONS:]
    newest = [cell for cell in cells.values() if kept and tuple(cell["version"]) == kept[-1] and not cell["setting"]]
    return {
        "newest": {
            "share": sum(cell["solved"][0] or 0.0 for cell in newest) / len(newest),
            "environments": len(newest),
            "jobs": sorted({cell["job"] for cell in newest}),
        }
        if newest
        else None,
        "versions": [versions[version] for version in kept],
        "cells": [cell for cell in cells.values() if tuple(cell["version"]) in kept],
        "totals": totals,
    }
