"""ReasoningGym's helper without the package: each problem names the process that gave it, and no score ever ends.

Nor does the check of a config that is `{"endless": True}`.
"""

import os
import sys
from types import ModuleType
from typing import Any

from gem.envs.reasoning import helper


def serve() -> None:
    """Serve like the helper, with 0.2 CPU seconds for a score or a check."""
    sys.modules["reasoning_gym"] = ModuleType("reasoning_gym")
    helper.HANDLERS["describe"] = lambda request: _never() if "endless" in request["config"] else {}
    helper.HANDLERS["problem"] = lambda _: {"question": f"Which process is {os.getpid()}?", "answer": "Mine."}
    helper.HANDLERS["score"] = lambda _: _never()
    helper.CPU_SECONDS.update(describe=0.2, score=0.2)
    helper.serve()


def _never() -> dict[str, Any]:
    return {"score": sum(1 for _ in iter(int, 1))}
