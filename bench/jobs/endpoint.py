"""How well one worker keeps a model server busy.

An evaluation of an endpoint agent is played against a local server that answers every request after 300 ms, with a
token budget, so that every request is reserved and booked in Postgres. The ideal is what a worker would reach that
needs no time itself: the episodes that were played, in their order, each on the first free of 64 (or 256) places.
Beside it: the processor time of the worker and of everything else (Postgres), and what the server has served against
the books.
"""

from __future__ import annotations

import argparse
import asyncio
import heapq
import json
import subprocess
import sys
from typing import Any

import psutil

from bench.jobs.workers import seconds_of, seconds_of_others, start_workers, wait_for_end
from bench.stack import Stack, machine, print_table

ENV_ID = "game:GuessTheNumber-v0-hard"
ANSWER_SECONDS = 0.3
TARGETS = {64: 0.90, 256: 0.85}
"""The share of the ideal rate by the number of episodes at a time."""
HEADINGS = (
    "at a time", "episodes", "turns", "ideal turns/s", "measured", "share", "target", "worker CPU", "others' CPU",
    "served = booked",
)  # fmt: skip
WARM_UP = 8


def measure_endpoint(made: Stack, chosen: argparse.Namespace) -> None:
    """Play against a server of a process of its own, with one worker process."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.jobs.model_server", str(ANSWER_SECONDS)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        worker = start_workers(made, 1, PRIVATE_ENDPOINTS=f"127.0.0.1:{port}", ENDPOINT_CONCURRENCY="256")
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
    before, others_before = seconds_of(worker), seconds_of_others(worker, ignored)
    job = _play(port, places * rounds, places)
    used, others = seconds_of(worker) - before, seconds_of_others(worker, ignored) - others_before
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


def _play(port: int, episodes: int, places: int) -> Any:
    """Submit an evaluation with a budget that is never used up, and wait for its end."""
    from apps.accounts.models import User
    from apps.agents import operations as agents
    from apps.jobs import operations
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
    return wait_for_end(job)


def _served(port: int) -> int:
    """The tokens that the server has served."""

    async def ask() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /served HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        content = await reader.read()
        writer.close()
        return int(json.loads(content.partition(b"\r\n\r\n")[2])["tokens"])

    return asyncio.run(ask())
