"""The workers that the parts of this benchmark measure: start them, wait for jobs, and read their processor time."""

from __future__ import annotations

import time
from typing import Any

import psutil

from bench.stack import Stack
from gemweb.local import services

PATIENCE = 290.0


def start_workers(made: Stack, slots: int, **settings: str) -> psutil.Process:
    """Start a worker with so many processes that play, and the scheduler; return the worker's first process."""
    running = None
    for service in services.workers(made.env | {"WORKER_SLOTS": str(slots)} | settings):
        if service.name in {"worker", "scheduler"}:
            started = made.run(service)
            running = started if service.name == "worker" else running
    assert running is not None
    from apps.queue import workers_alive

    deadline = time.monotonic() + PATIENCE
    while sum(worker.queue == "evaluate" for worker in workers_alive()) < slots:
        if time.monotonic() > deadline:
            raise SystemExit("The workers did not start.")
        time.sleep(0.1)
    return psutil.Process(running.process.pid)


def wait_for_end(job: Any) -> Any:
    """Wait until a job is done, and return its row."""
    from apps.jobs.models import Job

    deadline = time.monotonic() + PATIENCE
    while not job.over:
        if time.monotonic() > deadline:
            raise SystemExit(f"The job is still {job.state} at {job.episodes_done:,} episodes.")
        time.sleep(0.1)
        job = Job.objects.get(pk=job.pk)
    if job.state != Job.State.DONE:
        raise SystemExit(f"The job ended as {job.state}: {job.reason}")
    return job


def seconds_of(process: psutil.Process) -> float:
    """Processor seconds of a process and its children."""
    times = [part.cpu_times() for part in (process, *process.children(recursive=True))]
    return sum(time_.user + time_.system for time_ in times)


def seconds_of_others(worker: psutil.Process, ignored: set[int]) -> float:
    """Processor seconds of Postgres, Valkey and the scheduler: all children but the worker and the model server."""
    own = {worker.pid, *(child.pid for child in worker.children(recursive=True)), *ignored}
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        if process.pid not in own:
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system
    return total
