"""ReasoningGym's helper without the package: each problem names the process that gave it, and no score ever ends."""

import os
import sys
from types import ModuleType

from gem.envs.reasoning import helper


def serve() -> None:
    """Serve like the helper, with 0.2 CPU seconds for a score."""
    sys.modules["reasoning_gym"] = ModuleType("reasoning_gym")
    helper.HANDLERS["describe"] = lambda _: {}
    helper.HANDLERS["problem"] = lambda _: {"question": f"Which process is {os.getpid()}?", "answer": "Mine."}
    helper.HANDLERS["score"] = lambda _: {"score": sum(1 for _ in iter(int, 1))}
    helper.CPU_SECONDS["score"] = 0.2
    helper.serve()
