"""A trained policy that thinks in a process of its own: whoever asks it neither loads torch nor waits for its import.

One process serves all policies of its parent, one request after the other: a small policy answers in some hundredths
of a second. Between our two processes requests travel as pickles; nothing that somebody else sent does.
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
from gem.processes import Helper

POLICIES = 16
"""How many are kept in memory; one that was not asked for longest is loaded again when it is."""

GUARDED_SECONDS = 600.0
"""How long a guarded policy may take over one question, its loading included, before its process is ended."""

_helper = Helper("gem.agents.apart", "The process of trained policies")
_guarded = Helper("gem.agents.apart", "The process of uploaded policies", patience=GUARDED_SECONDS)


class ApartAgent:
    """Plays as `make_agent("policy", path=path)` does.

    Args:
        path: the policy's folder.
        name: what messages call it.
        guarded: it comes from somebody else. Such policies share a process of their own, which is ended when an answer
            takes too long, so that none of them can hold up others.
    """

    def __init__(self, path: str, name: str, *, guarded: bool = False) -> None:
        self.name = name
        self._path = path
        self._helper = _guarded if guarded else _helper

    def load(self) -> None:
        """Load the policy now, if it is not: the first question then takes no longer than others.

        Raises:
            EnvironmentFailure: as `act`.
        """
        self.act([])

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """As `Agent.act`.

        Raises:
            EnvironmentFailure: if the policy cannot be loaded, or its process ends; the message says why.
        """
        packed = base64.b64encode(pickle.dumps(list(requests))).decode()
        answer = self._helper.ask(path=self._path, requests=packed)
        if "refused" in answer:
            raise EnvironmentFailure(f"{self.name} cannot play: {answer['refused']}")
        return [Decision(action, note) for action, note in answer["decisions"]]


def serve() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    # What arrives is new every time, so a policy never takes one episode for another: it reads the past again.
    unlike = itertools.count()
    for line in sys.stdin:
        asked = json.loads(line)
        requests = cast("list[Request]", pickle.loads(base64.b64decode(asked["requests"])))  # noqa: S301 (our own)
        try:
            decisions = _policy(asked["path"]).act([replace(one, episode=next(unlike)) for one in requests])
            answer: dict[str, object] = {"decisions": [(one.action, one.note) for one in decisions]}
        except (GemError, OSError, ValueError, RuntimeError) as error:
            answer = {"refused": f"{error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


@lru_cache(maxsize=POLICIES)
def _policy(path: str) -> Agent:
    kinds = importlib.import_module("gem.agents.kinds")
    return cast("Agent", kinds.make_agent("policy", path=path))
