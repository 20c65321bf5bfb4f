"""One event loop for each process, in a thread of its own, where connections to MCP servers live."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
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
            asyncio.run_coroutine_threadsafe(_end_all(), self.loop).result(CLOSE_SECONDS)
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


_endings: dict[asyncio.Task[Any], Callable[[], None]] = {}


def ends_by(ending: Callable[[], None]) -> None:
    """In the loop: when everything ends, the task that runs is ended by this call instead of being cancelled."""
    task = asyncio.current_task()
    assert task is not None, "only a task has an end"
    _endings[task] = ending
    task.add_done_callback(lambda ended: _endings.pop(ended, None))


async def _end_all() -> None:
    ending = dict(_endings)
    for end in ending.values():
        end()
    await asyncio.gather(*ending, return_exceptions=True)
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _forget() -> None:
    """A forked process has a loop of its own."""
    global _runner  # noqa: PLW0603 (as above)
    _runner = None
    _endings.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
