"""When queued jobs start: the line of admission (`apps.jobs.admission`) with the paces measured so far.

Everybody who waits gets equal parts of the workers; the site gets what they leave. So a job starts when its owner's
part has done what comes before it (`_own_seconds`), and until then everybody else has got as much, or all that they
have. What nothing is known of counts as nothing, and how many jobs that are is said: the time is then the least that it
can be. Runs of studies are not counted, because they give way to a training that waits once they have saved a
checkpoint.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from threading import Lock, Thread
from time import monotonic
from typing import NamedTuple

import redis
from django.conf import settings
from django.db import connection
from django.db.models import Count, F, Max, Sum

from apps.accounts import quotas
from apps.agents.models import Agent
from apps.jobs import admission
from apps.jobs.estimates.paces import paces
from apps.jobs.kinds import kind_of
from apps.jobs.models import Job, Shard
from apps.queue import workers_alive

SHARED_SECONDS = 3
"""How long the requests of one process share what was read of a line."""
SHORT = 500
"""Up to so many jobs, a line is read again as soon as something has changed in it. A longer one is read beside the
requests, which meanwhile go by what was read before.
"""
QUEUES = {Job.Kind.EVALUATION: "evaluate", Job.Kind.TRAINING: "train"}


@dataclass(frozen=True, slots=True)
class Start:
    """When a queued job starts, as far as anybody can tell."""

    ahead: int
    """The queued jobs that start before it at most."""
    seconds: float | None
    """From now; None if there is no worker, or if it waits for midnight."""
    unknown: int = 0
    """Jobs before it of which nothing is known. If there are some, `seconds` is the least that it can be."""
    over_cpu: bool = False
    """Whether its owner has used up their CPU seconds of today, so that it waits until midnight, UTC."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a job that waits or runs will still take."""

    job_id: str
    is_running: bool
    order: tuple[int, str, str]
    """The place among the queued jobs of its owner."""
    seconds: float
    """Of one worker; what is unknown counts as nothing."""
    is_known: bool
    """Whether all of it is known."""


@dataclass(frozen=True, slots=True)
class Line:
    """All jobs of one kind that wait or run, by owner; 0 is the site."""

    works: Mapping[int, Sequence[Work]] = field(default_factory=dict)
    caps: Mapping[int, int | None] = field(default_factory=dict)
    """How many jobs of an owner may run at the same time, where this is not the limit of everybody."""
    cap: int | None = None
    workers: int = 0
    busy: int = 0
    """Workers that play."""
    slice_seconds: float = admission.SLICE_SECONDS
    """After so long a worker gives a shard back if somebody else waits."""
    is_whole: bool = False
    """Whether a job is one shard, as a training is: its worker plays nothing else of its owner before it has ended."""
    served: Sequence[int] = ()
    """The owners in the order in which they are served next."""
    over_cpu: frozenset[int] = frozenset()


def starts_of(jobs: Iterable[Job]) -> dict[str, Start]:
    """When these jobs start, by id; those that are not queued are left out."""
    queued = [job for job in jobs if job.state == Job.State.QUEUED]
    lines = {kind: line_of(Job.Kind(kind)) for kind in {job.kind for job in queued}}
    return {job.pk: start(lines[job.kind], job.owner_id or 0, place_of(job)) for job in queued}


def start_of(job: Job) -> Start | None:
    """When this job starts; None if it is not queued."""
    return starts_of([job]).get(job.pk)


def start_of_new(kind: Job.Kind, owner_id: int | None, priority: int = 0) -> Start:
    """When a job starts that this person would submit now."""
    return start(line_of(kind), owner_id or 0, (-priority, "~", ""))


def place_of(job: Job) -> tuple[int, str, str]:
    """What the queued jobs of one owner are sorted by."""
    return (-job.priority, job.created.isoformat(), job.pk)


def start(line: Line, owner: int, place: tuple[int, str, str]) -> Start:
    """When a job of this owner starts that has this place among their queued jobs."""
    if owner:  # the jobs of the site come after those of all people
        line = replace(line, works={other: works for other, works in line.works.items() if other})
    ahead = _ahead(line, owner, place)
    if owner in line.over_cpu:
        return Start(ahead, None, over_cpu=True)
    if not line.workers:
        return Start(ahead, None)
    own, unknown = _own_seconds(line, owner, place)
    seconds = own
    if own or unknown:
        for other, works in line.works.items():
            if other != owner and other not in line.over_cpu:
                seconds += min(own, sum(work.seconds for work in works))
                unknown += sum(not work.is_known for work in works)
    if line.is_whole and (own or unknown):  # the worker that is awaited is one of its owner
        return Start(ahead, seconds / line.workers, unknown)
    return Start(ahead, seconds / line.workers + _turn(line, owner), unknown)


def _ahead(line: Line, owner: int, place: tuple[int, str, str]) -> int:
    """See `admission.jobs_ahead`, which counts the same in the database."""
    own = sum(not work.is_running and work.order < place for work in line.works.get(owner, ()))
    others = (works for other, works in line.works.items() if other != owner)
    return own + sum(min(own + 1, sum(not work.is_running for work in works)) for works in others)


def _own_seconds(line: Line, owner: int, place: tuple[int, str, str]) -> tuple[float, int]:
    """The work on jobs of this owner until the job may start, in seconds, and how many of these are unknown.

    The owner's running jobs get equal parts, and a queued one starts when fewer run than may run. No more of them run
    than there are workers if each keeps its worker.
    """
    works = line.works.get(owner, ())
    running = _running(line, owner)
    before = sorted((work for work in works if not work.is_running and work.order < place), key=lambda work: work.order)
    cap = line.caps.get(owner, line.cap) if owner else None
    if line.is_whole:
        cap = line.workers if cap is None else min(cap, line.workers)
    free = len(before) + 1 if cap is None else cap - len(running)
    entering = iter(before)
    ends = [(work.seconds, work.job_id) for work in running]
    ends += [(work.seconds, work.job_id) for work in islice(entering, max(0, free))]
    heapq.heapify(ends)
    missing = len(before) + 1 - free
    if missing <= 0:
        return 0.0, 0
    own = each = 0.0
    for _ in range(missing):
        if not ends:
            break
        end, _job = heapq.heappop(ends)
        own, each = own + (end - each) * (len(ends) + 1), end
        following = next(entering, None)
        if following is not None:
            heapq.heappush(ends, (each + (following.seconds), following.job_id))
    return own, sum(not work.is_known for work in [*running, *before])


def _turn(line: Line, owner: int) -> float:
    """Seconds until a worker asks for work of this owner, if one of their jobs may start: parts of jobs are played for
    some seconds before others have their turn."""
    if line.busy < line.workers:
        return 0.0
    before = line.served.index(owner) if owner in line.served else len(line.served)
    slices = (before + 1) * line.slice_seconds / line.workers
    if not line.is_whole:
        return slices
    ends = _ends(line, owner)
    for _ in range(before):
        heapq.heappush(ends, heapq.heappop(ends) + line.slice_seconds)
    return ends[0] if _running(line, owner) else min(slices, ends[0])


def _ends(line: Line, owner: int) -> list[float]:
    """When each worker is free for this owner, as a heap: its job ends, or gives way (`admission.should_yield`)."""
    own, ends = len(_running(line, owner)), []
    for other in line.works:
        running = _running(line, other)
        gives_way = other != owner and (not own or own + 1 < len(running))
        for work in running:
            seconds = work.seconds if work.is_known else line.slice_seconds
            ends.append(min(seconds, line.slice_seconds) if gives_way else seconds)
    ends += [line.slice_seconds] * (line.workers - len(ends))
    heapq.heapify(ends)
    return ends


def _running(line: Line, owner: int) -> list[Work]:
    return [work for work in line.works.get(owner, ()) if work.is_running]


# ------------------------------------------------------------------ reading the line


def line_of(kind: Job.Kind) -> Line:
    """The line of one kind of job, which requests share for seconds; a short one only while nothing changes."""
    known = _known.get(kind)
    if known is not None and not known.changes:
        if known.until < monotonic() and _is_free.acquire(blocking=False):
            Thread(target=_read_beside, args=(kind,), name="line", daemon=True).start()
        return known.line
    changes = _changes(kind)
    if known is None or known.changes != changes or known.until < monotonic():
        known = _known[kind] = _Known(changes, monotonic() + SHARED_SECONDS, _read(kind))
    return known.line


class _Known(NamedTuple):
    """A line that was read in this process."""

    changes: str
    """What is different as soon as something changes in it; empty for a long one."""
    until: float
    line: Line


_known: dict[str, _Known] = {}
_is_free = Lock()
"""Held while a line is read beside requests."""


def _changes(kind: Job.Kind) -> str:
    active = Job.objects.active().filter(kind=kind)
    seen = active.aggregate(jobs=Count("pk"), seqs=Sum("seq"), newest=Max("created"), last=Max("pk"))
    return f"{seen['jobs']}:{seen['seqs']}:{seen['newest']}:{seen['last']}" if seen["jobs"] <= SHORT else ""


def _read_beside(kind: Job.Kind) -> None:
    """Read a long line again. It may have become short."""
    try:
        _known[kind] = _Known(_changes(kind), monotonic() + SHARED_SECONDS, _read(kind))
    finally:
        connection.close()
        _is_free.release()


def _read(kind: Job.Kind) -> Line:
    active = Job.objects.active().filter(kind=kind).order_by()
    running = Shard.objects.filter(state=Shard.State.RUNNING, job__kind=kind).order_by()
    seconds = _of_evaluations() if kind == Job.Kind.EVALUATION else {job.pk: _of_training(job) for job in active}
    works: dict[int, list[Work]] = defaultdict(list)
    for job_id, owner_id, state, priority, created in active.values_list(
        "pk", "owner_id", "state", "priority", "created"
    ):
        least, is_known = seconds.get(job_id, (0.0, True))
        place = (-priority, created.isoformat(), job_id)
        works[owner_id or 0].append(Work(job_id, state == Job.State.RUNNING, place, least, is_known))
    served = dict.fromkeys(candidate.owner_id or 0 for candidate in admission.next_jobs(kind))
    return Line(
        works=dict(works),
        caps=quotas.overrides(quotas.JOBS_RUNNING),
        cap=quotas.default_limit(quotas.JOBS_RUNNING),
        workers=_workers(kind),
        busy=running.values("lease_token").distinct().count(),
        slice_seconds=admission.SLICE_SECONDS if kind == Job.Kind.EVALUATION else settings.TRAINING_SLICE_SECONDS,
        is_whole=kind == Job.Kind.TRAINING,
        served=list(served),
        over_cpu=frozenset(quotas.people_over_cpu()),
    )


def _workers(kind: Job.Kind) -> int:
    try:
        return sum(worker.queue == QUEUES[kind] for worker in workers_alive())
    except redis.RedisError:
        return 0


def _of_evaluations() -> dict[str, tuple[float, bool]]:
    """The seconds of one worker that the open episodes of each job take, and whether all of them are known."""
    rows = (
        Shard.objects.filter(job__in=Job.objects.active().filter(kind=Job.Kind.EVALUATION), skipped=False)
        .exclude(state=Shard.State.DONE)
        .values("job", "job__agent", "env_id")
        .annotate(left=Sum(F("count") - F("done")))
        .order_by()
    )
    listed = [(row["job"], row["job__agent"], row["env_id"], row["left"]) for row in rows if row["left"]]
    env_ids: dict[int, set[str]] = defaultdict(set)
    for _, agent_id, env_id, _ in listed:
        env_ids[agent_id].add(env_id)
    measured = {agent.pk: paces(agent, env_ids[agent.pk]) for agent in Agent.objects.filter(pk__in=env_ids)}
    found: dict[str, tuple[float, bool]] = {}
    for job_id, agent_id, env_id, left in listed:
        least, is_known = found.get(job_id, (0.0, True))
        pace = measured.get(agent_id, {}).get(env_id)
        found[job_id] = (least + left * pace.seconds, is_known) if pace is not None else (least, False)
    return found


def _of_training(job: Job) -> tuple[float, bool]:
    left = kind_of(job).seconds_left(job)
    return (0.0, False) if left is None else (left, True)
