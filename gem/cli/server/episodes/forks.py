"""`gemweb forks`: the tree of an episode, and its branches as data for training."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.cli.server.connection import connect, print_json
from gem.cli.server.episodes.fork import returns
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.client.schemas import ForkTree

STDOUT = "-"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("episode", metavar="EPISODE", help="the id of any episode of the tree")
    parser.add_argument(
        "--export",
        choices=("pairs", "turns", "episodes"),
        help="write JSON lines: preference pairs, states with all actions taken in them, or whole episodes",
    )
    parser.add_argument("--gap", type=float, metavar="RETURN", help="of pairs: the least difference of returns (0.1)")
    parser.add_argument("--end", action="append", default=[], metavar="ID", help="use only these branches; repeatable")
    parser.add_argument("--out", default=STDOUT, metavar="FILE", help="of an export; - is standard output (-)")
    connection.add_arguments(parser)


def run(
    episode: str,
    export: Literal["pairs", "turns", "episodes"] | None,
    gap: float | None,
    end: list[str],
    out: str,
    url: str | None,
    as_json: bool,
) -> int:
    """Print the tree, or write its export."""
    with connect(url) as client, ExitStack() as stack:
        if export is None:
            tree = client.episodes.forks(episode)
            print_json(tree) if as_json else _print_tree(tree, episode)
            return 0
        file = sys.stdout.buffer if out == STDOUT else stack.enter_context(Path(out).open("wb"))
        lines = 0
        for part in client.episodes.export_forks(episode, export, gap=gap, ends=end):
            file.write(part)
            lines += part.count(b"\n")
        file.flush()
    print(count(lines, "line"), file=sys.stderr)
    return 0


def _print_tree(tree: ForkTree, here: str) -> None:
    """Print a row for each branch; the one that was asked for has a star."""
    rows = []
    for branch in tree.branches:
        row = branch.episode
        agents = " and ".join(seat.agent_name for seat in row.seats)
        begins = "" if branch.parent is None else f"{branch.fork_turn} of {branch.parent}"
        shares = "" if branch.shares_with is None else f"{branch.shared_turns} with {branch.shares_with}"
        star = "*" if row.id == here else ""
        rows.append([row.id + star, agents, row.outcome, returns(row), f"{row.turn_count}", begins, shares])
    table(["episode", "agent", "outcome", "return", "turns", "from turn", "shares turns"], rows)
    if tree.left_out:
        print(f"A tree has at most 64 branches; {tree.left_out:,} more can be found from these.")
