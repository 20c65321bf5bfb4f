"""What MCP servers offer, asked before anything waits for it, and remembered for a while.

Who must not wait long, a web request above all, calls `look` first, with the seconds it has. Within `KEPT_SECONDS`
nobody in this process contacts that server to learn what it offers; one that could not be used is not asked again at
once either. Where nobody calls `look` nothing is remembered, and every connection asks for itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from gem.errors import ToolError
from gem.tools.mcp.config import ServerConfig

KEPT_SECONDS = 60.0
REFUSED_SECONDS = 10.0
"""How long a server that could not be used is left alone."""


class _Known:
    """What is known of one server; one thread at a time asks it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.until = 0.0
        self.offered: list[dict[str, Any]] | None = None
        self.problem = ""


_known: dict[ServerConfig, _Known] = {}
_knowing = threading.Lock()


def remembered(server: ServerConfig) -> list[dict[str, Any]] | None:
    """What a server offered when it was looked at lately; None if it was not."""
    known = _known.get(server)
    return known.offered if known and time.monotonic() < known.until else None


def look(server: ServerConfig, ask: Callable[[float], list[dict[str, Any]]], seconds: float) -> None:
    """Have this process know what a server offers.

    Args:
        server: which one.
        ask: asks it, at most the seconds it is given; raises `ToolError` if it cannot be used.
        seconds: how long this may take.

    Raises:
        ToolError: if the server cannot be used, or did not answer in that time.
    """
    with _knowing:
        known = _known.setdefault(server, _Known())
    until = time.monotonic() + seconds
    if not known.lock.acquire(timeout=seconds):
        raise ToolError(f"The server {server.name} did not answer within {seconds:.3g} s.")
    try:
        if time.monotonic() >= known.until:
            _ask(known, ask, max(0.0, until - time.monotonic()))
        if known.offered is None:
            raise ToolError(known.problem)
    finally:
        known.lock.release()


def _ask(known: _Known, ask: Callable[[float], list[dict[str, Any]]], seconds: float) -> None:
    try:
        known.offered, known.problem = ask(seconds), ""
    except ToolError as error:
        known.offered, known.problem = None, str(error)
    known.until = time.monotonic() + (KEPT_SECONDS if known.offered is not None else REFUSED_SECONDS)
