"""`gemweb jobs`: list jobs, show one with its results, or cancel one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.cli.server.connection import connect, moment, print_json, share
from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.schemas import Job, Score

STATES = ("queued", "running", "paused", "done", "stopped", "cancelled", "failed")
CANCEL = "cancel"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("words", nargs="*", metavar="JOB", help="show this job; cancel JOB cancels it")
    parser.add_argument("--all", action="store_true", dest="of_all", help="list those of everybody, not only yours")
    parser.add_argument("--kind", choices=["evaluation", "training"], help="list only these")
    parser.add_argument("--state", choices=STATES, help="list only those in this state")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="list at most so many (20)")
    connection.add_arguments(parser)


def run(
    words: list[str],
    of_all: bool,
    kind: str | None,
    state: str | None,
    most: int,
    url: str | None,
    as_json: bool,
) -> int:
    """List jobs, show one, or cancel one."""
    if len(words) > 2 or (len(words) == 2 and words[0] != CANCEL) or words == [CANCEL]:
        raise UsageError("Write gemweb jobs, gemweb jobs JOB, or gemweb jobs cancel JOB.")
    with connect(url) as client:
        if words[:1] == [CANCEL]:
            job = client.jobs.cancel(words[1])
            print_json(job) if as_json else print(f"The job {job.id} is {job.state}. Finished episodes are kept.")
        elif words:
            _show(client, words[0], as_json=as_json)
        else:
            _list(client, of_all=of_all, kind=kind, state=state, most=most, as_json=as_json)
    return 0


def _list(client: Client, *, of_all: bool, kind: str | None, state: str | None, most: int, as_json: bool) -> None:
    mine = None if of_all else True
    jobs = list(client.jobs.list(kind=kind, state=state, mine=mine, most=most))  # type: ignore[arg-type]  # choices
    if as_json:
        print_json(jobs)
        return
    if not jobs:
        print("There is no such job." if of_all else "You have no such job; --all lists those of everybody.")
        return
    rows = []
    for job in jobs:
        done = f"{job.episodes_done:,} of {job.episodes_total:,}"
        rows.append([job.id, job.kind, job.state, job.agent, done, moment(job.created), job.name])
    table(["job", "kind", "state", "agent", "episodes", "submitted (UTC)", "name"], rows)


def _show(client: Client, job_id: str, *, as_json: bool) -> None:
    job = client.jobs.get(job_id)
    if as_json:
        print_json(job)
        return
    print_job(job)
    if job.kind == "evaluation" and job.episodes_done:
        results = client.jobs.results(job_id)
        print()
        table(
            ["environment", "episodes", "solved", "95 % interval", "mean return", "errors"],
            [_score_row(score) for score in [*results.environments, results.total]],
        )


def print_job(job: Job) -> None:
    """Print one job in a few lines."""
    reason = f" ({job.reason})" if job.reason else ""
    print(f"{job.kind} {job.id} {job.name}: {job.state}{reason}")
    left = "" if job.seconds_left is None else f", about {job.seconds_left:,.0f} s left"
    ahead = "" if not job.jobs_ahead else f", {job.jobs_ahead:,} ahead of it"
    print(f"{job.agent}, {job.episodes_done:,} of {job.episodes_total:,} episodes{left}{ahead}. {job.url}")


def _score_row(score: Score) -> list[str]:
    interval = "" if score.low is None or score.high is None else f"{share(score.low)} to {share(score.high)}"
    mean = "" if score.mean_return is None else f"{score.mean_return:.3f}"
    name = score.env_id or "all"
    return [name, f"{score.counted:,}", share(score.success_rate), interval, mean, f"{score.errors:,}"]
