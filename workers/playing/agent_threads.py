"""Threads for agents and slow environments, so that they do not block an event loop."""

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

MAX_PARALLEL = 128
CLOSE_SECONDS = 2.0


class AgentThreads:
    """Runs each call in a thread of its own, with limits on their number and time."""

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(MAX_PARALLEL)
        self.hanging = 0

    async def run(self, think: Callable[[], T], seconds: float) -> T:
        """Call `think` in a thread.

        Raises:
            TimeoutError: it took longer than `seconds`. Its thread keeps running, because Python cannot end it.
        """
        async with self._slots:
            loop = asyncio.get_running_loop()
            answer: asyncio.Future[T] = loop.create_future()
            # This retrieves an exception that arrives when nobody waits any more.
            answer.add_done_callback(asyncio.Future.exception)
            threading.Thread(target=_run, args=(loop, answer, think), name="agent", daemon=True).start()
            try:
                return await asyncio.wait_for(asyncio.shield(answer), seconds)
            except TimeoutError:
                self.hanging += 1
                answer.add_done_callback(self._count_return)
                raise

    @asynccontextmanager
    async def closing(self, env: Env) -> AsyncIterator[None]:
        """Close `env` after the block. Errors are only logged, because the turns are already recorded."""
        try:
            yield
        finally:
            try:
                await self.run(env.close, CLOSE_SECONDS)
            except Exception:
                logger.warning("%s could not be closed", type(env).__name__, exc_info=True)

    def _count_return(self, answer: asyncio.Future[T]) -> None:
        self.hanging -= 1


def _run(loop: asyncio.AbstractEventLoop, answer: asyncio.Future[T], think: Callable[[], T]) -> None:
    """Call `think` in the agent's thread and pass its result or exception back to the loop."""
    try:
        result = think()
    except Exception as error:  # noqa: BLE001 (raised again where the answer is awaited)
        loop.call_soon_threadsafe(_set_result, answer, None, error)
    else:
        loop.call_soon_threadsafe(_set_result, answer, result, None)


def _set_result(answer: asyncio.Future[T], result: T | None, error: Exception | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(result)  # type: ignore[arg-type]  # there is a result if there is no error
