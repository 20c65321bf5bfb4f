"""`gemweb leaderboard`: the ranking of agents on a benchmark."""

from __future__ import annotations

import argparse

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.cli.server.connection import connect, print_json, share

HEADINGS = [
    "agent", "rank", "score", "95 % interval", "solved", "unreadable", "episodes", "tokens per episode", "tier", "job"
]  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("benchmark", nargs="?", default="games", metavar="BENCHMARK", help="games, unless you name one")
    parser.add_argument("--env", metavar="ID", help="rank by this environment alone")
    parser.add_argument("--tools", action="store_true", help="the agents with tools, which are ranked apart")
    parser.add_argument("--season", type=int, metavar="NUMBER", help="a season; the newest one unless you name one")
    connection.add_arguments(parser)


def run(benchmark: str, env: str | None, tools: bool, season: int | None, url: str | None, as_json: bool) -> int:
    """Print the newest score of each agent, the best first."""
    with connect(url) as client:
        board = client.leaderboards.get(benchmark, env_id=env, tools=tools, season=season)
    if as_json:
        print_json(board)
        return 0
    where = (f", season {board.season}" if board.season else "") + (f", {board.env_id}" if board.env_id else "")
    if not board.items:
        print(f"Nobody is ranked on {board.benchmark} version {board.version}{where} yet.")
        return 0
    print(f"{board.benchmark}, version {board.version}{where}. Score: 0 is the random agent, 1 the anchor.")
    rows = []
    for row in board.items:
        tokens = "" if row.tokens_per_episode is None else f"{row.tokens_per_episode:,.0f}"
        interval = "none" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"
        solved = share(row.success_rate)
        unreadable = share(row.unreadable / row.actions) if row.actions and row.unreadable is not None else ""
        rows.append(
            [
                row.agent,
                row.rank,
                f"{row.score:.3f}",
                interval,
                solved,
                unreadable,
                f"{row.episodes:,}",
                tokens,
                row.tier,
                row.job,
            ]
        )
    table(HEADINGS, rows)
    if any(not row.rank for row in board.items):
        print("Rows without a rank have yet to be compared with the others.")
    return 0
