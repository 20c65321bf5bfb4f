"""`gemweb logs`: print the log of a job, and follow it until it ends."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gem.cli.output.terminal import printable
from gem.cli.server import connection
from gem.cli.server.connection import connect
from gem.cli.server.progress import ProgressBar

if TYPE_CHECKING:
    from gem.client import Client

DONE = "done"
ENDED_WELL = frozenset({DONE, "decided"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("job", metavar="JOB")
    parser.add_argument("-f", "--follow", action="store_true", help="go on until the job ends")
    connection.add_arguments(parser)


def run(job: str, follow: bool, url: str | None, as_json: bool) -> int:
    """Print the log; with `follow`, the exit code is 1 if the job failed or was cancelled."""
    with connect(url) as client:
        if follow:
            return follow_job(client, job, as_json=as_json)
        for line in client.jobs.log(job):
            print(line.model_dump_json() if as_json else f"{line.at:%Y-%m-%d %H:%M:%S}  {printable(line.text)}")
    return 0


def follow_job(client: Client, job_id: str, *, as_json: bool) -> int:
    """Print the events of a job as they happen, and return 1 if it failed or was cancelled, else 0."""
    from gem.client import events  # noqa: PLC0415 (the other commands start faster without it)

    state: str = DONE
    with ProgressBar(f"job {job_id}", "episodes") as bar:
        for event in client.jobs.events(job_id):
            if as_json:
                print(event.model_dump_json(), flush=True)
            elif isinstance(event, events.LogEvent):
                at = "" if event.at is None else f"{event.at:%Y-%m-%d %H:%M:%S}"
                print(f"{at}  {printable(event.text)}", flush=True)
            if isinstance(event, events.JobEpisodes) and event.done is not None:
                bar(event.done, event.total)
            if isinstance(event, events.JobEnded | events.TrainingEnded):
                state = event.state or DONE
    return 0 if state in ENDED_WELL else 1
