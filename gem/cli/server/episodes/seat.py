"""`gemweb seat`: take the seat of an agent that plays live, play some turns, leave it a note, and hand back."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from gem.cli.server import connection
from gem.cli.server.connection import connect, print_json

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.schemas import Episode

POLL_SECONDS = 1.0
"""How often the command asks whether a worker has let go of an episode."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="take|play|note|back")
    take = verbs.add_parser("take", help="Take the seat; the agent waits.", description="Take the seat of an agent.")
    take.add_argument("episode", metavar="EPISODE", help="a live episode that you may control, or a job with --slot")
    take.add_argument("--slot", type=int, metavar="PLACE", help="of a job: the place of an episode that is under way")
    take.add_argument("--seat", type=int, metavar="N", help="of several seats: which, from 1 (the one to act)")
    play = verbs.add_parser("play", help="Play a turn.", description="Play a turn in the seat that you have taken.")
    play.add_argument("episode", metavar="EPISODE")
    play.add_argument("action", metavar="ACTION", help="the text that an agent would send")
    note = verbs.add_parser("note", help="Leave a note for the agent.", description="Leave a note for the agent.")
    note.add_argument("episode", metavar="EPISODE")
    note.add_argument("text", metavar="TEXT", help="up to 500 characters")
    back = verbs.add_parser("back", help="Hand back.", description="Hand back: the agent goes on.")
    back.add_argument("episode", metavar="EPISODE")
    back.add_argument("--note", default="", metavar="TEXT", help="a last note for the agent")
    for verb in (take, play, note, back):
        connection.add_arguments(verb)


def run(
    verb: str,
    episode: str,
    url: str | None,
    as_json: bool,
    seat: int | None = None,
    action: str = "",
    text: str = "",
    note: str = "",
    slot: int | None = None,
) -> int:
    """Run one of the verbs, and print what is read now."""
    verbs: dict[str, Callable[[Client], Episode]] = {
        "take": lambda client: (
            client.episodes.take_seat(episode, None if seat is None else seat - 1)
            if slot is None
            else _take_from_job(client, episode, slot)
        ),
        "play": lambda client: _play(client, episode, action),
        "note": lambda client: client.episodes.leave_note(episode, text),
        "back": lambda client: client.episodes.hand_back(episode, note),
    }
    with connect(url) as client:
        found = verbs[verb](client)
    if as_json:
        print_json(found)
        return 0
    if slot is not None:
        print(f"{found.url}\n")
    if verb in ("take", "play"):
        print(found.observation)
    if found.outcome != "running":
        print(f"The episode is over: {found.outcome}.")
    return 0


def _play(client: Client, episode: str, action: str) -> Episode:
    """Play a turn in the episode as it is now."""
    seen = client.episodes.get(episode)
    return client.episodes.take_turn(episode, action, expected_seq=seen.seq).episode


def _take_from_job(client: Client, job: str, slot: int) -> Episode:
    """Take the seat in an episode of a job, as soon as its worker has let go of it."""
    said = False
    while (found := client.jobs.take_seat(job, slot).episode) is None:
        if not said:
            print("The worker releases the episode at its next turn.", file=sys.stderr)
            said = True
        time.sleep(POLL_SECONDS)
    return found
