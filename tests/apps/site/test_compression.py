"""Streams arrive whole, whatever a client can decompress; complete responses are compressed."""

from __future__ import annotations

from collections.abc import AsyncIterator

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory

from apps.site.compression import CompressionMiddleware


def _answer(response: HttpResponseBase) -> HttpResponseBase:
    request = RequestFactory().get("/", headers={"Accept-Encoding": "gzip, deflate"})
    return CompressionMiddleware(lambda _: response)(request)  # type: ignore[arg-type,return-value]


async def test_a_stream_is_sent_as_it_is() -> None:
    async def parts() -> AsyncIterator[bytes]:
        for number in range(3):
            yield b"%d" % number * 1000

    response = _answer(StreamingHttpResponse(parts()))
    assert isinstance(response, StreamingHttpResponse)
    assert not response.has_header("Content-Encoding")
    received = b"".join([part async for part in response])
    assert received == b"0" * 1000 + b"1" * 1000 + b"2" * 1000


def test_what_is_complete_is_compressed() -> None:
    assert _answer(HttpResponse(b"x" * 1000))["Content-Encoding"] == "gzip"
