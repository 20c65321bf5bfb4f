"""Database access in threads, for code that runs in an event loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
T = TypeVar("T")


class DatabaseThreads:
    """A few threads, fewer than the connections of the database pool, so that other code gets connections too."""

    def __init__(self, number: int, name: str) -> None:
        self._executor = ThreadPoolExecutor(number, thread_name_prefix=name)

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call in a thread. Its connection returns to the pool afterwards, or is closed if it is broken."""

        def within() -> T:
            try:
                return call(*args, **kwargs)
            finally:
                close_old_connections()

        return await asyncio.get_running_loop().run_in_executor(self._executor, within)


in_thread = DatabaseThreads(4, "live").run
"""Runs a function in the threads of the hub and the consumer."""
