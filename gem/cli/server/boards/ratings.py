"""`gemweb ratings`: the duel board."""

from __future__ import annotations

import argparse

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.cli.server.connection import connect, print_json

HEADINGS = ["agent", "rank", "rating", "95 % interval", "won", "tied", "lost"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    connection.add_arguments(parser)


def run(url: str | None, as_json: bool) -> int:
    """Print the ratings of all agents, the strongest first, and the game that tells most next."""
    with connect(url) as client:
        board = client.ratings.get()
    if as_json:
        print_json(board)
        return 0
    if not board.items:
        print("Nobody has played a public two-player game yet.")
        return 0
    print(f"{board.games:,} games. The mean rating is 1,500; 400 points mean odds of ten to one.")
    table(
        HEADINGS,
        [
            [
                row.agent,
                row.rank,
                f"{row.rating:,.0f}",
                f"{row.low:,.0f} to {row.high:,.0f}",
                *(f"{count:,}" for count in (row.won, row.tied, row.lost)),
            ]
            for row in board.items
        ],
    )
    if board.next_game is not None:
        game = board.next_game
        print(f"The most informative next game: {game.first} against {game.second} in {game.env_id}")
    return 0
