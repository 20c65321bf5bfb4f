"""The arguments of `gemweb eval --agent policy`, and the agent that they describe."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.errors import UsageError
from gem.training.built_in_policies import policy_location

if TYPE_CHECKING:
    from gem.agents import Agent

POLICY_OPTIONS = ("checkpoint", "device")
"""Options for policies only."""
SAMPLING_OPTIONS = ("temperature", "max_tokens")
"""Options for policies and endpoint agents."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add a group with the options of a trained policy, which also has `--temperature` and `--max-tokens`."""
    group = parser.add_argument_group("with --agent policy, trained weights (also --temperature and --max-tokens)")
    group.add_argument(
        "--checkpoint",
        type=Path,
        metavar="FOLDER",
        help="a checkpoint; or the folder of a training, for its newest checkpoint; or nano-base, -wide or -large",
    )
    group.add_argument("--device", help="the device of the policy, such as cuda (cpu)")


def make_policy(options: Mapping[str, Any]) -> tuple[Agent, str]:
    """Make the agent and its name in the file, which ends with a digest of the weights and the sampling settings.

    Raises:
        UsageError: if no folder is given, or it has no policy.
    """
    from gem.agents import make_agent  # noqa: PLC0415 (the other commands start faster without it)

    if options["checkpoint"] is None:
        raise UsageError("--agent policy needs --checkpoint: the folder of a checkpoint, or of a training.")
    folder = find_checkpoint(options["checkpoint"])
    settings = {name: options[name] for name in (*SAMPLING_OPTIONS, "device") if options[name] is not None}
    agent = make_agent("policy", path=str(folder), **settings)
    return agent, f"{agent.name}@{_digest(folder, settings)}"


def find_checkpoint(folder: Path) -> Path:
    """Return the newest checkpoint if `folder` is that of a training, else `folder` itself.

    Raises:
        UsageError: if the training has no checkpoint yet.
    """
    if not (folder / "spec.json").is_file():
        return folder
    checkpoints = sorted(path for path in (folder / "checkpoints").glob("*") if path.name.isdigit())
    if not checkpoints:
        raise UsageError(f"The training in {folder} has no checkpoint yet.")
    return checkpoints[-1]


def check_unused(options: Mapping[str, Any]) -> None:
    """Check that no option for policies is given.

    Raises:
        UsageError: if one is.
    """
    for name in POLICY_OPTIONS:
        if options[name] is not None:
            raise UsageError(f"--{name} belongs to --agent policy.")


def _digest(folder: Path, settings: Mapping[str, Any]) -> str:
    """Return twelve hexadecimal digits that depend on the weights, the card and the sampling settings."""
    digest = hashlib.sha256()
    for path in sorted(Path(policy_location(str(folder))).iterdir()):
        if path.name in ("card.json", "config.json") or path.name.endswith("model.safetensors"):
            digest.update(path.name.encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    sampling = {name: value for name, value in settings.items() if name in SAMPLING_OPTIONS}
    digest.update(json.dumps(sampling, sort_keys=True).encode())
    return digest.hexdigest()[:12]
