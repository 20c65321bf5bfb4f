"""Whether a policy can play: `first_turn` loads its folder and requests one action, in a process of its own.

That process is confined (`gem.sandbox.policy_confinement`) and may break without harm. The process that starts it needs
no torch.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gem.errors import InvalidArgument
from gem.processes import ending_in_words
from gem.sandbox import policy_confinement
from gem.sandbox.policy_confinement import PolicyLimits

FIRST_TURN = "gem.training.checkpoints.first_turn"
TIMEOUT_SECONDS = 120.0
MEMORY_BYTES = 4 * 2**30
"""Memory in addition to that of the weights."""
WEIGHT_COPIES = 6
"""How many times the size of the weights may be in memory while they are loaded as 32-bit numbers."""
POLL_SECONDS = 0.5
"""Interval at which `should_stop` is called."""


class Interrupted(Exception):
    """The trial was ended without a result, because its caller is to stop."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The response of a policy to one observation."""

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
        memory_bytes: memory for the process, in addition to some copies of the weights.
        should_stop: called while the process runs; True ends it.

    Raises:
        InvalidArgument: if the policy cannot play; the message says why.
        SandboxUnavailable: if this machine cannot confine the process.
        Interrupted: if `should_stop` returned True.
    """
    weight_bytes = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    limits = PolicyLimits(memory_bytes + WEIGHT_COPIES * weight_bytes, cpu_seconds=int(timeout_seconds) + 1)
    arguments = [str(folder.resolve()), env_id]
    start = policy_confinement.command(FIRST_TURN, arguments, [folder], limits, {"OMP_NUM_THREADS": "1"})
    with subprocess.Popen(  # noqa: S603 (our own program)
        start.argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=start.env, cwd="/"
    ) as process:
        try:
            output = _read_output(process, timeout_seconds, should_stop)
        finally:
            process.kill()
    try:
        result: dict[str, Any] = json.loads(output.splitlines()[-1])
    except (IndexError, ValueError, RecursionError) as error:
        raise InvalidArgument(_describe_end(policy_confinement.exit_code(process.returncode))) from error
    if "refused" in result:
        raise InvalidArgument(result["refused"])
    return TrialResult(**result)


def _describe_end(code: int) -> str:
    """Why there is no result, by the exit code or (negative) signal of the process."""
    if code == -signal.SIGPROF:
        return "The chat template was ended after a second: it loops, or takes far too long for a prompt."
    return f"The process that tried the policy {ending_in_words(code)}. The policy may need more memory than there is."


def _read_output(process: subprocess.Popen[bytes], timeout_seconds: float, should_stop: Callable[[], bool]) -> bytes:
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
