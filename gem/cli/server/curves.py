"""`gemweb curves`: list trainings elsewhere, and send the curves in files of a trainer, also while they grow."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.cli.server.connection import check_logged_in, connect, moment, print_json
from gem.errors import InvalidData, UsageError

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.schemas import NewEntry, OutsideTraining
    from gem.curves import LogFile, LoggedEntry

LOOK_SECONDS = 0.5
AT_A_TIME = 1_000
MAX_NAME = 80


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("words", nargs="*", metavar="push PATH", help="send the files at PATH; list yours without it")
    parser.add_argument("--project", help="the project that they belong to (the name of the folder)")
    parser.add_argument("--visibility", choices=("public", "unlisted", "private"), help="of those that are new")
    parser.add_argument("--follow", action="store_true", help="go on while the files grow, until Ctrl-C")
    connection.add_arguments(parser)


def run(
    words: list[str], project: str | None, visibility: str | None, follow: bool, url: str | None, as_json: bool
) -> int:
    """List trainings elsewhere, or send files."""
    if not words:
        check_logged_in(url)
        with connect(url) as client:
            _list(client, as_json=as_json)
        return 0
    if words[0] != "push" or len(words) != 2:
        raise UsageError("Write gemweb curves, or gemweb curves push PATH.")
    path = Path(words[1])
    if not path.exists():
        raise UsageError(f"{path} does not exist.")
    with connect(url) as client:
        pushed = _Pushed(client, path, project or path.resolve().with_suffix("").name[:MAX_NAME], visibility)
        try:
            pushed.send()
            while follow:
                time.sleep(LOOK_SECONDS)
                pushed.send()
        except KeyboardInterrupt:
            print(file=sys.stderr)
        pushed.finish(is_over=not follow)
    if as_json:
        print_json(pushed.trainings)
    return 0


class _Pushed:
    """The files below a path, and the trainings that they are."""

    def __init__(self, client: Client, path: Path, project: str, visibility: str | None) -> None:
        self._client, self._path, self._project, self._visibility = client, path, project, visibility
        self._logs: dict[Path, tuple[OutsideTraining, list[LogFile]]] = {}
        self._stored = 0

    @property
    def trainings(self) -> list[OutsideTraining]:
        """What was sent to."""
        return [training for training, _ in self._logs.values()]

    def send(self) -> None:
        """Send what is new in all files, also in those that have appeared since."""
        from gem.curves import find_logs, open_log  # noqa: PLC0415 (the other commands start faster without it)

        for place, files in find_logs(self._path).items():
            training, logs = self._logs.get(place, (None, []))
            known = {log.path for log in logs}
            logs += [open_log(file) for file in files if file not in known]
            parts = _in_parts(logs)
            first = next(parts, [])  # before a training begins, because a file that cannot be read is none
            if training is None:
                training = self._begin(place)
                self._logs[place] = (training, logs)
            for entries in itertools.chain([first] if first else [], parts):
                self._stored += self._client.curves.log(training.id, entries).stored

    def finish(self, *, is_over: bool) -> None:
        """Say what was sent; and to the site, that the trainings have ended, if nothing more is expected."""
        for training, _ in self._logs.values():
            if is_over:
                self._client.curves.end(training.id)
            print(f"{training.name}: {training.url}", file=sys.stderr)
        print(f"{self._stored:,} new entries stored.", file=sys.stderr)

    def _begin(self, place: Path) -> OutsideTraining:
        inside = place.relative_to(self._path).as_posix() if place != self._path else place.stem
        name = self._path.resolve().name if inside == "." else inside
        visibility = self._visibility
        return self._client.curves.begin(self._project, name[-MAX_NAME:], visibility=visibility)  # type: ignore[arg-type]


def _in_parts(logs: Sequence[LogFile]) -> Iterator[list[NewEntry]]:
    """What is new in files, at most `AT_A_TIME` entries at a time."""
    for log in logs:
        entries = [_entry(each, log.path) for each in log.read()]
        for first in range(0, len(entries), AT_A_TIME):
            yield entries[first : first + AT_A_TIME]


def _entry(logged: LoggedEntry, path: Path) -> NewEntry:
    """An entry of a file as it is sent.

    Raises:
        InvalidData: if the site takes no such entry: its time may be in milliseconds.
    """
    from pydantic import ValidationError  # noqa: PLC0415 (as above)

    from gem.client.schemas import NewEntry  # noqa: PLC0415 (as above)
    from gem.validation.messages import error_sentence  # noqa: PLC0415 (as above)

    try:
        return NewEntry(metrics={**logged.metrics}, step=logged.step, time=logged.time, id=logged.key)
    except ValidationError as error:
        place = str(path) if logged.step is None else f"{path}, step {logged.step:,}"
        hint = " Times are seconds since 1970." if any(each["loc"] == ("time",) for each in error.errors()) else ""
        raise InvalidData(f"{place}: {error_sentence(error, NewEntry)}{hint}") from error


def _list(client: Client, *, as_json: bool) -> None:
    trainings = list(client.curves.list(mine=True, most=100))
    if as_json:
        print_json(trainings)
        return
    if not trainings:
        print("You have no training elsewhere. gemweb curves push PATH sends the curves of one.")
        return
    rows = []
    for one in trainings:
        last = "" if one.last_step is None else f"{one.last_step:,}"
        rows.append([one.id, one.state, one.project, one.name, last, f"{one.entries:,}", moment(one.heard)])
    table(["training", "state", "project", "name", "step", "entries", "last heard from (UTC)"], rows)
