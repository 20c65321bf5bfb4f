"""Whether 20 people with 10,000 queued jobs are served equally, and how long a submission takes with that queue.

The limits of queued and running jobs are raised. Every person has the same jobs, all but the first of which are copied
in the database; each has two environments, and so several shards. Then two worker processes play for some time, and the
order in which shards were finished is read from the log: while two people both have shards waiting, their numbers of
finished shards may differ by the number of workers plus one. Meanwhile further jobs are submitted: by the operation,
and by a request to the API in this process.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from bench.jobs.workers import start_workers
from bench.stack import Stack, machine, percentile, print_table

PEOPLE = 20
WORKERS = 2
SUBMISSIONS = 100
TARGET_MS = 100.0
SPEC = {
    "agent": "random",
    "env_ids": ("game:GuessTheNumber-v0-easy", "game:Mastermind-v0-easy"),
    "episodes_per_env": 12,
    "num_envs": 4,
}


def measure_queueing(made: Stack, chosen: argparse.Namespace) -> None:
    """Fill the queue, play, submit meanwhile, and read who was served when."""
    from django.conf import settings

    from apps.accounts.models import User
    from apps.api import operations as tokens
    from apps.jobs.models import Job

    settings.ALLOWED_HOSTS.append("testserver")
    people = [User.objects.create(username=f"person-{number}") for number in range(PEOPLE)]
    for person in people:
        _submit(person)
    _multiply(chosen.jobs)
    waiting = [_submit(people[number % PEOPLE]) for number in range(SUBMISSIONS)]
    print(f"{chosen.jobs:,} jobs of {PEOPLE} people, {WORKERS} worker processes, {machine()}")
    start_workers(made, WORKERS, SITE_ROWS="0")  # the site is served after all people
    until = time.monotonic() + chosen.seconds
    _, secret = tokens.make_token(people[-1], "bench", ["submit"])
    by_operation, by_request = [], []
    for number in range(SUBMISSIONS):
        by_operation.append(_submit(people[number % PEOPLE]))
        by_request.append(_post(secret))
    while time.monotonic() < until:
        time.sleep(0.1)
    queued = Job.objects.filter(state=Job.State.QUEUED).count()
    finished, most_apart, seconds = order_of_service()
    rows = [
        ("submission", "p50 ms", "p95 ms", "max ms", "target"),
        _row("by the operation, before workers start", waiting),
        _row("by the operation, while workers play", by_operation),
        _row("by POST /api/v1/jobs, while workers play", by_request),
    ]
    print_table(rows)
    allowed = WORKERS + 1
    verdict = "met" if most_apart <= allowed else "missed"
    print(
        f"{finished:,} shards finished at {finished / seconds:,.0f} a second, {queued:,} jobs still queued; two people "
        f"were at most {most_apart} shards apart; target {allowed}: {verdict}"
    )


def order_of_service() -> tuple[int, int, float]:
    """Read the log: the number of finished shards, the most that two people were apart, and the seconds it took.

    It is read up to the moment at which the first person has no shard left that waits.
    """
    from apps.jobs.models import JobEvent, Shard

    ends = JobEvent.objects.filter(kind=JobEvent.Kind.EPISODES, text__regex=r"^shard \d+ done")
    rows = list(ends.order_by("at", "job", "seq").values_list("job__owner", "at"))
    planned = Counter(Shard.objects.exclude(job=None).values_list("job__owner", flat=True))
    if not rows:
        raise SystemExit("No shard was finished.")
    most = most_apart((owner for owner, _ in rows), planned)
    return len(rows), most, (rows[-1][1] - rows[0][1]).total_seconds() or 1.0


def most_apart(owners: Iterable[Any], planned: Counter[Any]) -> int:
    """How far two people were apart at most, while all of them had more than `WORKERS` shards left.

    Args:
        owners: whose shard was finished, in order.
        planned: the shards of each.
    """
    done = Counter(dict.fromkeys(planned, 0))
    most = 0
    for owner in owners:
        done[owner] += 1
        if any(planned[each] - done[each] <= WORKERS for each in planned):
            break
        most = max(most, max(done.values()) - min(done.values()))
    return most


def _multiply(jobs: int) -> None:
    """Copy all jobs, with their shards, until there are so many."""
    from apps.episodes.models import Batch, make_id
    from apps.jobs.models import Job

    originals = [(job, list(job.shards.all())) for job in Job.objects.order_by("owner")]
    copies = [(*originals[number % len(originals)], Batch(kind=Batch.Kind.JOB)) for number in range(jobs - PEOPLE)]
    _store([batch for *_, batch in copies])
    copied_jobs = [(copy(job), shards, batch) for job, shards, batch in copies]
    for job, _, batch in copied_jobs:
        job.pk, job.batch = make_id(), batch
    _store([job for job, *_ in copied_jobs])
    copied_shards = [(copy(shard), job) for job, shards, _ in copied_jobs for shard in shards]
    for shard, job in copied_shards:
        shard.pk, shard.job = None, job
    _store([shard for shard, _ in copied_shards])


def _store(rows: Sequence[Any]) -> None:
    """Insert rows of one table, in transactions that are short enough for any machine."""
    for start in range(0, len(rows), 500):
        type(rows[0]).objects.bulk_create(rows[start : start + 500])


def _submit(owner: Any) -> float:
    """Submit a job; the milliseconds that it took."""
    from apps.jobs import operations
    from gem.evaluation.spec import EvaluationSpec

    spec = EvaluationSpec.model_validate(SPEC)
    began = time.perf_counter()
    operations.submit(owner, spec)
    return 1000 * (time.perf_counter() - began)


def _post(secret: str) -> float:
    from django.test import Client

    began = time.perf_counter()
    answer = Client().post(
        "/api/v1/jobs", SPEC, content_type="application/json", headers={"Authorization": f"Bearer {secret}"}
    )
    if answer.status_code != 201:
        raise SystemExit(f"The API answered {answer.status_code}: {answer.content[:300]!r}")
    return 1000 * (time.perf_counter() - began)


def _row(name: str, milliseconds: Sequence[float]) -> tuple[str, ...]:
    values = list(milliseconds)
    p95 = percentile(values, 0.95)
    verdict = f"{TARGET_MS:.0f} ms: {'met' if p95 < TARGET_MS else 'missed'}"
    return name, f"{percentile(values, 0.5):.1f}", f"{p95:.1f}", f"{max(values):.1f}", verdict
