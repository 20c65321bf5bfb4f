"""Middleware that serves static files from the web process."""

import gzip
from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from django.middleware.gzip import re_accepts_gzip
from django.utils.cache import patch_vary_headers
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile

COMPRESSIBLE = ("text/", "image/svg+xml", "application/json", "application/javascript")
MIN_BYTES = 200


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise, with each file sent as bytes.

    WhiteNoise streams from a synchronous iterator. Under ASGI, Django collects such a stream in memory and logs a
    warning. Our files are small, so this class reads them at once. An image has compressed copies of them; the files of
    a checkout, which may change while it runs, are compressed here.
    """

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        """The file, a range of it, or "not modified", with exactly the headers that WhiteNoise sets."""
        static_response = static_file.get_response(request.method, request.META)
        body = b""
        if static_response.file is not None:
            with static_response.file as file:
                body = file.read()
        response = HttpResponse(body, status=int(static_response.status))
        del response["Content-Type"]
        for name, value in static_response.headers:
            response[name] = value
        is_plain = response.status_code == 200 and not response.has_header("Content-Encoding")
        if is_plain and response.get("Content-Type", "").startswith(COMPRESSIBLE) and len(body) >= MIN_BYTES:
            patch_vary_headers(response, ["Accept-Encoding"])
            if re_accepts_gzip.search(request.headers.get("Accept-Encoding", "")):
                response.content = compressed(body)
                response["Content-Encoding"] = "gzip"
                response["Content-Length"] = str(len(response.content))
        return response


@lru_cache(maxsize=256)
def compressed(body: bytes) -> bytes:
    """The body in gzip, always the same."""
    return gzip.compress(body, 9, mtime=0)
