"""The arguments of `gemweb eval --agent endpoint`, and the agent that they describe."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from gem.client.errors import Unreachable
from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.agents.endpoint import EndpointAgent, EndpointSpec

NAMES = (
    "url", "model", "key_env", "agent_spec", "system", "temperature", "top_p", "max_tokens", "stop", "sampling_seed",
    "history", "tools", "no_stream", "concurrency", "timeout", "tries", "patience", "on_failure",
)  # fmt: skip
FIELD_NAMES = {"sampling_seed": "seed"}
"""Options that have another name in the `EndpointSpec`."""
CONNECT_SECONDS, PAUSE_SECONDS = 10.0, 1.0
"""The time limit of a connection, and the pause before the next one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a group with the options of an endpoint agent."""
    group = parser.add_argument_group("with --agent endpoint, an OpenAI-compatible server")
    group.add_argument("--url", help="the base URL of the server, such as http://127.0.0.1:8001/v1")
    group.add_argument("--model", help="the name of the model on the server")
    group.add_argument("--key-env", metavar="NAME", help="the environment variable with the API key")
    group.add_argument("--agent-spec", type=Path, metavar="FILE.json", help="a specification; options override it")
    group.add_argument("--system", type=Path, metavar="FILE", help="a file with the system message")
    group.add_argument("--temperature", type=float)
    group.add_argument("--top-p", type=float)
    group.add_argument("--max-tokens", type=int, help="the maximum length of a response")
    group.add_argument("--stop", action="append", help="a text that ends a response; up to four")
    group.add_argument("--sampling-seed", type=int, help="the seed that is sent to the server")
    group.add_argument("--history", type=int, help="the number of earlier turns in a request (all)")
    group.add_argument("--tools", action="store_true", help="act by native tool calls")
    group.add_argument("--no-stream", action="store_true", help="request responses in one piece")
    group.add_argument("--concurrency", type=int, help="requests at the same time (--num-envs)")
    group.add_argument("--timeout", type=float, help="the time limit of a request in seconds (60)")
    group.add_argument("--tries", type=int, help="requests for a turn, with forfeit and stop (3)")
    group.add_argument("--patience", type=float, help="the time limit of a turn in seconds, pauses included (300)")
    group.add_argument(
        "--on-failure",
        choices=["retry", "forfeit", "stop"],
        help="without a response: exclude the episode (retry), send an empty action (forfeit), or end (stop)",
    )


def make_endpoint_agent(options: Mapping[str, Any], num_envs: int) -> EndpointAgent:
    """Make the agent that the options describe.

    Raises:
        UsageError: if an option is missing or wrong.
    """
    from gem.agents import make_agent  # noqa: PLC0415 (the other commands start faster without it)

    fields = _spec_fields(options)
    fields.setdefault("concurrency", num_envs)
    for name in ("url", "model"):
        if not fields.get(name):
            raise UsageError(f"An endpoint agent needs --{name}.")
    return cast("EndpointAgent", make_agent("endpoint", key=_key(options["key_env"]), **fields))


def wait_for_server(spec: EndpointSpec) -> None:
    """Wait until the server takes connections, at most for the patience of the agent, and say on stderr that it waits.

    Raises:
        Unreachable: if it does not; nothing has been played.
    """
    from urllib.parse import urlsplit  # noqa: PLC0415 (as in `make_endpoint_agent`)

    from gem.net.http import origin  # noqa: PLC0415

    address = urlsplit(origin(spec.url))
    assert address.hostname is not None  # `EndpointSpec` has checked the URL
    assert address.port is not None
    deadline, has_told = monotonic() + spec.patience, False
    while True:
        try:
            socket.create_connection((address.hostname, address.port), CONNECT_SECONDS).close()
        except OSError as error:
            problem = f"Nothing answers at {spec.url} ({error.strerror or error})."
        else:
            return
        if not has_told:
            print(f"{problem} Trying again for {spec.patience:g} s; Ctrl-C ends it.", file=sys.stderr, flush=True)
            has_told = True
        if monotonic() + PAUSE_SECONDS > deadline:
            raise Unreachable(f"{problem} Start the server, or check --url. No episode was played.")
        time.sleep(PAUSE_SECONDS)


def check_limits(spec: EndpointSpec, *, limits_money: bool) -> None:
    """Check that a budget can be kept with this agent; see `gem.agents.endpoint.amounts.check_limits`.

    Raises:
        UsageError: if it cannot.
    """
    from gem.agents.endpoint import amounts  # noqa: PLC0415

    amounts.check_limits(spec, limits_money=limits_money)


def describe(agent: EndpointAgent) -> str:
    """Return the name of the agent in the file: the model, and a digest of the prompt and the sampling settings."""
    return f"{agent.spec.model}@{agent.spec.digest}"


def check_unused(options: Mapping[str, Any]) -> None:
    """Check that no option for endpoint agents is given.

    Raises:
        UsageError: if one is.
    """
    for name, value in options.items():
        if value not in (None, False):
            alternative = " or policy" if name in ("temperature", "max_tokens") else ""
            raise UsageError(f"--{name.replace('_', '-')} belongs to --agent endpoint{alternative}.")


def _spec_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = _read_json(options["agent_spec"]) if options["agent_spec"] else {}
    if options["system"]:
        fields["system"] = _read(options["system"]).strip()
    if options["tools"]:
        fields["style"] = "tools"
    if options["no_stream"]:
        fields["stream"] = False
    special_options = ("key_env", "agent_spec", "system", "tools", "no_stream")
    for name, value in options.items():
        if name not in special_options and value is not None:
            fields[FIELD_NAMES.get(name, name)] = value
    return fields


def _key(name: str | None) -> str | None:
    if name is None:
        return None
    key = os.environ.get(name, "")
    if not key:
        raise UsageError(f"The environment variable {name} is not set or empty; --key-env names the one with the key.")
    return key


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.") from error


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}.") from error
    if not isinstance(data, dict):
        raise UsageError(f"{path} has to hold a JSON object: the fields of an endpoint agent's specification.")
    return data
