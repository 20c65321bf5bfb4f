"""The first turn of a policy that has not been tried yet.

    python -m gem.training.checkpoints.first_turn FOLDER [ENV_ID]

loads the folder, requests one action, and prints the result as one line of JSON. Who starts it limits its memory and
its time.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gem.agents.agent import Request
from gem.core import Env, Info
from gem.errors import GemError, InvalidArgument
from gem.factory import make
from gem.registry import ENV_REGISTRY

DEFAULT_ENV_ID = "game:GuessTheNumber-v0-easy"
"""The environment that is played if no other is named, or the named one cannot be played here."""
TEMPLATE_CPU_SECONDS = 1.0
"""CPU time that a chat template may take for one prompt, after which the process is ended."""


def main(argv: Sequence[str]) -> int:
    """Try the folder and print the result."""
    folder, env_id = Path(argv[0]), (argv[1:2] or [""])[0]
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print must not mix with the result
    try:
        result = _play_turn(folder, env_id)
    except GemError as error:
        result = {"refused": str(error).replace(str(folder), "This checkpoint")}
    except ModuleNotFoundError as error:
        result = {"refused": f"Policies cannot be loaded here yet: {error.name} is not installed."}
    except Exception as error:  # noqa: BLE001 (files from elsewhere can make a library raise anything)
        result = {"refused": _describe_error(error)}
    output.write(json.dumps(result) + "\n")
    output.close()
    return 1 if "refused" in result else 0


def _describe_error(error: Exception) -> str:
    first_line = (str(error).strip().splitlines() or [""])[0][:300]
    if isinstance(error, MemoryError) or "can't allocate memory" in first_line:
        return "The policy needs more memory than there is for one."
    mismatches = ("mismatched", "state_dict", "another model")
    if "size mismatch" in str(error) or any(phrase in first_line for phrase in mismatches):
        return "config.json and the weights do not belong together: they are of different models."
    return f"The policy cannot be loaded: {type(error).__name__}: {first_line.rstrip('.')}."


def _play_turn(folder: Path, env_id: str) -> dict[str, Any]:
    """Load the policy and let it decide once; the fields of a `TrialResult`."""
    import torch  # noqa: PLC0415 (it may be missing, and it counts against the limits)

    from gem.training.policy import prompts  # noqa: PLC0415
    from gem.training.policy.policy_agent import PolicyAgent  # noqa: PLC0415

    torch.set_num_threads(1)
    prompts.limit_templates(TEMPLATE_CPU_SECONDS)
    agent = PolicyAgent(folder)
    policy = agent.policy
    policy.load_weights(folder)  # refuses what `from_pretrained` ignores: missing weights, and those of another model
    env_id, env, observation, info = _begin(env_id)
    began = time.perf_counter()
    (decision,) = agent.act([Request(env, observation, info, 1)])
    seconds = time.perf_counter() - began
    with torch.inference_mode():
        prompt = torch.tensor(policy.prompt_format.encode_first(["?\n"]))
        if not bool(torch.isfinite(policy.logits(policy.hidden(prompt))).all()):
            raise InvalidArgument("The weights give values that are no numbers: the policy is broken.")
    parameters = sum(parameter.numel() for parameter in policy.parameters())
    return {"env_id": env_id, "action": decision.action[:2000], "parameters": parameters, "seconds": seconds}


def _begin(env_id: str) -> tuple[str, Env, str, Info]:
    """Begin an episode of the named environment if it is registered, has one seat and starts quickly, and if this
    process can make it; else of the default one."""
    spec = ENV_REGISTRY.get(env_id)
    if spec is not None and spec.seats == 1 and spec.cost == "fast" and not spec.missing_packages():
        with contextlib.suppress(GemError, OSError):  # its data may be where this process may not read
            env = make(env_id)
            return env_id, env, *env.reset(seed=0)
    env = make(DEFAULT_ENV_ID)
    return DEFAULT_ENV_ID, env, *env.reset(seed=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
