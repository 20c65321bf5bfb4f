"""Answers requests in threads, a few of each kind at a time."""

from __future__ import annotations

import asyncio

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from apps.accounts.lanes import Lanes


class SiteHandler(ASGIHandler):
    """Django's handler, whose requests wait in lanes (`apps.accounts.lanes`) once their bodies have arrived.

    All middleware and views are synchronous. So each request changes to its thread once, instead of at every border
    between synchronous and asynchronous middleware.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lanes = Lanes()

    def load_middleware(self, is_async: bool = False) -> None:
        """Load the middleware for threads."""
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """The answer, after a place in the lane was free."""
        async with self._lanes.place(request):
            answer = asyncio.ensure_future(sync_to_async(self.get_response)(request))
            try:
                return await asyncio.shield(answer)
            except (
                asyncio.CancelledError
            ):  # the visitor has gone; the thread goes on, and keeps its place until it ends
                await asyncio.wait([answer])
                raise
