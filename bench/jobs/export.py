"""How fast the turns of an evaluation are exported.

The turns are those of the random agent, recorded as a worker records them. They are written into a Parquet file by the
code that answers a download, in one process. Beside the rate stands how much memory the process had after a tenth of
the file and at its end: it should be the same, however long the file is.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import psutil

from bench.stack import Stack, machine, print_table

ENV_IDS = ("game:GuessTheNumber-v0-hard", "game:Minesweeper-v0-hard", "game:Wordle-v0-hard")
EPISODES, REPEATS = 10_000, 3
"""Episodes of each environment that are planned; recording stops when there are enough turns."""
TARGET = 100_000
"""Turns a second."""
HEADINGS = ("turns", "file", "seconds", "turns/s", "target", "memory after a tenth", "at the end")


def measure_export(made: Stack, chosen: argparse.Namespace) -> None:
    """Record turns, and export them."""
    from django.contrib.auth.models import AnonymousUser
    from pyarrow import parquet

    from apps.jobs.exports.writing import streamed

    started = time.perf_counter()
    job = _recorded(chosen.turns)
    print(f"{job.turns_done:,} turns were recorded in {time.perf_counter() - started:.0f} s; {machine()}")
    path = made.folder / "turns.parquet"
    process = psutil.Process()
    tenth = None
    started = time.perf_counter()
    with path.open("wb") as file:
        for piece in streamed(job, "turns", "parquet", AnonymousUser()):
            file.write(piece)
            if tenth is None and file.tell() > 2 * 2**20:
                tenth = process.memory_info().rss
    seconds = time.perf_counter() - started
    rows = parquet.read_metadata(path).num_rows
    if rows != job.turns_done:
        raise SystemExit(f"The file has {rows:,} turns of {job.turns_done:,}.")
    rate = rows / seconds
    print_table(
        [
            HEADINGS,
            (
                f"{rows:,}",
                f"{path.stat().st_size / 2**20:,.0f} MiB",
                f"{seconds:.1f}",
                f"{rate:,.0f}",
                f"{TARGET:,}: {'met' if rate >= TARGET else 'missed'}",
                f"{(tenth or process.memory_info().rss) / 2**20:,.0f} MiB",
                f"{process.memory_info().rss / 2**20:,.0f} MiB",
            ),
        ]
    )


def _recorded(turns: int) -> Any:
    """A job with so many turns."""
    from django.conf import settings

    from apps.jobs import leases, operations
    from apps.jobs.models import Job
    from gem.agents import make_agent
    from gem.evaluation.spec import EvaluationSpec
    from gem.rollout import rollout

    settings.EPISODES_PER_JOB = max(settings.EPISODES_PER_JOB, len(ENV_IDS) * EPISODES * REPEATS)
    job = operations.submit(
        None, EvaluationSpec(agent="random", env_ids=ENV_IDS, episodes_per_env=EPISODES, repeats=REPEATS)
    )
    agent = make_agent("random")
    while (job := Job.objects.get(pk=job.pk)).turns_done < turns and (claim := leases.claim()) is not None:
        leases.record_episodes(claim, list(rollout(agent, claim.slots(), num_envs=16)))
    return job
