"""The endpoint agent: it sends requests to the server, retries them, and handles turns without a response."""

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
from gem.agents.endpoint.client import EndpointClient, EndpointConnections, EndpointError
from gem.agents.endpoint.completion import Completion, Usage, clean
from gem.agents.endpoint.functions import action_of
from gem.agents.endpoint.ledger import Account, Ledger
from gem.agents.endpoint.spec import EndpointSpec
from gem.errors import AgentFailure, AgentStopped
from gem.net.http import AddressGuard, GuardedClient, UnrestrictedGuard

MAX_ACTION_BYTES = 64 * 1024
MAX_NOTE_CHARS = 64 * 1024
BACKOFF_SECONDS = (0.5, 30.0)
"""The pause before the first retry and the longest pause, in seconds. The pause doubles with every retry."""
MAX_CONSECUTIVE_FAILURES = 10
"""After this number of consecutive turns without a response, the agent takes the server for dead and stops."""


class EndpointAgent:
    """Asks an OpenAI-compatible server for every turn; `gem.agents.endpoint` describes what it reports.

    It keeps no state between turns: the messages are built from the request alone, so an episode can continue in any
    process.

    Args:
        spec: the settings.
        key: the API key, which is sent as a bearer token and never shown, logged or pickled.
        guard: the addresses that it may connect to; by default all.
        connections: connections and limits that it shares with other agents of the same event loop.
        name: the name in messages; by default that of the model.
        ledger: see the attribute.
        side: the side of its accounts there: `agent` or `opponent`.
    """

    def __init__(
        self,
        spec: EndpointSpec,
        key: SecretStr | str | None = None,
        *,
        guard: AddressGuard | None = None,
        connections: EndpointConnections | None = None,
        name: str = "",
        ledger: Ledger | None = None,
        side: str = "agent",
    ) -> None:
        self.name = name or spec.model
        self.spec = spec
        self._key = SecretStr(key) if isinstance(key, str) else key
        self._guard = guard or UnrestrictedGuard()
        self.ledger = ledger
        """Where its requests are reserved and booked; None if they are not."""
        self._side = side
        self._shared_connections = connections
        self._own_connections: EndpointConnections | None = None
        self._consecutive_failures = 0
        self._random = random.Random()

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `Agent.act`; all requests are sent at the same time.

        Raises:
            AgentFailure: see `decide`.
            AgentStopped: see `decide`.
        """
        return decide_all(self, requests)

    async def decide(self, request: Request) -> Decision:
        """See `AsyncAgent.decide`.

        Raises:
            AgentFailure: if there is no response after the tries and the time that the settings allow.
            AgentStopped: if the settings say to stop then, or after ten consecutive turns without a response.
            BudgetUsedUp, EpisodeLimitReached: if its ledger has no room for the request.
        """
        started = monotonic()
        body = chat.request_body(self.spec, request)
        account = Account(request.episode, self._side)
        client = EndpointClient(self.spec, self._key, self._connections(), self.ledger, account)
        usage, request_count = Usage(), 1
        while True:
            try:
                completion = await client.complete(body)
                break
            except EndpointError as error:
                usage = usage.plus(error.usage)
                pause = self._pause(error, request_count, monotonic() - started)
                if pause is None:
                    seconds = monotonic() - started
                    report = _report(usage, seconds, request_count, client.estimated_tokens)
                    return self._handle_failure(error, request, report, request_count, seconds)
                await asyncio.sleep(pause)
                request_count += 1
        self._consecutive_failures = 0
        usage = usage.plus(completion.usage)
        report = _report(usage, monotonic() - started, request_count, client.estimated_tokens)
        report |= {"first_seconds": round(client.first_seconds, 3), "model": completion.model}
        return _decision(completion, report)

    async def close(self) -> None:
        """See `AsyncAgent.close`; shared connections stay open."""
        connections, self._own_connections = self._own_connections, None
        if connections is not None:
            await connections.client.close()

    def _connections(self) -> EndpointConnections:
        if self._shared_connections is not None:
            return self._shared_connections
        if self._own_connections is None:
            self._own_connections = EndpointConnections(GuardedClient(self._guard))
        return self._own_connections

    def _pause(self, error: EndpointError, request_count: int, elapsed: float) -> float | None:
        """Return the pause before the next try in seconds; None if there is no further try."""
        if not error.is_retryable or (self.spec.on_failure != "retry" and request_count >= self.spec.tries):
            return None
        first, longest = BACKOFF_SECONDS
        backoff = min(longest, first * 2 ** min(request_count - 1, 10))
        pause = max(error.retry_after_seconds, backoff * (0.5 + self._random.random()))
        return pause if elapsed + pause < self.spec.patience else None

    def _handle_failure(
        self, error: EndpointError, request: Request, report: dict[str, Any], request_count: int, seconds: float
    ) -> Decision:
        """Forfeit the turn or raise, as the settings say, after the last try has failed."""
        self._consecutive_failures += 1
        effort = "" if request_count == 1 else f" There were {request_count} requests in {seconds:.0f} s."
        sentence = f"{self.name} gave no answer at turn {request.turn}. {error}{effort}"
        if self.spec.on_failure == "stop" or self._consecutive_failures >= MAX_CONSECUTIVE_FAILURES:
            if self._consecutive_failures >= MAX_CONSECUTIVE_FAILURES:
                sentence += f" That makes {self._consecutive_failures} turns in a row without an answer."
            raise AgentStopped(sentence) from error
        if self.spec.on_failure == "retry":
            raise AgentFailure(sentence) from error
        return Decision("", extra=report | {"error": sentence})


def _report(usage: Usage, seconds: float, request_count: int, estimated_tokens: int) -> dict[str, Any]:
    report: dict[str, Any] = {name: value for name, value in usage._asdict().items() if value}
    if estimated_tokens:
        report["tokens_estimated"] = estimated_tokens
    report["seconds"] = round(seconds, 3)
    if request_count > 1:
        report["requests"] = request_count
    return report


def _decision(completion: Completion, report: dict[str, Any]) -> Decision:
    text, reasoning = completion.split_reasoning()
    action = text
    if completion.calls:
        calls = [call for _, call in sorted(completion.calls.items())]
        action = clean(action_of(calls))
        report["calls"] = [
            {"name": clean(call.name)[:200], "arguments": clean(call.arguments)[:MAX_NOTE_CHARS]} for call in calls
        ]
        if text:
            report["said"] = text[:MAX_NOTE_CHARS]
    if completion.finish_reason and completion.finish_reason not in ("stop", "tool_calls", "function_call"):
        report["finish"] = completion.finish_reason
    stored_action = _shorten(action)
    if stored_action != action:
        report["finish"] = "too long"
    return Decision(stored_action, reasoning[:MAX_NOTE_CHARS], report)


def _shorten(action: str) -> str:
    """Cut the beginning off an action that is longer than an episode stores; the answer is usually at the end."""
    data = action.encode()
    return action if len(data) <= MAX_ACTION_BYTES else data[-MAX_ACTION_BYTES:].decode(errors="ignore")
