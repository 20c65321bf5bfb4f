"""Whether an agent that we hold chooses the same actions again: programs of ours always, policies on an equal machine.

A policy computes with floating-point numbers, whose last digits depend on the build of torch, on the kind of CPU and on
the number of threads. Where these are not those of the worker that played, other actions prove nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path

from django.db.models import Case, Value, When

from apps.agents.models import Agent, Weights
from apps.agents.players import player
from apps.jobs.models import Job, Shard
from apps.seasons.models import COMMON
from gem.agents import AnyAgent
from gem.errors import AgentStopped
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest, rollout

AT_A_TIME = 16
SEVERAL = "several"
"""In the place of the machine of a shard that different machines have played."""


def is_held(job: Job) -> bool:
    """Whether everything that acts in the episodes of a job is held by this site: no endpoint and no MCP server.

    Such jobs share their seeds.
    """
    return job.batch.season_id is not None and job.batch.submission == COMMON


def note_machine(shard_id: int, agent: Agent) -> None:
    """Note on which kind of machine, and from which weights, a policy plays a shard."""
    own = machine_of(agent)
    known = Case(When(machine__in=["", own], then=Value(own)), default=Value(SEVERAL))
    Shard.objects.filter(pk=shard_id).update(machine=known)


def machine_of(agent: Agent) -> str:
    """What the choices of an agent depend on here besides what it reads; empty for programs, which always repeat."""
    if agent.kind != Agent.Kind.CHECKPOINT:
        return ""
    weights = Weights.objects.filter(agent=agent).values_list("sha256", flat=True).first() or "none"
    return f"weights {weights[:16]}, {_machine()}"


def is_comparable(job: Job) -> bool:
    """Whether the job was played on machines on which the agent has to choose the same actions as here."""
    return set(job.shards.values_list("machine", flat=True)) <= {machine_of(job.agent)}


class Repetition:
    """Lets the agent of a job play episodes again, and compares what it chooses."""

    def __init__(self, job: Job) -> None:
        self._agent: AnyAgent = player(job.agent)
        slug = job.spec.get("opponent")
        self._opponent = player(Agent.objects.get(slug=slug)) if slug else None

    def first_difference(self, records: Iterable[EpisodeRecord]) -> tuple[str, int, int] | None:
        """The environment, index and turn of the first other choice; None if there is none.

        Episodes that failed or were cut are left out: what ended them is not the agent's choice alone.
        """
        wanted = {record.index: record for record in records if not record.failure and not record.cut}
        requests = [_request(record) for record in wanted.values()]
        found = []
        for again in rollout(self._agent, requests, num_envs=AT_A_TIME, opponent=self._opponent):
            record = wanted[again.index]
            turn = _first_other(actions_of(record), actions_of(again))
            if turn:
                found.append((record.identity.env_id, record.index, turn))
        return min(found, key=lambda place: place[1], default=None)


def actions_of(record: EpisodeRecord) -> list[str]:
    """The actions of all turns."""
    return [turn.action for turn in record.turns]


def repetition_of(job: Job) -> Repetition | None:
    """What repeats the choices of a job; None if somebody who acts in it is not held here, or not any more."""
    if not is_held(job):
        return None
    try:
        return Repetition(job)
    except AgentStopped:
        return None


def _request(record: EpisodeRecord) -> EpisodeRequest:
    identity = record.identity
    return EpisodeRequest(
        record.index, identity.env_id, identity.seed, identity.env_kwargs, identity.wrappers, record.seat
    )


def _first_other(played: Sequence[str], again: Sequence[str]) -> int:
    """The number of the first turn with another action, from 1; 0 if there is none."""
    for number, (one, other) in enumerate(zip(played, again, strict=False), start=1):
        if one != other:
            return number
    return 0 if len(played) == len(again) else min(len(played), len(again)) + 1


@cache
def _machine() -> str:
    """The build of torch, the kind of CPU and the number of threads."""
    try:
        torch = metadata.version("torch")
    except metadata.PackageNotFoundError:
        torch = "none"
    return f"torch {torch}, {_cpu()}, {os.environ.get('OMP_NUM_THREADS') or os.cpu_count()} threads"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return "unknown CPU"
    found = (line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "CPU part")))
    return next(found, "unknown CPU")[:80]
