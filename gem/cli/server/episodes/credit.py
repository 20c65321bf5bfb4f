"""`gemweb credit`: what each turn of an episode was given, and what it was worth."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.cli.server.connection import connect, print_json
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.schemas import Truth

POLL_SECONDS = 1.0
"""How often the command asks whether a measurement is done."""
ROWS = ("reward", "return_to_go", "reinforce", "rebn", "grpo", "ppo")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("episode", metavar="EPISODE", help="the id of an episode that is over")
    parser.add_argument("--discount", type=float, default=0.9, metavar="GAMMA", help="from 0.5 to 1 (0.9)")
    parser.add_argument(
        "--measure", metavar="AGENT", help="let this agent continue it: its own, expert or random; waits for the result"
    )
    parser.add_argument(
        "--continuations", type=int, default=64, choices=(16, 64, 256), help="of each kind and turn (64)"
    )
    parser.add_argument("--turn", type=int, metavar="N", help="measure only this turn")
    connection.add_arguments(parser)


def run(
    episode: str,
    discount: float,
    measure: str | None,
    continuations: int,
    turn: int | None,
    url: str | None,
    as_json: bool,
) -> int:
    """Print a row for each turn; the true advantages are those that were measured."""
    with connect(url) as client:
        if measure is not None:
            truth = client.episodes.measure(episode, agent=measure, continuations=continuations, turn=turn)  # type: ignore[arg-type]  # one of the choices
            if _wait(client, truth).state == "failed":
                print(client.episodes.truth(episode, truth.id).detail, file=sys.stderr)
        credit = client.episodes.credit(episode, discount=discount)
    if as_json:
        print_json(credit)
        return 0
    rows: list[list[str]] = []
    for turn_credit in credit.turns:
        cells = [_signed(getattr(turn_credit, name)) for name in ROWS]
        for truth in credit.truths:
            found = next((each for each in truth.turns if each.turn == turn_credit.turn), None)
            half = "" if found is None or found.half_width is None else f" \u00b1 {found.half_width:.2f}"
            cells.append("" if found is None else f"{_signed(found.mean)}{half}")
        rows.append([str(turn_credit.turn), *cells])
    measured = [f"true, {truth.agent}, {truth.continuations}" for truth in credit.truths]
    table(["turn", *(name.replace("_", "-") for name in ROWS), *measured], rows)
    others = f"{count(len(credit.batch), 'other episode')} (ReBN), {len(credit.group)} (GRPO)"
    print(f"Discount {credit.discount:g}. Compared with {others}.")
    return 0


def _wait(client: Client, truth: Truth) -> Truth:
    """Wait until a measurement has ended, and say how far it is."""
    detail = ""
    while truth.state == "waiting":
        if truth.detail != detail:
            detail = truth.detail
            print(detail, file=sys.stderr)
        time.sleep(POLL_SECONDS)
        truth = client.episodes.truth(truth.episode, truth.id)
    return truth


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.3f}"
