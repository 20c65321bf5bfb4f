"""`gemweb jobs`: list jobs, show one with its results, or change how one runs."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gem.cli.output.tables import table
from gem.cli.output.terminal import printable
from gem.cli.server import connection
from gem.cli.server.connection import check_logged_in, connect, moment, print_json, share
from gem.cli.server.controls import CONTROLS, control
from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.schemas import Job, Missing, Score

HELP = "show this job; or a command and a job: " + ", ".join(f"{name} JOB" for name in CONTROLS)
STATES = ("queued", "running", "paused", "done", "stopped", "decided", "cancelled", "failed")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("words", nargs="*", metavar="JOB", help=HELP)
    parser.add_argument("--all", action="store_true", dest="of_all", help="list those of everybody, not only yours")
    parser.add_argument("--kind", choices=["evaluation", "training"], help="list only these")
    parser.add_argument("--state", choices=STATES, help="list only those in this state")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="list at most this many (20)")
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
    """List jobs, show one, or change how one runs."""
    is_control = bool(words) and words[0] in CONTROLS
    if len(words) > 1 and not is_control:
        known = ", ".join(CONTROLS)
        raise UsageError(f"Write gemweb jobs, gemweb jobs JOB, or gemweb jobs COMMAND JOB, with one of {known}.")
    if not words and not of_all:
        check_logged_in(url, "gemweb jobs --all lists the jobs of everybody without it.")
    with connect(url) as client:
        if is_control:
            job, said = control(client, words[0], words[1:])
            print_json(job) if as_json else print(f"The job {job.id} is {job.state}. {said}")
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
            ["environment", "episodes", "seeds", "solved", "95 % interval", "mean return", "unreadable", "missing"],
            [_score_row(score) for score in [*results.environments, results.total]],
        )
        print_missing(results.missing)
        for use in results.data:
            if use.stands_in_for:
                print(f"{use.env_id}: {use.name} ({use.hash[:12]}) in place of {use.stands_in_for}.")


def print_missing(missing: Missing | None) -> None:
    """Say what is missing from partial results."""
    if missing is None:
        return
    low, high = share(missing.success_rate.low), share(missing.success_rate.high)
    print(
        f"Partial: {missing.counted:,} of {missing.planned:,} episodes count. With all missing ones lost, {low} would "
        f"be solved; with all won, {high}."
    )
    if missing.cut_off:
        print(f"Being played when the job was stopped: {missing.cut_off:,}. The results favour short episodes.")


def print_job(job: Job) -> None:
    """Print one job in a few lines."""
    reason = f" ({job.reason})" if job.reason else ""
    print(printable(f"{job.kind} {job.id} {job.name}: {job.state}{reason}"))
    left = "" if job.seconds_left is None else f", about {job.seconds_left:,.0f} s left"
    print(f"{job.agent}, {job.episodes_done:,} of {job.episodes_total:,} episodes{left}{_starts(job)}. {job.url}")


def _starts(job: Job) -> str:
    """Say when a queued job starts, as far as the server knows."""
    found = job.start
    if found is None:
        return f", {job.jobs_ahead:,} ahead of it" if job.jobs_ahead else ""  # a server of an earlier version
    ahead = f", {found.ahead:,} ahead of it" if found.ahead else ""
    if found.waits_for_midnight:
        return f"{ahead}, waits until midnight UTC, because today's CPU seconds are used up"
    if found.seconds is None:
        return f"{ahead}, starts when a worker runs"
    if found.unknown:
        return f"{ahead}, starts in {found.seconds:,.0f} s at the earliest ({found.unknown:,} of unknown length)"
    return f"{ahead}, starts in about {found.seconds:,.0f} s"


def _score_row(score: Score) -> list[str]:
    interval = "" if score.low is None or score.high is None else f"{share(score.low)} to {share(score.high)}"
    mean = "" if score.mean_return is None else f"{score.mean_return:.3f}"
    name = score.env_id or "all"
    unreadable = share(score.unreadable / score.actions) if score.actions and score.unreadable is not None else ""
    solved = share(score.success_rate)
    return [
        name, f"{score.counted:,}", f"{score.seeds:,}", solved, interval, mean, unreadable, f"{score.missing:,}"
    ]  # fmt: skip
