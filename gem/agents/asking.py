"""Asking agents: those that compute answer at once, those that wait for a server answer when they can."""

from __future__ import annotations

import asyncio
import reprlib
import threading
from collections.abc import Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import Self, cast

from gem.agents.agent import Agent, AsyncAgent, Decision, Player, Request, check_decision, decisions_of
from gem.errors import AgentFailure, InvalidArgument

Answer = tuple[int, Decision | AgentFailure]
"""The key of a request, and what came of it."""


class Asking:
    """Requests that wait for a decision, each under a key.

    Agents that compute are asked together, when answers are wanted. Those with `decide` are asked at once, in an event
    loop of its own thread, each request beside the others. Leave the block to cancel what is still awaited.
    """

    def __init__(self) -> None:
        self._batches: dict[int, tuple[Agent, list[int], list[Request]]] = {}
        self._waits: dict[int, bool] = {}
        """Which agents have `decide`, by identity: looking at each request would take longer than many decisions."""
        self._loop: _LoopThread | None = None
        self._awaited = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._loop is not None:
            self._loop.stop()

    def ask(self, key: int, agent: Player, request: Request) -> None:
        """Have `agent` decide; the decision comes with `answers` under this key."""
        batch = self._batches.get(id(agent))
        if batch is None:
            if self._asked_at_once(key, agent, request):
                return
            batch = self._batches[id(agent)] = (cast("Agent", agent), [], [])
        batch[1].append(key)
        batch[2].append(request)

    def _asked_at_once(self, key: int, agent: Player, request: Request) -> bool:
        """Ask an agent that waits for something; False if it is one that computes."""
        waits = self._waits.get(id(agent))
        if waits is None:
            waits = self._waits[id(agent)] = isinstance(agent, AsyncAgent)
            if not waits and not hasattr(agent, "act"):
                raise InvalidArgument(
                    f"{reprlib.repr(agent)} is no agent: it needs act(requests), see gem.agents.Agent."
                )
        if waits:
            self._loop = self._loop or _LoopThread()
            self._loop.ask(key, cast("AsyncAgent", agent), request)
            self._awaited += 1
        return waits

    def answers(self) -> list[Answer]:
        """What has been decided since: at least one answer while any request waits for one.

        Raises:
            Whatever an agent raises, other than `AgentFailure`.
        """
        found: list[Answer] = []
        batches, self._batches = self._batches, {}
        for agent, keys, requests in batches.values():
            found += zip(keys, decisions_of(agent, requests), strict=True)
        while self._awaited and self._loop is not None and (not found or not self._loop.came.empty()):
            key, outcome = self._loop.came.get()
            self._awaited -= 1
            if not isinstance(outcome, Decision | AgentFailure):
                raise outcome
            found.append((key, outcome))
        return found


def ask_all(agent: AsyncAgent, requests: Sequence[Request]) -> list[Decision]:
    """One decision for each request, all of them asked at the same time; for callers outside any event loop.

    Raises:
        AgentFailure, AgentStopped: as `AsyncAgent.decide`.
    """
    with Asking() as asking:
        for key, request in enumerate(requests):
            asking.ask(key, agent, request)
        found: dict[int, Decision] = {}
        while len(found) < len(requests):
            for key, answer in asking.answers():
                if isinstance(answer, AgentFailure):
                    raise answer
                found[key] = answer
    return [found[key] for key in range(len(requests))]


class _LoopThread:
    """An event loop in a thread, and the outcomes that came from it."""

    def __init__(self) -> None:
        self.came: SimpleQueue[tuple[int, Decision | BaseException]] = SimpleQueue()
        self._agents: dict[int, AsyncAgent] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="asking", daemon=True)
        self._thread.start()

    def ask(self, key: int, agent: AsyncAgent, request: Request) -> None:
        self._agents[id(agent)] = agent
        self._loop.call_soon_threadsafe(self._begin, key, agent, request)

    def stop(self) -> None:
        """Cancel what is under way, close the agents' connections, end the thread."""
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _begin(self, key: int, agent: AsyncAgent, request: Request) -> None:
        task = self._loop.create_task(self._decide(key, agent, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _decide(self, key: int, agent: AsyncAgent, request: Request) -> None:
        try:
            decision = await agent.decide(request)
            self.came.put((key, check_decision(agent, "decide", decision)))
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 (it is raised again where the answer is awaited)
            self.came.put((key, error))

    async def _end(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for agent in self._agents.values():
            await agent.close()
        await self._loop.shutdown_default_executor()
