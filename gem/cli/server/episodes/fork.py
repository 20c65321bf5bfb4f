"""`gemweb fork`: continue an episode from any of its turns."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.cli.server.connection import connect, print_json

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.schemas import EpisodeSummary

POLL_SECONDS = 1.0
"""How often the command asks whether the branches have ended."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("episode", metavar="EPISODE", help="the id of an episode that is over or still runs")
    parser.add_argument("turn", type=int, metavar="TURN", help="the turn to continue after; 0 is the reset")
    parser.add_argument("--agent", metavar="AGENT", help="who continues (yourself, in the browser)")
    parser.add_argument("--count", "-k", type=int, default=1, metavar="K", help="how many times at once (1)")
    parser.add_argument(
        "--pace", type=float, metavar="SECONDS", help="between two turns (1; with -k as fast as possible)"
    )
    parser.add_argument("--follow", action="store_true", help="wait until all have ended, and print their returns")
    connection.add_arguments(parser)


def run(
    episode: str,
    turn: int,
    agent: str | None,
    count: int,
    pace: float | None,
    follow: bool,
    url: str | None,
    as_json: bool,
) -> int:
    """Begin the branches and print their addresses or, with `--follow`, how they ended."""
    with connect(url) as client:
        rows: list[EpisodeSummary]
        if agent is None:
            rows = [client.episodes.fork(episode, turn)]
        else:
            rows = client.episodes.continue_with(episode, turn, agent, count=count, pace=pace).episodes
        if follow and agent is not None:
            rows = _wait(client, rows)
    if as_json:
        print_json(rows)
        return 0
    if follow and agent is not None:
        print_ends(rows)
        return 0
    for row in rows:
        print(row.url)
    return 0


def print_ends(rows: list[EpisodeSummary]) -> None:
    """Print how each episode ended."""
    cells = [
        [row.id, " and ".join(seat.agent_name for seat in row.seats), row.outcome, returns(row), f"{row.turn_count}"]
        for row in rows
    ]
    table(["episode", "agent", "outcome", "return", "turns"], cells)


def returns(row: EpisodeSummary) -> str:
    """Return the return of each seat as text; a dash where it is hidden."""
    return " / ".join("-" if seat.total_reward is None else f"{seat.total_reward:.3f}" for seat in row.seats)


def _wait(client: Client, rows: list[EpisodeSummary]) -> list[EpisodeSummary]:
    """Wait until all have ended, and say how many are left."""
    left = -1
    while running := [row for row in rows if row.outcome == "running"]:
        if len(running) != left:
            left = len(running)
            print(f"{left} of {len(rows)} still running.", file=sys.stderr)
        time.sleep(POLL_SECONDS)
        rows = [client.episodes.get(row.id) if row.outcome == "running" else row for row in rows]
    return rows
