"""What `gemweb eval --agent endpoint` takes, and the agent that comes of it."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.agents.endpoint import EndpointAgent

NAMES = (
    "url", "model", "key_env", "agent_spec", "system", "temperature", "top_p", "max_tokens", "stop", "sampling_seed",
    "history", "tools", "no_stream", "concurrency", "timeout", "tries", "patience", "on_failure",
)  # fmt: skip
FIELDS = {"sampling_seed": "seed"}
"""Options whose field in the specification has another name."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of an endpoint agent, in a group of their own."""
    group = parser.add_argument_group("with --agent endpoint, an OpenAI-compatible server")
    group.add_argument("--url", help="its address, such as http://127.0.0.1:8000/v1")
    group.add_argument("--model", help="the model's name there")
    group.add_argument("--key-env", metavar="NAME", help="the environment variable that holds the key")
    group.add_argument("--agent-spec", type=Path, metavar="FILE.json", help="a specification; options change it")
    group.add_argument("--system", type=Path, metavar="FILE", help="a file with the system message")
    group.add_argument("--temperature", type=float)
    group.add_argument("--top-p", type=float)
    group.add_argument("--max-tokens", type=int, help="of one answer")
    group.add_argument("--stop", action="append", help="a text that ends an answer; up to four")
    group.add_argument("--sampling-seed", type=int, help="passed on to the server")
    group.add_argument("--history", type=int, help="earlier turns that it reads again (all)")
    group.add_argument("--tools", action="store_true", help="have it act by native tool calls")
    group.add_argument("--no-stream", action="store_true", help="ask for answers in one piece")
    group.add_argument("--concurrency", type=int, help="requests at the same time (--num-envs)")
    group.add_argument("--timeout", type=float, help="seconds for one request (60)")
    group.add_argument("--tries", type=int, help="requests for one turn, with forfeit and stop (3)")
    group.add_argument("--patience", type=float, help="seconds for one turn, pauses included (300)")
    group.add_argument(
        "--on-failure",
        choices=["retry", "forfeit", "stop"],
        help="after that: set the episode aside (retry), send an empty action (forfeit), or end (stop)",
    )


def make(options: Mapping[str, Any], num_envs: int) -> EndpointAgent:
    """The agent that the options describe.

    Raises:
        UsageError: with what is missing or wrong.
    """
    from gem.agents import make_agent  # noqa: PLC0415 (a quick start)

    given = _specification(options)
    given.setdefault("concurrency", num_envs)
    for name in ("url", "model"):
        if not given.get(name):
            raise UsageError(f"An endpoint agent needs --{name}.")
    return cast("EndpointAgent", make_agent("endpoint", key=_key(options["key_env"]), **given))


def label(agent: EndpointAgent) -> str:
    """Who plays, for the file: the model, and a digest of the prompt and the sampling."""
    return f"{agent.spec.model}@{agent.spec.digest}"


def refuse(options: Mapping[str, Any]) -> None:
    """Refuse the options where the agent is another one.

    Raises:
        UsageError: if one was given.
    """
    for name, value in options.items():
        if value not in (None, False):
            also = " or policy" if name in ("temperature", "max_tokens") else ""
            raise UsageError(f"--{name.replace('_', '-')} belongs to --agent endpoint{also}.")


def _specification(options: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = _read_json(options["agent_spec"]) if options["agent_spec"] else {}
    if options["system"]:
        given["system"] = _read(options["system"]).strip()
    if options["tools"]:
        given["style"] = "tools"
    if options["no_stream"]:
        given["stream"] = False
    taken = ("key_env", "agent_spec", "system", "tools", "no_stream")
    for name, value in options.items():
        if name not in taken and value is not None:
            given[FIELDS.get(name, name)] = value
    return given


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
