"""Whether a policy can play: `first_turn` loads its folder and requests one action, in a process of its own.

That process may break without harm, and its time and memory are limited. The process that starts it needs no torch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gem.errors import InvalidArgument
from gem.processes import ending_in_words

TIMEOUT_SECONDS = 120.0
MEMORY_BYTES = 12 * 2**30
"""Address space in addition to that of the weights: libraries reserve several GiB of it and use a tenth."""
WEIGHT_COPIES = 6
"""How many times the size of the weights may be in memory while they are loaded as 32-bit numbers."""
POLL_SECONDS = 0.5
"""Interval at which `should_stop` is called."""


class Interrupted(Exception):
    """The trial was ended without a result, because its caller is to stop."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What a policy did on one observation."""

    env_id: str
    action: str
    parameters: int
    """Number of the policy's parameters."""
    seconds: float
    """How long the decision took."""


def try_folder(
    folder: Path,
    env_id: str = "",
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    memory_bytes: int = MEMORY_BYTES,
    should_stop: Callable[[], bool] = lambda: False,
) -> TrialResult:
    """Load a policy and request one action, in a process of its own.

    Args:
        env_id: the environment to play, if it is registered here and has one seat.
        timeout_seconds: after which the process is ended.
        memory_bytes: address space for the process, in addition to some copies of the weights.
        should_stop: called while the process runs; True ends it.

    Raises:
        InvalidArgument: if the policy cannot play; the message says why.
        Interrupted: if `should_stop` returned True.
    """
    weight_bytes = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    address_space = memory_bytes + WEIGHT_COPIES * weight_bytes
    command = [sys.executable, "-m", "gem.training.checkpoints.first_turn", str(folder), env_id, str(address_space)]
    inherited = ("PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
    environment = {name: value for name, value in os.environ.items() if name in inherited}
    environment |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(  # noqa: S603 (our own program)
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=_root()
    ) as process:
        try:
            output = _read_output(process, timeout_seconds, should_stop)
        finally:
            process.kill()
    try:
        result: dict[str, Any] = json.loads(output.splitlines()[-1])
    except (IndexError, ValueError) as error:
        raise InvalidArgument(
            f"The process that tried the policy {ending_in_words(process.returncode)}. The policy may need more memory "
            "than there is."
        ) from error
    if "refused" in result:
        raise InvalidArgument(result["refused"])
    return TrialResult(**result)


def _read_output(process: subprocess.Popen[str], timeout_seconds: float, should_stop: Callable[[], bool]) -> str:
    """The process's output, once it has ended."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            return process.communicate(timeout=min(POLL_SECONDS, max(0.0, deadline - time.monotonic())))[0]
        except subprocess.TimeoutExpired as error:
            if should_stop():
                raise Interrupted from error
            if time.monotonic() >= deadline:
                raise InvalidArgument(
                    f"The policy did not answer within {timeout_seconds:.0f} s and was ended."
                ) from error


def _root() -> Path:
    """The folder that holds the package `gem`."""
    return Path(__file__).parents[3]
