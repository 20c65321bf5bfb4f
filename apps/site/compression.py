"""Compression of responses. Streams are sent as they are.

Django compresses every part of an asynchronous stream by itself. Many programs, browsers among them, decode only the
first part of such a body, take it for the whole, and say nothing about the rest.
"""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressionMiddleware(GZipMiddleware):
    """Compresses responses that are complete; it adds random padding against BREACH."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress a response that is no stream, if the client takes that."""
        return response if response.streaming else super().process_response(request, response)
