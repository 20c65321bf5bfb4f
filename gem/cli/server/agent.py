"""`gemweb agent`: connect an agent that runs here to a server, or let a program for chat completions play there."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from time import strftime
from typing import TYPE_CHECKING, Any

from gem.cli.server.connection import connect
from gem.errors import UsageError
from gem.validation.dependencies import REMOTE_PACKAGES, require_installed

if TYPE_CHECKING:
    from gem.client.serving import Act

LONGEST_ACTION = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="serve|chat")
    serve = verbs.add_parser(
        "serve", help="Connect an agent that runs here.", description="Connect an agent that runs here to a server."
    )
    serve.add_argument(
        "file", type=Path, metavar="FILE.py", help="has act(observation, info), which returns the action"
    )
    serve.add_argument("--name", help="what the agent is called there (the name of the file)")
    serve.add_argument("--seats", type=int, help="how many turns it is asked for at a time (4)")
    chat = verbs.add_parser(
        "chat",
        help="Let a program for chat completions play an episode.",
        description="Begin an episode that a program plays as if the server were a model behind chat completions. The "
        "program gets OPENAI_BASE_URL and OPENAI_API_KEY; without one, they are printed.",
    )
    chat.add_argument("env_id", metavar="ENV_ID")
    chat.add_argument("program", nargs="*", metavar="-- PROGRAM", help="the program and its arguments")
    chat.add_argument("--seed", type=int, help="the seed of the episode (drawn)")
    chat.add_argument("--opponent", metavar="AGENT", help="in games of several seats: who has the others")
    chat.add_argument("--name", help="what the agent is called there (the name of the program)")
    for verb in (serve, chat):
        verb.add_argument("--url", help="the server (GEMWEB_URL, else that of the last gemweb login)")


def run(verb: str, **options: Any) -> int:
    """Run one of the verbs."""
    verbs: dict[str, Callable[..., int]] = {"serve": _serve, "chat": _chat}
    return verbs[verb](**options)


def _serve(file: Path, name: str | None, seats: int | None, url: str | None) -> int:
    require_installed("gemweb agent serve", REMOTE_PACKAGES)
    import asyncio  # noqa: PLC0415 (no other command needs it)

    from gem.client.serving import serve  # noqa: PLC0415 (needs websockets)
    from gem.net.credentials import find_login  # noqa: PLC0415 (needs httpx2)

    act = _act_of(file)
    with connect(url) as client:
        remote = client.remotes.add(name or file.stem.replace("_", "-"), seats=seats)
    print(f"{remote.name} waits for seats: {remote.url}", flush=True)
    asyncio.run(serve(act, remote.socket, find_login(url, None).token, report=_say))
    return 0


def _chat(
    env_id: str, program: list[str], seed: int | None, opponent: str | None, name: str | None, url: str | None
) -> int:
    with connect(url) as client:
        remote = client.remotes.add(name or (Path(program[-1]).stem if program else "chat-completions"))
        chat = client.remotes.begin_chat(remote.slug, env_id, seed=seed, opponent=opponent)
    keys = {"OPENAI_BASE_URL": chat.base_url, "OPENAI_API_KEY": chat.key}
    print(f"{env_id}, seed {chat.episode.seed}: {chat.episode.url}", flush=True)
    if not program:
        for variable, value in keys.items():
            print(f"{variable}={value}")
        return 0
    import subprocess  # noqa: PLC0415 (no other command needs it)

    return subprocess.run(program, env={**os.environ, **keys}, check=False).returncode  # noqa: S603 (what was named)


def _act_of(file: Path) -> Act:
    """The function `act` of a Python file.

    Raises:
        UsageError: if there is none, or the file cannot be imported.
    """
    if not file.is_file():
        raise UsageError(f"There is no file {file}.")
    spec = spec_from_file_location("agent", file)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file.")
    module = module_from_spec(spec)
    sys.path.insert(0, str(file.parent.resolve()))
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # its author reads whatever it raised
        raise UsageError(f"{file} cannot be imported: {type(error).__name__}: {error}.") from error
    act = getattr(module, "act", None)
    if not callable(act):
        raise UsageError(f"{file} has no function act(observation, info), which returns the text with the action.")
    found: Act = act
    return found


def _say(event: str, data: dict[str, Any]) -> None:
    """Print what happens, a line each."""
    where = f"{data.get('episode', '')[:4].upper()} turn {data.get('turn', '')}"
    sentences: dict[str, Callable[[], str]] = {
        "ready": lambda: f"connected, {data['seats']} seats",
        "turn": lambda: f"{where}: {data['env_id']}, {data['place']}",
        "answered": lambda: f"{where}: {' '.join(data['action'].split())[-LONGEST_ACTION:]}",
        "failed": lambda: f"{where}: failed, {data['reason']}",
        "withdrawn": lambda: f"{where}: nobody is waiting for it any longer",
        "refused": lambda: f"{where}: {data['reason']}",
        "lost": lambda: f"the connection was lost, trying again: {data['reason']}",
    }
    print(strftime("%H:%M:%S"), sentences[event](), flush=True)
