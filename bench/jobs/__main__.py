"""How fast evaluations are: `python -m bench.jobs` measures every part, `--only NAME` one of them.

`endpoint`: how well one worker keeps a model server busy. `recording`: an evaluation that stores all its turns, beside
the engine alone and COPY alone. `queueing`: whether 20 people with 10,000 queued jobs are served equally, and how long
a submission takes then. `export`: the turns of an evaluation as a Parquet file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

from bench.jobs.endpoint import measure_endpoint
from bench.jobs.export import measure_export
from bench.jobs.queueing import measure_queueing
from bench.jobs.recording import measure_recording
from bench.stack import Stack, stack


class Part(NamedTuple):
    """What is measured on a stack of its own."""

    measure: Callable[[Stack, argparse.Namespace], None]
    settings: Mapping[str, str]
    """Settings of the stack."""


PARTS = {
    "endpoint": Part(measure_endpoint, {}),
    "recording": Part(measure_recording, {"EPISODES_PER_JOB": "10000000"}),
    "queueing": Part(
        measure_queueing,
        {"JOBS_QUEUED_PER_USER": "100000", "JOBS_RUNNING_PER_USER": "100000", "CPU_SECONDS_PER_DAY": "100000"},
    ),
    "export": Part(measure_export, {}),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.jobs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=sorted(PARTS), help="measure only this part")
    parser.add_argument("--at-a-time", type=int, action="append", help="of endpoint: 64 and 256 if it is left out")
    parser.add_argument("--rounds", type=int, default=12, help="of endpoint: episodes for each place (12)")
    parser.add_argument("--processes", type=int, help="worker processes of recording (as many as `make up` starts)")
    parser.add_argument("--turns", type=int, default=1_000_000, help="of recording and export (1,000,000)")
    parser.add_argument("--jobs", type=int, default=10_000, help="of queueing (10,000)")
    parser.add_argument("--seconds", type=float, default=30.0, help="of queueing: for how long it is played (30)")
    chosen = parser.parse_args()
    if chosen.only is None:
        for name in PARTS:  # each in a process of its own, with a stack of its own
            subprocess.run([sys.executable, "-m", "bench.jobs", "--only", name, *sys.argv[1:]], check=True)
        return
    part = PARTS[chosen.only]
    os.environ.update(part.settings)
    with stack() as made:
        part.measure(made, chosen)


if __name__ == "__main__":
    main()
