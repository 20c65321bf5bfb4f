"""How well the site keeps model servers busy: `python -m bench.jobs`.

`endpoint`: an evaluation of an endpoint agent against a local server that answers every request after 300 ms, with a
token budget, so that every request is reserved and booked in Postgres. The ideal is what a worker would reach that
needs no time itself: the episodes that were played, in their order, each on the first free of 64 (or 256) places.
Beside it: the processor time of the worker and of everything else (Postgres), and what the server has served against
the books.

`export`: the turns of an evaluation as a Parquet file; see `bench.jobs_export`.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil

from bench.jobs_export import measure_export
from bench.stack import Stack, machine, print_table, stack
from gemweb.local import services

ENV_ID = "game:GuessTheNumber-v0-hard"
ANSWER_SECONDS = 0.3
TARGETS = {64: 0.90, 256: 0.85}
"""The share of the ideal rate by the number of episodes at a time."""
HEADINGS = (
    "at a time", "episodes", "turns", "ideal turns/s", "measured", "share", "target", "worker CPU", "others' CPU",
    "served = booked",
)  # fmt: skip
WARM_UP = 8
PATIENCE = 280.0


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=sorted(PARTS), action="append", help="measure only this part")
    parser.add_argument("--at-a-time", type=int, action="append", help="of endpoint: 64 and 256 if it is left out")
    parser.add_argument("--rounds", type=int, default=12, help="of endpoint: episodes for each place (12)")
    parser.add_argument("--turns", type=int, default=1_000_000, help="of export (1,000,000)")
    chosen = parser.parse_args()
    with stack() as made:
        for name in chosen.only or sorted(PARTS):
            PARTS[name](made, chosen)


# ------------------------------------------------------------------ endpoint


def measure_endpoint(made: Stack, chosen: argparse.Namespace) -> None:
    """Play against a server of a process of its own, with one worker process."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.jobs_server", str(ANSWER_SECONDS)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        worker = _start_worker(made, port)
        _play(port, WARM_UP, WARM_UP)
        print(f"{ENV_ID}, answers after {1000 * ANSWER_SECONDS:.0f} ms, one worker process, {machine()}")
        for places in chosen.at_a_time or TARGETS:
            print_table([HEADINGS, _measure(port, places, chosen.rounds, worker, {server.pid})])
    finally:
        server.kill()
        server.wait()


def _measure(port: int, places: int, rounds: int, worker: psutil.Process, ignored: set[int]) -> tuple[str, ...]:
    from apps.episodes.models import Episode
    from apps.jobs.books.reading import books_of

    served = _served(port)
    before, others_before = _seconds(worker), _seconds_of_others(worker, ignored)
    job = _play(port, places * rounds, places)
    used, others = _seconds(worker) - before, _seconds_of_others(worker, ignored) - others_before
    lengths = list(Episode.objects.filter(batch=job.batch_id).order_by("slot").values_list("turn_count", flat=True))
    seconds = (job.ended - job.started).total_seconds()
    ideal = sum(lengths) / (ANSWER_SECONDS * ideal_rounds(lengths, places))
    measured = sum(lengths) / seconds
    target = TARGETS.get(places)
    books = books_of(job.pk)
    return (
        str(places),
        f"{len(lengths):,}",
        f"{sum(lengths):,}",
        f"{ideal:,.1f}",
        f"{measured:,.1f}",
        f"{measured / ideal:.1%}",
        "" if target is None else f"{target:.0%}: {'met' if measured / ideal >= target else 'missed'}",
        f"{1000 * used / sum(lengths):.2f} ms/turn",
        f"{1000 * others / sum(lengths):.2f} ms/turn",
        "yes" if books.tokens == _served(port) - served and not books.estimated else f"no, {books}",
    )


def ideal_rounds(lengths: list[int], places: int) -> int:
    """The number of answers that follow one another, if each episode begins on the first free place."""
    free = [0] * places
    for length in lengths:
        heapq.heappush(free, heapq.heappop(free) + length)
    return max(free)


def _start_worker(made: Stack, port: int) -> psutil.Process:
    """Start a worker with one slot, and return its process that plays."""
    settings = {"WORKER_SLOTS": "1", "PRIVATE_ENDPOINTS": f"127.0.0.1:{port}", "ENDPOINT_CONCURRENCY": "256"}
    running = None
    for service in services.workers(made.env | settings):
        if service.name in {"worker", "scheduler"}:
            started = made.run(service)
            running = started if service.name == "worker" else running
    assert running is not None
    from apps.queue import workers_alive

    deadline = time.monotonic() + PATIENCE
    while not any(worker.queue == "evaluate" for worker in workers_alive()):
        if time.monotonic() > deadline:
            raise SystemExit("The worker did not start.")
        time.sleep(0.1)
    return psutil.Process(running.process.pid)


def _play(port: int, episodes: int, places: int) -> Any:
    """Submit an evaluation with a budget that is never used up, and wait for its end."""
    from apps.accounts.models import User
    from apps.agents import operations as agents
    from apps.jobs import operations
    from apps.jobs.models import Job
    from gem.agents.endpoint import EndpointSpec
    from gem.evaluation.spec import EvaluationSpec

    owner, _ = User.objects.get_or_create(username="bench")
    agent = agents.create(
        owner,
        f"server {places}",
        EndpointSpec(url=f"http://127.0.0.1:{port}/v1", model="bisect", max_tokens=64, concurrency=places),
    )
    spec = EvaluationSpec(
        agent=agent.slug, env_ids=(ENV_ID,), episodes_per_env=episodes, num_envs=places, token_budget=10**9
    )
    job = operations.submit(owner, spec)
    deadline = time.monotonic() + PATIENCE
    while not job.over:
        if time.monotonic() > deadline:
            raise SystemExit(f"The job is still {job.state} at {job.episodes_done:,} episodes.")
        time.sleep(0.1)
        job = Job.objects.get(pk=job.pk)
    if job.state != Job.State.DONE:
        raise SystemExit(f"The job ended as {job.state}: {job.reason}")
    return job


def _served(port: int) -> int:
    """The tokens that the server has served."""

    async def ask() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /served HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        content = await reader.read()
        writer.close()
        return int(json.loads(content.partition(b"\r\n\r\n")[2])["tokens"])

    return asyncio.run(ask())


def _seconds(process: psutil.Process) -> float:
    """Processor seconds of a process and its children."""
    times = [part.cpu_times() for part in (process, *process.children(recursive=True))]
    return sum(time_.user + time_.system for time_ in times)


def _seconds_of_others(worker: psutil.Process, ignored: set[int]) -> float:
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


PARTS: dict[str, Callable[[Stack, argparse.Namespace], None]] = {
    "endpoint": measure_endpoint,
    "export": measure_export,
}

if __name__ == "__main__":
    main()
