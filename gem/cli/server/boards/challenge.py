"""`gemweb challenge`: let a site draw seeds for you, and see what became of those that it drew."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.cli.server.connection import connect, moment, print_json
from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.schemas import Challenge

DOCUMENT = "challenge.json"
"""The file in the folder of a challenge that says what is played."""
HEADINGS = ["challenge", "benchmark", "agent", "state", "deadline (UTC)", "row"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("benchmark", nargs="?", metavar="BENCHMARK", help="draw seeds of it; without, list challenges")
    parser.add_argument("--agent", metavar="NAME", help="the name that the row will have")
    parser.add_argument("--kind", choices=("model", "program", "person"), help="what the agent is (model)")
    parser.add_argument("--tool", action="append", metavar="NAME", help="python or search:INDEX; repeatable")
    parser.add_argument("--tool-uses", type=int, metavar="N", help="uses in an episode (10)")
    parser.add_argument("--tool-format", choices=("tags", "native"), help="use tools by their tags, or as functions")
    parser.add_argument("--visibility", choices=("public", "unlisted", "private"), help="(what your account says)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where to write it (its id)")
    parser.add_argument("--get", metavar="CHALLENGE", help="draw nothing, and write one that was drawn before")
    connection.add_arguments(parser)


def run(
    *,
    benchmark: str | None,
    agent: str | None,
    kind: Any,
    tool: list[str] | None,
    tool_uses: int | None,
    tool_format: Any,
    visibility: Any,
    out: Path | None,
    get: str | None,
    url: str | None,
    as_json: bool,
) -> int:
    """Draw a challenge, or list those of the account."""
    if benchmark is not None and get is not None:
        raise UsageError("--get writes a challenge that was drawn before; leave the benchmark out.")
    if benchmark is not None and agent is None:
        raise UsageError("Name the agent that will play: --agent NAME. Its row has this name.")
    with connect(url) as client:
        if benchmark is None and get is None:
            return _list(client, as_json=as_json)
        if benchmark is None:
            challenge = client.challenges.get(get or "")
        else:
            challenge = client.challenges.draw(
                benchmark,
                agent or "",
                kind or "model",
                tools=tool or (),
                max_tool_uses=tool_uses,
                tool_format=tool_format,
                visibility=visibility,
            )
        folder = _write(client, challenge, out or Path(challenge.id))
    if as_json:
        print_json(challenge)
        return 0
    file = folder / DOCUMENT
    print(f"{file} has {challenge.episodes:,} episodes to play until {moment(challenge.deadline)} UTC.")
    print(f"Play them: gemweb eval --challenge {file} --agent AGENT --out {folder / 'episodes.jsonl'}")
    print(f"Send them: gemweb push {folder}")
    print(f"It counts as a try from now on; this is try {challenge.tries} of your account in this season.")
    return 0


def _write(client: Client, challenge: Challenge, folder: Path) -> Path:
    """Write the document of a challenge into a folder, which is made if there is none.

    Raises:
        UsageError: if another challenge is there already, or it cannot be written.
    """
    document = client.challenges.document(challenge.id)
    file = folder / DOCUMENT
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if file.exists() and file.read_bytes() != document:
            raise UsageError(
                f"{file} is of another challenge, and was left as it is. The challenge {challenge.id} is drawn: write "
                f"it elsewhere with gemweb challenge --get {challenge.id} --out FOLDER."
            )
        file.write_bytes(document)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}.") from error
    return folder


def _list(client: Client, *, as_json: bool) -> int:
    found = list(client.challenges.list())
    if as_json:
        print_json(found)
        return 0
    if not found:
        print("You have drawn no challenge.")
        return 0
    rows = [
        [one.id, one.benchmark, one.agent, one.state, moment(one.deadline), "" if one.row is None else str(one.row)]
        for one in found
    ]
    table(HEADINGS, rows)
    for one in found:
        if one.problem:
            print(f"{one.id}: {one.problem}")
    return 0
