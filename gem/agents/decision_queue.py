"""A queue of requests for decisions: agents that compute get them in batches, agents that wait get them at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import Self, cast

from gem.agents.agent import (
    Agent,
    AnyAgent,
    AsyncAgent,
    Decision,
    Request,
    check_agent,
    check_decision,
    decisions_of,
)
from gem.errors import AgentFailure

RequestOutcome = tuple[int, Decision | AgentFailure]
"""The key of a request, and the decision on it or why there is none."""


class DecisionQueue:
    """Requests that wait for a decision, each under a key.

    Requests to an `Agent` are batched until `collect` is called. Requests to an `AsyncAgent` start at once and run
    concurrently in an event loop, which has a thread of its own. Leaving the `with` block cancels pending requests.
    """

    def __init__(self) -> None:
        self._batches: dict[int, tuple[Agent, list[int], list[Request]]] = {}
        self._is_async: dict[int, bool] = {}
        """Whether an agent has `decide`, by its identity. `isinstance` with a protocol takes longer than many
        decisions, so the result is cached."""
        self._loop: _LoopThread | None = None
        self._pending_count = 0
        """The number of requests in the event loop."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._loop is not None:
            self._loop.stop()

    def submit(self, key: int, agent: AnyAgent, request: Request) -> None:
        """Add a request; `collect` returns its outcome under this key."""
        batch = self._batches.get(id(agent))
        if batch is None:
            if self._submit_async(key, agent, request):
                return
            batch = self._batches[id(agent)] = (cast("Agent", agent), [], [])
        batch[1].append(key)
        batch[2].append(request)

    def _submit_async(self, key: int, agent: AnyAgent, request: Request) -> bool:
        """Start a request if the agent is an `AsyncAgent`; return whether it is."""
        is_async = self._is_async.get(id(agent))
        if is_async is None:
            check_agent(agent)
            is_async = self._is_async[id(agent)] = isinstance(agent, AsyncAgent)
        if is_async:
            self._loop = self._loop or _LoopThread()
            self._loop.submit(key, cast("AsyncAgent", agent), request)
            self._pending_count += 1
        return is_async

    def collect(self) -> list[RequestOutcome]:
        """Return the outcomes since the last call; if requests are pending, wait until there is at least one.

        Raises:
            Exception: any exception of an agent other than `AgentFailure`.
        """
        outcomes: list[RequestOutcome] = []
        batches, self._batches = self._batches, {}
        for agent, keys, requests in batches.values():
            outcomes += zip(keys, decisions_of(agent, requests), strict=True)
        while self._pending_count and self._loop is not None and (not outcomes or not self._loop.results.empty()):
            key, result = self._loop.results.get()
            self._pending_count -= 1
            if not isinstance(result, Decision | AgentFailure):
                raise result
            outcomes.append((key, result))
        return outcomes


def decide_all(agent: AsyncAgent, requests: Sequence[Request]) -> list[Decision]:
    """Return one decision for each request; all run concurrently. For callers outside any event loop.

    Raises:
        AgentFailure: see `AsyncAgent.decide`.
        AgentStopped: see `AsyncAgent.decide`.
    """
    with DecisionQueue() as queue:
        for key, request in enumerate(requests):
            queue.submit(key, agent, request)
        decisions: dict[int, Decision] = {}
        while len(decisions) < len(requests):
            for key, outcome in queue.collect():
                if isinstance(outcome, AgentFailure):
                    raise outcome
                decisions[key] = outcome
    return [decisions[key] for key in range(len(requests))]


class _LoopThread:
    """An event loop in a thread, and the results of the requests that ran in it."""

    def __init__(self) -> None:
        self.results: SimpleQueue[tuple[int, Decision | BaseException]] = SimpleQueue()
        self._agents: dict[int, AsyncAgent] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="decisions", daemon=True)
        self._thread.start()

    def submit(self, key: int, agent: AsyncAgent, request: Request) -> None:
        self._agents[id(agent)] = agent
        self._loop.call_soon_threadsafe(self._start_task, key, agent, request)

    def stop(self) -> None:
        """Cancel pending requests, close the agents' connections and end the thread."""
        asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _start_task(self, key: int, agent: AsyncAgent, request: Request) -> None:
        task = self._loop.create_task(self._decide(key, agent, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _decide(self, key: int, agent: AsyncAgent, request: Request) -> None:
        try:
            decision = await agent.decide(request)
            self.results.put((key, check_decision(agent, "decide", decision)))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 (`collect` raises it again)
            self.results.put((key, error))

    async def _shut_down(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for agent in self._agents.values():
            await agent.close()
        await self._loop.shutdown_default_executor()
