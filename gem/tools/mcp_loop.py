"""One event loop for each process, in a thread of its own, where connections to MCP servers live."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

CLOSE_SECONDS = 8.0
"""How long what still runs may take to end."""


class _Runner:
    """The event loop of this process and its thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="mcp", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """End what still runs, then the loop."""
        with contextlib.suppress(Exception):  # the process ends anyway
            asyncio.run_coroutine_threadsafe(_cancel_all(), self.loop).result(CLOSE_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)


_runner: _Runner | None = None
_starting = threading.Lock()


def running_loop() -> asyncio.AbstractEventLoop:
    """The loop, begun when it is first asked for."""
    global _runner  # noqa: PLW0603 (one for each process)
    with _starting:
        if _runner is None:
            _runner = _Runner()
            atexit.register(_runner.stop)
        return _runner.loop


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Have the coroutine run in the loop."""
    return asyncio.run_coroutine_threadsafe(work, running_loop())


def wait(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """What the coroutine gives, waited for in another thread than the loop's.

    Raises:
        TimeoutError: after so many seconds; it is then cancelled.
    """
    future = submit(work)
    try:
        return future.result(seconds)
    except TimeoutError:
        future.cancel()
        raise


async def _cancel_all() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _forget() -> None:
    """A forked process has a loop of its own."""
    global _runner  # noqa: PLW0603 (as above)
    _runner = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
