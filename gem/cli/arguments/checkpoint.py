"""What `gemweb eval --agent policy` takes: the folder of a checkpoint, and how it is played."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.agents import Agent

OWN = ("checkpoint", "device")
"""Options that only a policy takes."""
SHARED = ("temperature", "max_tokens")
"""Options that an endpoint agent takes as well."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of a trained policy, in a group of their own; `--temperature` and `--max-tokens` count too."""
    group = parser.add_argument_group("with --agent policy, trained weights (also --temperature and --max-tokens)")
    group.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FOLDER",
        help="a checkpoint; of a training's folder, the newest one; or nano-base",
    )
    group.add_argument("--device", help="where it computes, such as cuda (cpu)")


def make(options: Mapping[str, Any]) -> tuple[Agent, str]:
    """The agent, and its name in the file: what was trained, and a digest of its weights and of how it is played.

    Raises:
        UsageError: if no folder is named, or it holds no policy.
    """
    from gem.agents import make_agent  # noqa: PLC0415 (a quick start)

    if options["checkpoint"] is None:
        raise UsageError("--agent policy needs --checkpoint: the folder of a checkpoint, or of a training.")
    folder = newest(options["checkpoint"])
    settings = {name: options[name] for name in (*SHARED, "device") if options[name] is not None}
    agent = make_agent("policy", path=str(folder), **settings)
    return agent, f"{agent.name}@{_digest(folder, settings)}"


def newest(folder: Path) -> Path:
    """The newest checkpoint of a training's folder; any other folder as it is.

    Raises:
        UsageError: if the training has no checkpoint yet.
    """
    if not (folder / "spec.json").is_file():
        return folder
    found = sorted(one for one in (folder / "checkpoints").glob("*") if one.name.isdigit())
    if not found:
        raise UsageError(f"The training in {folder} has no checkpoint yet.")
    return found[-1]


def refuse(options: Mapping[str, Any]) -> None:
    """Refuse the options where the agent is another one.

    Raises:
        UsageError: if one was given.
    """
    for name in OWN:
        if options[name] is not None:
            raise UsageError(f"--{name} belongs to --agent policy.")


def _digest(folder: Path, settings: Mapping[str, Any]) -> str:
    """Twelve digits that differ where weights, card or settings do; where it computes is not one of these."""
    from gem.training.policy.prompts import policy_location  # noqa: PLC0415 (a quick start)

    whole = hashlib.sha256()
    for path in sorted(Path(policy_location(str(folder))).iterdir()):
        if path.name in ("card.json", "config.json") or path.name.endswith("model.safetensors"):
            whole.update(path.name.encode())
            whole.update(hashlib.sha256(path.read_bytes()).digest())
    how = {name: value for name, value in settings.items() if name in SHARED}
    whole.update(json.dumps(how, sort_keys=True).encode())
    return whole.hexdigest()[:12]
