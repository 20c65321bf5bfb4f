"""An agent that runs a trained policy in another process, so that the caller neither imports torch nor waits for it.

One process serves all policies of its parent, one request after the other; a small policy decides in some hundredths
of a second. Requests are pickled, which is safe because both processes are the engine's own and no data from other
people is unpickled.
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
from dataclasses import replace
from functools import lru_cache
from typing import cast

from gem.agents.agent import Agent, Decision, Request
from gem.errors import EnvironmentFailure, GemError
from gem.processes import HelperProcess

MAX_POLICIES = 16
"""The number of policies in memory; the least recently used one is evicted, and loaded again when it is needed."""

GUARDED_TIMEOUT_SECONDS = 600.0
"""The time that a guarded policy may take for one request, loading included, before its process is killed."""

_helper = HelperProcess("gem.agents.isolated_agent", "The process of trained policies")
_guarded_helper = HelperProcess(
    "gem.agents.isolated_agent", "The process of uploaded policies", timeout_seconds=GUARDED_TIMEOUT_SECONDS
)


class IsolatedAgent:
    """Plays like `make_agent("policy", path=path)`, in another process.

    Args:
        path: the folder of the policy.
        name: the name of the agent in messages.
        guarded: whether somebody uploaded the policy. Uploaded policies share a process apart from the others, which is
            killed when a request takes too long, so that an uploaded policy cannot delay other policies.
    """

    def __init__(self, path: str, name: str, *, guarded: bool = False) -> None:
        self.name = name
        self._path = path
        self._helper = _guarded_helper if guarded else _helper

    def load(self) -> None:
        """Load the policy now if it is not in memory, so that the first decision takes no longer than later ones.

        Raises:
            EnvironmentFailure: see `act`.
        """
        self.act([])

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `Agent.act`.

        Raises:
            EnvironmentFailure: if the policy cannot be loaded, or its process ends; the message has the reason.
        """
        packed = base64.b64encode(pickle.dumps(list(requests))).decode()
        response = self._helper.call(path=self._path, requests=packed)
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
        requests = cast("list[Request]", pickle.loads(base64.b64decode(message["requests"])))  # noqa: S301 (our own)
        try:
            decisions = _policy(message["path"]).act(
                [replace(request, episode=next(episode_numbers)) for request in requests]
            )
            response: dict[str, object] = {"decisions": [(request.action, request.note) for request in decisions]}
        except (GemError, OSError, ValueError, RuntimeError) as error:
            response = {"refused": f"{error}"}
        output.write(json.dumps(response) + "\n")
        output.flush()


@lru_cache(maxsize=MAX_POLICIES)
def _policy(path: str) -> Agent:
    kinds = importlib.import_module("gem.agents.kinds")
    return cast("Agent", kinds.make_agent("policy", path=path))
