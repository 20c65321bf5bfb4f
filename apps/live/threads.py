"""Reads in a thread with a database connection, for code that runs in an event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4
"""Fewer than the database pool has connections, so that pages always find one."""
_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="live")


async def in_thread(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `read` in a thread; its connection goes back to the pool afterwards, or is dropped if it broke."""

    def run() -> T:
        try:
            return read(*args, **kwargs)
        finally:
            close_old_connections()

    return await asyncio.get_running_loop().run_in_executor(_threads, run)
