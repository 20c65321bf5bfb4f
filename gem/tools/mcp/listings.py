"""The tools that MCP servers offer, requested in advance and cached for a while.

A caller that must not wait long, above all a web request, first calls `refresh_listing` with the seconds it has. For
`CACHE_SECONDS` after that, no caller in this process contacts the server to list its tools; a server that failed is not
contacted for `FAILURE_CACHE_SECONDS`. Where `refresh_listing` is not called, nothing is cached, and every connection
lists the tools itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from gem.errors import ToolError
from gem.tools.mcp.config import ServerConfig

CACHE_SECONDS = 60.0
FAILURE_CACHE_SECONDS = 10.0


class _CachedListing:
    """The listing of one server, or why it failed; one thread at a time refreshes it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.expires = 0.0
        self.tools: list[dict[str, Any]] | None = None
        self.problem = ""


_listings: dict[ServerConfig, _CachedListing] = {}
_listings_lock = threading.Lock()


def cached_listing(server: ServerConfig) -> list[dict[str, Any]] | None:
    """The cached tools of a server; None if there are none, or they have expired."""
    listing = _listings.get(server)
    return listing.tools if listing and time.monotonic() < listing.expires else None


def refresh_listing(server: ServerConfig, request: Callable[[float], list[dict[str, Any]]], seconds: float) -> None:
    """List a server's tools and cache them, unless the cache is still valid.

    Args:
        request: lists the tools, within the seconds that it gets; raises `ToolError` if the server cannot be used.
        seconds: how long this may take.

    Raises:
        ToolError: if the server cannot be used, or did not answer in that time.
    """
    with _listings_lock:
        listing = _listings.setdefault(server, _CachedListing())
    deadline = time.monotonic() + seconds
    if not listing.lock.acquire(timeout=seconds):
        raise ToolError(f"The server {server.name} did not answer within {seconds:.3g} s.")
    try:
        if time.monotonic() >= listing.expires:
            _refresh(listing, request, max(0.0, deadline - time.monotonic()))
        if listing.tools is None:
            raise ToolError(listing.problem)
    finally:
        listing.lock.release()


def _refresh(listing: _CachedListing, request: Callable[[float], list[dict[str, Any]]], seconds: float) -> None:
    try:
        listing.tools, listing.problem = request(seconds), ""
    except ToolError as error:
        listing.tools, listing.problem = None, str(error)
    listing.expires = time.monotonic() + (CACHE_SECONDS if listing.tools is not None else FAILURE_CACHE_SECONDS)
