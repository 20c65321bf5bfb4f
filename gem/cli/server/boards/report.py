"""`gemweb report`: send an evaluation that another program has made. Nothing in it is verified."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from gem.cli.server import connection
from gem.cli.server.connection import connect, print_json
from gem.cli.server.progress import ProgressBar
from gem.errors import UsageError

LOOK_SECONDS = 1.0
UNREAD = ("arriving", "waiting", "reading")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", type=Path, help="a log of Inspect, rows of verifiers, or episodes as JSON lines")
    parser.add_argument("--name", default="", help="its name on pages, unless the file has one")
    parser.add_argument("--visibility", choices=("public", "unlisted", "private"), help="who may see it")
    parser.add_argument("--no-wait", action="store_true", help="do not wait until the site has read it")
    connection.add_arguments(parser)


def run(*, file: Path, name: str, visibility: str | None, no_wait: bool, url: str | None, as_json: bool) -> int:
    """Send a file; the code is 1 if it cannot be read."""
    if not file.is_file():
        raise UsageError(f"{file} is not a file.")
    with connect(url) as client:
        with ProgressBar("sent") as bar:
            report = client.reported.send(file, name=name, visibility=visibility, progress=bar)  # type: ignore[arg-type]
        while report.state in UNREAD and not no_wait:
            time.sleep(LOOK_SECONDS)
            report = client.reported.get(report.id)
    if as_json:
        print_json(report)
    elif report.state == "refused":
        print(f"Not readable. {report.reason}")
    else:
        print(f"Reported: {report.episodes:,} episodes. Nothing in it is verified. {report.url}")
    return 1 if report.state == "refused" else 0
