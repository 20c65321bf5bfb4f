"""Calls that run one after the other in a thread, beside what the caller does meanwhile."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Generic, Self, TypeVar

from django.db import connection

logger = logging.getLogger(__name__)

T = TypeVar("T")


class Beside(Generic[T]):
    """Runs one call at a time in a thread. Leaving the `with` block waits for it.

    A worker records episodes in this way while it plays the next ones: for most of the time that takes, it would wait
    for Postgres.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="beside")
        self._call: Future[T] | None = None
        self._is_used = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        call, self._call = self._call, None
        if call is not None and (failure := call.exception()) is not None:
            logger.warning("What ran beside failed too: %s", failure)
        if self._is_used:
            self._threads.submit(_close_connection).result()
        self._threads.shutdown()

    def start(self, call: Callable[[], T]) -> None:
        """Start a call. The caller has waited for the one before it."""
        assert self._call is None, "one at a time"
        self._is_used = True
        self._call = self._threads.submit(call)

    def wait(self) -> T | None:
        """Wait for the call, and return what it returned; None if there is none.

        Raises:
            Exception: what the call raised.
        """
        call, self._call = self._call, None
        return None if call is None else call.result()


def _close_connection() -> None:
    """Close the connection to the database that this thread has; `connection` is another one in each thread."""
    connection.close()
