"""Where a call of a fast environment is computed: in the event loop if it takes next to no time, else in a thread."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

INLINE_SECONDS = 0.001
"""A call that is expected to take less is computed in the event loop, which a thread would only delay."""
FORGET = 0.995
"""By this factor the longest time of a kind of calls is forgotten with each further call."""
THREADS = 2


class Pace:
    """Computes calls, and remembers how long those of each kind take."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="openenv")
        self._seconds: dict[tuple[str, str], float] = {}

    async def call(self, kind: tuple[str, str], function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Compute a call of this kind, such as the steps of one environment. The first of each goes to a thread."""
        expected = self._seconds.get(kind)
        if expected is None or expected >= INLINE_SECONDS:
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, lambda: self._measured(kind, function, *args, **kwargs)
            )
        return self._measured(kind, function, *args, **kwargs)

    def _measured(self, kind: tuple[str, str], function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        start = time.thread_time()  # not the time that passes, which is also that of other processes
        try:
            return function(*args, **kwargs)
        finally:
            self._seconds[kind] = max(time.thread_time() - start, self._seconds.get(kind, 0.0) * FORGET)


pace = Pace()
