"""`gemweb daily`: the daily seed, and how everybody did on it."""

from __future__ import annotations

import argparse

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.cli.server.connection import connect, print_json

HEADINGS = ["rank", "who", "turns", "return", "tokens", "ended"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("number", nargs="?", type=int, metavar="DAY", help="the number of an earlier day")
    connection.add_arguments(parser)


def run(number: int | None, url: str | None, as_json: bool) -> int:
    """Print a day: its environment and, when your own try or the day is over, the results."""
    with connect(url) as client:
        day = client.daily.get(number)
    if as_json:
        print_json(day)
        return 0
    print(f"Daily seed {day.number}, {day.day:%d %B %Y}: {day.env_id}. {day.url}")
    print(f"Finished by {day.people:,} people and {day.agents:,} agents. Commitment: {day.commitment}")
    if day.key is not None:
        print(f"Seed {day.seed}, key {day.key}")
    if day.verdict:
        print(f"{day.verdict}.")
    if not day.items:
        print("Results are shown when your own try is over, and to everybody when the day is over.")
        return 0
    rows = []
    for row in day.items:
        who = "you" if row.mine else row.name or "a person"
        turns = str(row.turns) if row.solved else "not solved"
        tokens = "" if row.tokens is None else f"{row.tokens:,}"
        rows.append([row.rank, who, turns, f"{row.score:.3f}", tokens, f"{row.ended:%H:%M}"])
    table(HEADINGS, rows)
    return 0
