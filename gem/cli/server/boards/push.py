"""`gemweb push`: send the episodes of a challenge, which the site executes again. It plays nothing."""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gem.cli.arguments import challenge as challenged
from gem.cli.server import connection
from gem.cli.server.boards.challenge import DOCUMENT
from gem.cli.server.connection import connect, print_json
from gem.cli.server.progress import ProgressBar
from gem.errors import UsageError
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.schemas import Challenge

LOOK_SECONDS = 1.0
PACKING = 3
"""The level of gzip: JSON lines become six times smaller, at some 100 MB/s."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "folder", type=Path, metavar="FOLDER", help=f"with {DOCUMENT} and the episodes in files that end with .jsonl"
    )
    parser.add_argument("--no-wait", action="store_true", help="do not wait until the site has executed them again")
    connection.add_arguments(parser)


def run(*, folder: Path, no_wait: bool, url: str | None, as_json: bool) -> int:
    """Send the episodes of a folder; the code is 1 if they are not verified."""
    document = challenged.read(folder / DOCUMENT)
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        raise UsageError(f"{folder} has no file whose name ends with .jsonl. gemweb eval --challenge writes one.")
    with tempfile.TemporaryDirectory() as place, connect(url or document.site) as client:
        packed = Path(place) / "episodes.jsonl.gz"
        number = _pack(files, packed)
        print(f"{count(number, 'episode')} of {count(document.episodes, 'episode')}.", file=sys.stderr)
        with ProgressBar("sent") as bar:
            challenge = client.challenges.push(document.id, packed, progress=bar)
        if not no_wait:
            challenge = _wait(client, challenge)
    if as_json:
        print_json(challenge)
    else:
        print(_said(challenge))
    return 0 if challenge.state in ("verified", "reported") or no_wait else 1


def _pack(files: Sequence[Path], packed: Path) -> int:
    """Write the last line of every episode into one packed file, and return their number.

    An evaluation that is continued plays episodes again in which the agent gave no answer, and adds them at the end.

    Raises:
        UsageError: if a file cannot be read, or a line is no episode.
    """
    last = {index: place for place, index, _ in _lines(files)}
    with gzip.open(packed, "wb", PACKING) as out:
        for place, index, text in _lines(files):
            if last[index] == place:
                out.write(text.rstrip(b"\n") + b"\n")
    return len(last)


def _lines(files: Sequence[Path]) -> Iterator[tuple[tuple[str, int], int, bytes]]:
    """Yield the place of each line, the index of its episode, and its text."""
    for path in files:
        try:
            with path.open("rb") as file:
                for number, text in enumerate(file, start=1):
                    if text.strip():
                        yield (path.name, number), _index(path, number, text), text
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from error


def _index(path: Path, number: int, text: bytes) -> int:
    try:
        index = json.loads(text)["index"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise UsageError(f"{path}, line {number} is not an episode with an index.") from error
    if type(index) is not int:
        raise UsageError(f"{path}, line {number}: the index of an episode is a whole number.")
    return index


def _wait(client: Client, challenge: Challenge) -> Challenge:
    while challenge.state == "sent":
        time.sleep(LOOK_SECONDS)
        challenge = client.challenges.get(challenge.id)
    return challenge


def _said(challenge: Challenge) -> str:
    if challenge.state == "sent":
        return f"Sent. gemweb challenge shows the result: {challenge.url}"
    if challenge.state == "verified":
        site = challenge.url.partition("/leaderboard/")[0]
        return f"Verified: all was executed again, and every reward agreed. {site}/leaderboard/row/{challenge.row}/"
    if challenge.state == "reported":
        return (
            "Reported: the episodes agree except for tool outputs that do not repeat, so nothing proves the rewards. "
            f"{challenge.url}"
        )
    return f"Not verified. {challenge.problem}"
