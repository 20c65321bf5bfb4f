"""One event loop for each process, in a thread of its own, which runs the connections to MCP servers."""

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

CLOSE_TIMEOUT_SECONDS = 8.0
"""How long the tasks of the loop may take to end."""


class _LoopThread:
    """The event loop of this process and its thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="mcp", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """End all tasks, then the loop."""
        with contextlib.suppress(Exception):  # the process ends anyway
            asyncio.run_coroutine_threadsafe(_end_all(), self.loop).result(CLOSE_TIMEOUT_SECONDS)
        self.loop.call_soon_threadsafe(self.loop.stop)


_loop_thread: _LoopThread | None = None
_loop_thread_lock = threading.RLock()  # a finalizer may run, and submit something, while its thread holds the lock


def running_loop() -> asyncio.AbstractEventLoop:
    """The loop, started by the first call."""
    global _loop_thread  # noqa: PLW0603 (one for each process)
    with _loop_thread_lock:
        if _loop_thread is None:
            _loop_thread = _LoopThread()
            atexit.register(_loop_thread.stop)
        return _loop_thread.loop


def submit(coroutine: Coroutine[Any, Any, T]) -> Future[T]:
    """Run a coroutine in the loop, without waiting for it."""
    return asyncio.run_coroutine_threadsafe(coroutine, running_loop())


def wait(coroutine: Coroutine[Any, Any, T], seconds: float) -> T:
    """Run a coroutine in the loop, and wait for its result in another thread.

    Raises:
        TimeoutError: after so many seconds; the coroutine is then cancelled.
    """
    future = submit(coroutine)
    try:
        return future.result(seconds)
    except TimeoutError:
        future.cancel()
        raise


_stop_callbacks: dict[asyncio.Task[Any], Callable[[], None]] = {}


def on_shutdown(stop: Callable[[], None]) -> None:
    """Register a callback that ends the current task of the loop at shutdown, where it would otherwise be cancelled."""
    task = asyncio.current_task()
    assert task is not None, "only a task can be stopped"
    _stop_callbacks[task] = stop
    task.add_done_callback(lambda finished: _stop_callbacks.pop(finished, None))


async def _end_all() -> None:
    callbacks = dict(_stop_callbacks)
    for stop in callbacks.values():
        stop()
    await asyncio.gather(*callbacks, return_exceptions=True)
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _reset_after_fork() -> None:
    """Drop the parent's loop in a forked process, whose first call starts a new one."""
    global _loop_thread  # noqa: PLW0603 (as above)
    _loop_thread = None
    _stop_callbacks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
