"""Threads in which agents and slow environments take their time, without holding up an event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from gem import Env

logger = logging.getLogger(__name__)

T = TypeVar("T")

AGENTS_AT_ONCE = 64
CLOSE_SECONDS = 2.0


class AgentThreads:
    """Runs agents in threads of their own, a few at once, each for a limited time."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(AGENTS_AT_ONCE)
        self.hanging = 0

    async def run(self, think: Callable[[], T], seconds: float) -> T:
        """Call `think` in a thread.

        Raises:
            TimeoutError: it took longer than `seconds`. Its thread is left alone; Python cannot end it.
        """
        async with self._slots:
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[T] = loop.create_future()
            answer.add_done_callback(asyncio.Future.exception)  # it may come when nobody waits any longer
            threading.Thread(target=_think, args=(loop, answer, think), name="agent", daemon=True).start()
            try:
                return await asyncio.wait_for(asyncio.shield(answer), seconds)
            except TimeoutError:
                self.hanging += 1
                answer.add_done_callback(self._came_back)
                raise

    @asynccontextmanager
    async def closing(self, env: Env) -> AsyncIterator[None]:
        """Close `env` after the block, whose turns are recorded by then: what goes wrong is only logged."""
        try:
            yield
        finally:
            try:
                await self.run(env.close, CLOSE_SECONDS)
            except Exception:
                logger.warning("%s could not be closed", type(env).__name__, exc_info=True)

    def _came_back(self, answer: asyncio.Future[T]) -> None:
        self.hanging -= 1


def _think(loop: asyncio.AbstractEventLoop, answer: asyncio.Future[T], think: Callable[[], T]) -> None:
    """Run in the agent's thread; what it returns or raises goes back to the loop."""
    try:
        result = think()
    except Exception as error:  # noqa: BLE001 (it is raised again where the answer is awaited)
        loop.call_soon_threadsafe(_settle, answer, None, error)
    else:
        loop.call_soon_threadsafe(_settle, answer, result, None)


def _settle(answer: asyncio.Future[T], result: T | None, error: Exception | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(result)  # type: ignore[arg-type]  # without an error there is a result
