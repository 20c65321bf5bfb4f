"""How fast an evaluation goes end to end: `python -m bench.evaluation`.

A job of 10,000 episodes (random agent, GuessTheNumber-v0-hard) is submitted to a stack of its own with two worker
processes; the clock runs from the submission to the end of the job, when every episode, seat and turn is in Postgres
and the job's page has been told. Beside it: the raw rate at which Postgres takes the very same rows by COPY, and the
processor time that workers, Postgres and Valkey spent together, which says what two idle cores could do where other
programs share the machine.
"""

from __future__ import annotations

import argparse
import time
from contextlib import suppress
from typing import Any

import psutil

from bench.jobs.recording import seconds_of_copy
from bench.jobs.workers import start_workers
from bench.stack import print_table, stack

ENV_ID = "game:GuessTheNumber-v0-hard"
WORKERS = 2
WARM_UP = 50
TARGET = 2000
PATIENCE = 300.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    with stack() as made:
        start_workers(made, WORKERS)
        _run(WARM_UP)
        rows: list[tuple[str, ...]] = [
            ("run", "seconds", "episodes/s", "turns/s", "CPU seconds", "raw COPY, episodes/s")
        ]
        rates = []
        for number in range(1, chosen.runs + 1):
            before = _processor_time()
            seconds, job = _run(chosen.episodes)
            busy = _processor_time() - before
            raw = chosen.episodes / _raw_copy(job.batch_id)
            rates.append(chosen.episodes / seconds)
            turns = job.turns_done / seconds
            measured = f"{rates[-1]:,.0f}", f"{turns:,.0f}", f"{busy:.2f}", f"{raw:,.0f}"
            rows.append((str(number), f"{seconds:.2f}", *measured))
        print(f"{chosen.episodes:,} episodes of {ENV_ID}, random agent, all turns stored, {WORKERS} worker processes")
        print_table(rows)
        best, worst = max(rates), min(rates)
        print(f"{worst:,.0f} to {best:,.0f} episodes/s; target {TARGET:,}: {'met' if worst >= TARGET else 'missed'}")


def _run(episodes: int) -> tuple[float, Any]:
    """Submit a job and wait for its end: the seconds it took, and the job."""
    from apps.jobs import operations
    from apps.jobs.models import Job
    from gem.evaluation.spec import EvaluationSpec

    request = {"agent": "random", "env_ids": [ENV_ID], "episodes_per_env": episodes, "num_envs": 32}
    spec = EvaluationSpec.model_validate(request)
    started = time.perf_counter()
    job = operations.submit(None, spec)
    while not job.over:
        if time.perf_counter() - started > PATIENCE:
            raise SystemExit(f"the job is still {job.state} at {job.episodes_done:,} episodes")
        time.sleep(0.02)
        job = Job.objects.get(pk=job.pk)
    seconds = time.perf_counter() - started
    if job.state != Job.State.DONE or job.batch.episodes.count() != episodes:
        raise SystemExit(f"the job ended as {job.state}: {job.reason}")
    return seconds, job


def _processor_time() -> float:
    """Seconds of processor time that the stack's processes have used so far."""
    used = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used += times.user + times.system
    return used


def _raw_copy(batch_id: str) -> float:
    """Take the job's rows out of Postgres and put them back by COPY alone: the seconds that took."""
    from apps.episodes.models import Episode

    return seconds_of_copy(list(Episode.objects.filter(batch=batch_id).values_list("pk", flat=True)))


if __name__ == "__main__":
    main()
