"""The agent itself: what it asks, how often, and what it does when no answer comes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from time import monotonic
from typing import Any

from pydantic import SecretStr

from gem.agents.agent import Decision, Request
from gem.agents.decision_queue import decide_all
from gem.agents.endpoint import chat
from gem.agents.endpoint.answer import Answer, Usage, clean
from gem.agents.endpoint.functions import action_of
from gem.agents.endpoint.server import Fault, Hosts, Server
from gem.agents.endpoint.spec import EndpointSpec
from gem.errors import AgentFailure, AgentStopped
from gem.net.http import Anywhere, Client, Guard

MOST_ACTION_BYTES = 64 * 1024
MOST_NOTE_CHARS = 64 * 1024
PAUSES = (0.5, 30.0)
"""Seconds between two tries: the first pause, which doubles with every try, and the longest."""
IN_A_ROW = 10
"""So many turns without an answer, one after the other, end everything: the server is not there."""


class EndpointAgent:
    """Asks an OpenAI-compatible server for every turn; see `gem.agents.endpoint` for what it reports.

    It keeps nothing between turns: what the server reads follows from the request, so any process can go on.

    Args:
        spec: what to ask, and how.
        key: sent as a bearer token; never shown, logged or pickled.
        guard: which addresses may be asked; anywhere by default.
        hosts: connections and limits to share with other agents of the same event loop.
        name: what messages call it; the model's name by default.
    """

    def __init__(
        self,
        spec: EndpointSpec,
        key: SecretStr | str | None = None,
        *,
        guard: Guard | None = None,
        hosts: Hosts | None = None,
        name: str = "",
    ) -> None:
        self.name = name or spec.model
        self.spec = spec
        self._key = SecretStr(key) if isinstance(key, str) else key
        self._guard = guard or Anywhere()
        self._shared = hosts
        self._own: Hosts | None = None
        self._failed = 0
        self._random = random.Random()

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """As `Agent.act`, all requests at the same time.

        Raises:
            AgentFailure, AgentStopped: as `decide`.
        """
        return decide_all(self, requests)

    async def decide(self, request: Request) -> Decision:
        """As `AsyncAgent.decide`.

        Raises:
            AgentFailure: if no answer came, after the tries and the time that the specification has.
            AgentStopped: if it is set up to stop then, or no answer came ten times in a row.
        """
        started = monotonic()
        body = chat.body(self.spec, request)
        server = Server(self.spec, self._key, self._hosts())
        spent, number = Usage(), 1
        while True:
            try:
                answer = await server.ask(body)
                break
            except Fault as fault:
                spent = spent.plus(fault.usage)
                pause = self._pause(fault, number, monotonic() - started)
                if pause is None:
                    return self._without(fault, request, spent, number, monotonic() - started)
                await asyncio.sleep(pause)
                number += 1
        self._failed = 0
        report = _report(spent.plus(answer.usage), monotonic() - started, number)
        report |= {"first_seconds": round(server.first_seconds, 3), "model": answer.model}
        return _decision(answer, report)

    async def close(self) -> None:
        """As `AsyncAgent.close`; shared connections stay."""
        own, self._own = self._own, None
        if own is not None:
            await own.client.close()

    def _hosts(self) -> Hosts:
        if self._shared is not None:
            return self._shared
        if self._own is None:
            self._own = Hosts(Client(self._guard))
        return self._own

    def _pause(self, fault: Fault, number: int, elapsed: float) -> float | None:
        """Seconds until the next try; None if there is none."""
        if not fault.again or (self.spec.on_failure != "retry" and number >= self.spec.tries):
            return None
        first, longest = PAUSES
        growing = min(longest, first * 2 ** min(number - 1, 10))
        pause = max(fault.wait, growing * (0.5 + self._random.random()))
        return pause if elapsed + pause < self.spec.patience else None

    def _without(self, fault: Fault, request: Request, spent: Usage, number: int, seconds: float) -> Decision:
        """What follows when no answer came, as the specification says."""
        self._failed += 1
        asked = "" if number == 1 else f" It was asked {number} times in {seconds:.0f} s."
        sentence = f"{self.name} gave no answer at turn {request.turn}. {fault}{asked}"
        if self.spec.on_failure == "stop" or self._failed >= IN_A_ROW:
            row = f" That makes {self._failed} turns in a row without an answer." if self._failed >= IN_A_ROW else ""
            raise AgentStopped(f"{sentence}{row}") from fault
        if self.spec.on_failure == "retry":
            raise AgentFailure(sentence) from fault
        return Decision("", extra=_report(spent, seconds, number) | {"error": sentence})


def _report(usage: Usage, seconds: float, number: int) -> dict[str, Any]:
    report: dict[str, Any] = {name: value for name, value in usage._asdict().items() if value}
    report["seconds"] = round(seconds, 3)
    if number > 1:
        report["requests"] = number
    return report


def _decision(answer: Answer, report: dict[str, Any]) -> Decision:
    text, reasoning = answer.parted()
    action = text
    if answer.calls:
        calls = [call for _, call in sorted(answer.calls.items())]
        action = clean(action_of(calls))
        report["calls"] = [
            {"name": clean(call.name)[:200], "arguments": clean(call.arguments)[:MOST_NOTE_CHARS]} for call in calls
        ]
        if text:
            report["said"] = text[:MOST_NOTE_CHARS]
    if answer.finish and answer.finish not in ("stop", "tool_calls", "function_call"):
        report["finish"] = answer.finish
    shortened = _tail(action)
    if shortened != action:
        report["finish"] = "too long"
    return Decision(shortened, reasoning[:MOST_NOTE_CHARS], report)


def _tail(action: str) -> str:
    """The end of an action that is longer than an episode keeps: what counts stands there."""
    data = action.encode()
    return action if len(data) <= MOST_ACTION_BYTES else data[-MOST_ACTION_BYTES:].decode(errors="ignore")
