"""Whether a policy plays: `first_turn` loads its folder and asks it once, in a process of its own that may break.

That process has limits on its time and its memory. Whoever starts it needs no torch.
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

SECONDS = 120.0
MEMORY = 12 * 2**30
"""Bytes of address space beside the weights: libraries take several GiB of it and use a tenth."""
COPIES = 6
"""How many times the weights may be in memory while they are loaded as 32-bit numbers."""
LOOK_SECONDS = 0.5
"""How often it is asked whether to go on."""


class Interrupted(Exception):
    """The trial was ended before it came to anything, because whoever asked for it is to stop."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What a policy did on one observation."""

    env_id: str
    action: str
    parameters: int
    seconds: float
    """For that one answer."""


def try_folder(
    folder: Path,
    env_id: str = "",
    *,
    seconds: float = SECONDS,
    memory: int = MEMORY,
    stopping: Callable[[], bool] = lambda: False,
) -> Tried:
    """Load a policy and ask it for one action, in a process of its own.

    Args:
        env_id: what it plays, if that is an environment for one that is known here.
        seconds: after which the process is ended.
        memory: bytes of address space that it may take, beside some copies of the weights.
        stopping: asked while it runs; True ends it.

    Raises:
        InvalidArgument: if the policy does not play; the message says why.
        Interrupted: if it was to stop.
    """
    size = sum(path.stat().st_size for path in folder.glob("*.safetensors"))
    address_space = memory + COPIES * size
    command = [sys.executable, "-m", "gem.training.checkpoints.first_turn", str(folder), env_id, str(address_space)]
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH")}
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(  # noqa: S603 (our own program)
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=kept | offline, cwd=_root()
    ) as process:
        try:
            said = _said(process, seconds, stopping)
        finally:
            process.kill()
    try:
        told: dict[str, Any] = json.loads(said.splitlines()[-1])
    except (IndexError, ValueError) as error:
        raise InvalidArgument(
            f"The process that tried the policy broke (it ended with {process.returncode}): it may have needed more "
            "memory than there is."
        ) from error
    if "refused" in told:
        raise InvalidArgument(told["refused"])
    return Tried(**told)


def _said(process: subprocess.Popen[str], seconds: float, stopping: Callable[[], bool]) -> str:
    """What the process wrote, once it has ended."""
    until = time.monotonic() + seconds
    while True:
        try:
            return process.communicate(timeout=min(LOOK_SECONDS, max(0.0, until - time.monotonic())))[0]
        except subprocess.TimeoutExpired as error:
            if stopping():
                raise Interrupted from error
            if time.monotonic() >= until:
                raise InvalidArgument(f"The policy did not answer within {seconds:.0f} s and was ended.") from error


def _root() -> Path:
    return Path(__file__).parents[3]
