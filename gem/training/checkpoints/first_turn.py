"""The first turn of a policy that nobody knows yet.

    python -m gem.training.checkpoints.first_turn FOLDER [ENV_ID [BYTES]]

loads the folder, asks for one action, and prints what came of it as one line of JSON. BYTES limits the address space.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gem.agents.agent import Request
from gem.errors import GemError, InvalidArgument
from gem.factory import make
from gem.registry import ENV_REGISTRY
from gem.training.checkpoints.trial import SECONDS

ENV_ID = "game:GuessTheNumber-v0-easy"
"""What is played where no environment is named that is known here."""


def main(argv: Sequence[str]) -> int:
    """Try the folder and print what came of it."""
    folder, env_id, memory = Path(argv[0]), (argv[1:2] or [""])[0], int((argv[2:3] or ["0"])[0])
    spent = int(SECONDS) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (spent, spent))  # it ends even if nobody is left to end it
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    try:
        told = _tried(folder, env_id)
    except GemError as error:
        told = {"refused": str(error).replace(str(folder), "This checkpoint")}
    except ModuleNotFoundError as error:
        told = {"refused": f"Policies cannot be loaded here yet: {error.name} is not installed."}
    except Exception as error:  # noqa: BLE001 - whatever somebody else's files make a library do is a fault of theirs
        told = {"refused": _sentence(error)}
    answers.write(json.dumps(told) + "\n")
    answers.close()
    return 1 if "refused" in told else 0


def _sentence(error: Exception) -> str:
    first = (str(error).strip().splitlines() or [""])[0][:300]
    if isinstance(error, MemoryError) or "can't allocate memory" in first:
        return "The policy needs more memory than there is for one."
    if "size mismatch" in str(error) or "mismatched" in first or "state_dict" in first or "another model" in first:
        return "config.json and the weights do not belong together: they are of different models."
    return f"The policy cannot be loaded: {type(error).__name__}: {first.rstrip('.')}."


def _tried(folder: Path, env_id: str) -> dict[str, Any]:
    import torch  # noqa: PLC0415 (it may be missing, and it counts against the limit)

    from gem.training.policy.policy_agent import PolicyAgent  # noqa: PLC0415

    torch.set_num_threads(1)
    agent = PolicyAgent(folder)
    policy = agent.policy
    policy.read(folder)  # says what `from_pretrained` overlooks: weights that are missing or of another model
    env_id = _playable(env_id)
    env = make(env_id)
    observation, info = env.reset(seed=0)
    began = time.perf_counter()
    (decision,) = agent.act([Request(env, observation, info, 1)])
    seconds = time.perf_counter() - began
    with torch.inference_mode():
        prompt = torch.tensor(policy.prompts.first(["?\n"]))
        if not bool(torch.isfinite(policy.logits(policy.hidden(prompt))).all()):
            raise InvalidArgument("The weights give values that are no numbers: the policy is broken.")
    parameters = sum(parameter.numel() for parameter in policy.parameters())
    return {"env_id": env_id, "action": decision.action[:2000], "parameters": parameters, "seconds": seconds}


def _playable(env_id: str) -> str:
    """The environment itself if it is there, for one seat, and quick to begin."""
    known = ENV_REGISTRY.get(env_id)
    if known is None or known.seats != 1 or known.cost != "fast" or known.missing_packages():
        return ENV_ID
    return env_id


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
