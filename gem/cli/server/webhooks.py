"""`gemweb webhooks`: list your webhooks, show the log of one, or add, change and try them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.cli.server.connection import connect, moment, print_json
from gem.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import BaseModel

    from gem.client import Client

ONE, EVENTS, DELIVERY = "WEBHOOK", "WEBHOOK EVENT...", "WEBHOOK DELIVERY"
COMMANDS = {
    "add": "URL [EVENT...]",
    "events": EVENTS,
    "on": ONE,
    "off": ONE,
    "test": ONE,
    "send-again": DELIVERY,
    "delete": ONE,
}
"""The commands and their arguments."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    commands = ", ".join(f"{name} {arguments}" for name, arguments in COMMANDS.items())
    parser.add_argument("words", nargs="*", metavar="WEBHOOK", help=f"show its log; or a command: {commands}")
    parser.add_argument("--most", type=int, default=20, metavar="N", help="show at most this many deliveries (20)")
    connection.add_arguments(parser)


def run(words: list[str], most: int, url: str | None, as_json: bool) -> int:
    """List webhooks, show the log of one, or change one."""
    with connect(url) as client:
        if not words:
            _list(client, as_json=as_json)
        elif words[0] not in COMMANDS:
            if len(words) > 1:
                raise UsageError(f"Write gemweb webhooks, gemweb webhooks {ONE}, or a command: {', '.join(COMMANDS)}.")
            _show(client, _number(words[0]), most=most, as_json=as_json)
        else:
            done, said = _do(client, words[0], words[1:])
            print_json(done) if as_json and done is not None else print(said)
    return 0


def _do(client: Client, name: str, words: list[str]) -> tuple[BaseModel | None, str]:
    """Do what the command says, and return what it made or changed, with the sentence to print."""
    needed = {"add": 1, "events": 2, "send-again": 2}.get(name, 1)
    if len(words) < needed or (len(words) > needed and name not in ("add", "events")):
        raise UsageError(f"Write gemweb webhooks {name} {COMMANDS[name]}.")
    if name == "add":
        made = client.webhooks.create(words[0], words[1:] or None)
        return made, f"The webhook {made.webhook.id} is added. Its secret, which is shown only now: {made.secret}"
    number = _number(words[0])
    if name == "delete":
        client.webhooks.delete(number)
        return None, f"The webhook {number} is deleted."
    if name == "test":
        return client.webhooks.test(number), f"A test is sent; gemweb webhooks {number} shows the answer."
    if name == "send-again":
        return client.webhooks.send_again(number, words[1]), f"{words[1]} is sent again, with the same id."
    changes: dict[str, Callable[[], BaseModel]] = {
        "on": lambda: client.webhooks.change(number, on=True),
        "off": lambda: client.webhooks.change(number, on=False),
        "events": lambda: client.webhooks.change(number, events=words[1:]),
    }
    said = {
        "on": "is on. It sends waiting deliveries and new events.",
        "off": "is off. Waiting deliveries are kept.",
        "events": f"sends {', '.join(words[1:])} from now on.",
    }
    return changes[name](), f"The webhook {number} {said[name]}"


def _list(client: Client, *, as_json: bool) -> None:
    webhooks = client.webhooks.list().items
    if as_json:
        print_json(webhooks)
        return
    if not webhooks:
        print("You have no webhook. gemweb webhooks add URL adds one.")
        return
    rows = []
    for one in webhooks:
        state = "on" if one.disabled is None else f"off since {moment(one.disabled)}"
        rows.append([str(one.id), state, one.url, f"{one.waiting:,}", ", ".join(one.events)])
    table(["webhook", "state", "address", "waiting", "events"], rows)
    for one in webhooks:
        if one.why_disabled:
            print(f"{one.id}: {one.why_disabled}")


def _show(client: Client, number: int, *, most: int, as_json: bool) -> None:
    deliveries = list(client.webhooks.deliveries(number, most=most))
    if as_json:
        print_json(deliveries)
        return
    if not deliveries:
        print(f"Nothing has been sent yet. gemweb webhooks test {number} sends a test.")
        return
    rows = []
    for one in deliveries:
        answered = "" if one.status is None else str(one.status)
        words = " ".join(one.answer.split())[:60]
        rows.append([one.id, one.event, one.key, one.state, f"{one.tries}", moment(one.tried), answered, words])
    table(["delivery", "event", "about", "state", "tries", "last (UTC)", "status", "answer"], rows)


def _number(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) < 19):
        raise UsageError(f"{word!r} is not the number of a webhook; gemweb webhooks lists yours.")
    return int(word)
