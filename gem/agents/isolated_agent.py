"""An agent that runs a trained policy in another process, so that the caller neither imports torch nor waits for it.

One process serves all policies of its parent, one request after the other; a small policy decides in some hundredths
of a second. Policies that people uploaded have a process apart, which is confined. Requests are pickled, which is safe
because they come from the engine itself; responses are JSON.
"""

from __future__ import annotations

import base64
import importlib
import itertools
import json
import os
import pickle
import sys
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import cast

from gem.agents.agent import Agent, Decision, Request
from gem.errors import EnvironmentFailure, GemError, SandboxUnavailable
from gem.processes import HelperProcess
from gem.sandbox import policy_confinement
from gem.sandbox.policy_confinement import PolicyLimits

MAX_POLICIES = 16
"""The number of policies in memory; the least recently used one is evicted, and loaded again when it is needed."""

GUARDED_TIMEOUT_SECONDS = 600.0
"""The time that a guarded policy may take for one request, loading included, before its process is killed."""

GUARDED_CPU_SECONDS = 24 * 3600
"""CPU time of the process of guarded policies, after which the next request starts another one."""
TEMPLATE_CPU_SECONDS = 1.0
"""CPU time that a guarded policy's chat template may take for one prompt, after which its process is ended."""
MODULE = "gem.agents.isolated_agent"

_helper = HelperProcess(MODULE, "The process of trained policies")


@cache
def _guarded_helper(folder: Path) -> HelperProcess:
    """The process of the uploaded policies in a folder, of which it can read nothing else."""
    limits = PolicyLimits(_half_of_the_memory(), GUARDED_CPU_SECONDS, threads=64 + 4 * (os.cpu_count() or 1))

    def make_command() -> tuple[list[str], dict[str, str]]:
        start = policy_confinement.command(MODULE, ["guarded"], [folder], limits)
        return start.argv, start.env

    name = "The process of uploaded policies"
    return HelperProcess(MODULE, name, GUARDED_TIMEOUT_SECONDS, make_command=make_command)


def _half_of_the_memory() -> int:
    """Half of this machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


class IsolatedAgent:
    """Plays like `make_agent("policy", path=path)`, in another process.

    Args:
        path: the folder of the policy.
        name: the name of the agent in messages.
        guarded: whether somebody uploaded the policy. Uploaded policies share a process apart from the others, which
            has no network, reads nothing but them and the engine, and is killed when a request takes too long, so that
            an uploaded policy cannot delay other policies.
    """

    def __init__(self, path: str, name: str, *, guarded: bool = False) -> None:
        self.name = name
        self._path = os.path.realpath(path) if guarded else path
        self._helper = _guarded_helper(Path(self._path).parent) if guarded else _helper

    def load(self) -> None:
        """Load the policy now if it is not in memory, so that the first decision takes no longer than later ones.

        Raises:
            EnvironmentFailure: see `act`.
        """
        self.act([])

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `Agent.act`.

        Raises:
            EnvironmentFailure: if the policy cannot be loaded, its process ends, or this machine cannot confine it;
                the message has the reason.
        """
        packed = base64.b64encode(pickle.dumps(list(requests))).decode()
        try:
            response = self._helper.call(path=self._path, requests=packed)
        except SandboxUnavailable as error:
            raise EnvironmentFailure(f"{self.name} cannot play: {error}") from error
        if "refused" in response:
            raise EnvironmentFailure(f"{self.name} cannot play: {response['refused']}")
        return [Decision(action, note) for action, note in response["decisions"]]


def serve() -> None:
    """Serve requests from stdin until it is closed; this runs in the other process."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    # A policy caches the tokens of an episode by its number. Each request gets a new number, because requests of
    # different callers may have the same one; the policy then reads the whole past again.
    episode_numbers = itertools.count()
    for line in sys.stdin:
        message = json.loads(line)
        try:
            requests = cast("list[Request]", pickle.loads(base64.b64decode(message["requests"])))  # noqa: S301 (our own)
            decisions = _policy(message["path"]).act(
                [request._replace(episode=next(episode_numbers)) for request in requests]
            )
            response: dict[str, object] = {"decisions": [(request.action, request.note) for request in decisions]}
        except (GemError, OSError, ValueError, RuntimeError, ImportError, AttributeError) as error:
            response = {"refused": f"{error}"}
        output.write(json.dumps(response) + "\n")
        output.flush()


@lru_cache(maxsize=MAX_POLICIES)
def _policy(path: str) -> Agent:
    kinds = importlib.import_module("gem.agents.kinds")
    return cast("Agent", kinds.make_agent("policy", path=path))


if __name__ == "__main__":  # the process of guarded policies
    importlib.import_module("gem.training.policy.prompts").limit_templates(TEMPLATE_CPU_SECONDS)
    serve()
