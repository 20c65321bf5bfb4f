"""How fast an evaluation stores all its turns, beside what the engine and Postgres can do alone.

As many worker processes as `make up` starts here play the random agent in three environments. In the same run, and one
after the other: the engine alone plays episodes of the same environments with the same seeds in this process, and one
connection puts rows of the evaluation into Postgres by COPY alone. Memory is that of the workers.
"""

from __future__ import annotations

import argparse
import math
import threading
import time
from collections.abc import Sequence

import psutil

from bench.jobs.export import ENV_IDS, EPISODES
from bench.jobs.workers import seconds_of, start_workers, wait_for_end
from bench.stack import Stack, machine, print_table
from gemweb.local import services

TURNS_OF_A_TRY = 334_000
"""Turns of the random agent in `EPISODES` episodes of each environment."""
SAMPLE = 1500
"""Episodes of each environment that the engine plays alone; four times as many are copied."""
WARM_UP = 2000
"""Episodes of each environment before, so that the site knows how long they take and shards have their usual size."""
AGENT = "random"
NUM_ENVS = 16
SHARE_OF_ENGINE, SHARE_OF_COPY = 0.6, 0.5
MAX_GROWTH = 1.1
"""What memory may be at the end, as a multiple of what it was after a tenth of the turns."""
TABLES = {
    "episodes_episode": "id",
    "episodes_seat": "episode_id",
    "episodes_turn": "episode_id",
}
"""The tables of recorded episodes, each with its column for the episode."""


def measure_recording(made: Stack, chosen: argparse.Namespace) -> None:
    """Play a job, then the engine alone, then COPY alone."""
    from apps.jobs import operations
    from gem.evaluation.spec import EvaluationSpec

    repeats = max(1, math.ceil(chosen.turns / TURNS_OF_A_TRY))
    episodes = EPISODES if chosen.turns >= TURNS_OF_A_TRY else math.ceil(EPISODES * chosen.turns / TURNS_OF_A_TRY)
    processes = chosen.processes or services.worker_slots()
    worker = start_workers(made, processes, SITE_ROWS="0")
    wait_for_end(operations.submit(None, EvaluationSpec(agent=AGENT, env_ids=ENV_IDS, episodes_per_env=WARM_UP)))
    used = seconds_of(worker)
    spec = EvaluationSpec(
        agent=AGENT, env_ids=ENV_IDS, episodes_per_env=episodes, repeats=repeats, num_envs=NUM_ENVS, max_error_share=1
    )
    job = operations.submit(None, spec)
    with MemoryOf(worker, job.episodes_total, job.pk) as memory:
        job = wait_for_end(job)
    used = seconds_of(worker) - used
    measured = job.turns_done / (job.ended - job.started).total_seconds()
    alone, used_alone = rate_of_engine()
    copied = rate_of_copy(job.batch_id, 4 * SAMPLE * len(ENV_IDS))
    target = min(SHARE_OF_ENGINE * alone, SHARE_OF_COPY * copied)
    print(f"{', '.join(ENV_IDS)}; {AGENT} agent, {processes} worker processes, {machine()}")
    print_table(
        [
            (
                "turns",
                "turns/s",
                "engine alone",
                "COPY alone",
                "target",
                "",
                "CPU of the workers",
                "of the engine alone",
            ),
            (
                f"{job.turns_done:,}",
                f"{measured:,.0f}",
                f"{alone:,.0f} ({measured / alone:.0%})",
                f"{copied:,.0f} ({measured / copied:.0%})",
                f"{target:,.0f}",
                "met" if measured >= target else "missed",
                f"{1e6 * used / job.turns_done:.1f} µs/turn",
                f"{1e6 * used_alone:.1f} µs/turn",
            ),
        ]
    )
    first, last = memory.after_a_tenth, memory.values[-1]
    verdict = "flat" if last <= MAX_GROWTH * first else "it grows"
    print(f"memory of the workers: {first:,.0f} MiB after a tenth, {last:,.0f} MiB at the end: {verdict}")


class MemoryOf:
    """Reads the memory of the processes that play, in MiB, while the block lasts."""

    def __init__(self, worker: psutil.Process, episodes: int, job_id: str) -> None:
        self.values: list[float] = []
        self.after_a_tenth = 0.0
        self._processes = worker.children(recursive=True)
        self._episodes = episodes
        self._job_id = job_id
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> MemoryOf:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _read(self) -> None:
        from django.db import connection

        from apps.jobs.models import Job

        while True:
            is_over = self._is_over.wait(0.5)
            self.values.append(sum(process.memory_info().rss for process in self._processes) / 2**20)
            if not self.after_a_tenth and Job.objects.get(pk=self._job_id).episodes_done >= self._episodes / 10:
                self.after_a_tenth = self.values[-1]
            if is_over:
                connection.close()
                return


def rate_of_engine() -> tuple[float, float]:
    """Turns a second of the engine alone, and the processor seconds of a turn."""
    from gem.agents import make_agent
    from gem.rollout import EpisodeRequest, rollout

    def requests(first_seed: int, episodes: int) -> list[EpisodeRequest]:
        return [EpisodeRequest(place, env_id, first_seed + place) for env_id in ENV_IDS for place in range(episodes)]

    agent = make_agent(AGENT)
    for _ in rollout(agent, requests(0, 16), num_envs=NUM_ENVS):  # loads words and compiles patterns
        pass
    started, used = time.perf_counter(), time.process_time()
    turns = sum(record.turn_count for record in rollout(agent, requests(0, SAMPLE), num_envs=NUM_ENVS))
    return turns / (time.perf_counter() - started), (time.process_time() - used) / turns


def rate_of_copy(batch_id: str, episodes: int) -> float:
    """Turns a second of COPY alone: rows of a job are taken out of the database, and put back into empty tables."""
    from django.db import connection

    with connection.cursor() as cursor:
        keys = "SELECT id FROM episodes_episode WHERE batch_id = %s ORDER BY random() LIMIT %s"
        cursor.execute(keys, [batch_id, episodes])
        chosen = [key for (key,) in cursor.fetchall()]
        cursor.execute("SELECT sum(turn_count) FROM episodes_episode WHERE id = ANY(%s)", [chosen])
        turns = int(cursor.fetchone()[0])
    return turns / seconds_of_copy(chosen)


def seconds_of_copy(keys: Sequence[str]) -> float:
    """Take these episodes out of the database, empty it of all episodes, and put them back by COPY: its seconds."""
    from django.db import connection, transaction

    rows: dict[str, bytes] = {}
    with connection.cursor() as cursor:
        for table, column in TABLES.items():
            with cursor.copy(f"COPY (SELECT * FROM {table} WHERE {column} = ANY(%s)) TO STDOUT", [list(keys)]) as out:
                rows[table] = b"".join(bytes(part) for part in out)
        cursor.execute("TRUNCATE episodes_episode CASCADE")
        started = time.perf_counter()
        with transaction.atomic():
            for table in TABLES:
                with cursor.copy(f"COPY {table} FROM STDIN") as copy:
                    copy.write(rows[table])
        return time.perf_counter() - started
