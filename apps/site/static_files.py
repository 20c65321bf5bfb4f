"""Middleware that serves static files from the web process."""

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise, with each file sent as bytes.

    WhiteNoise streams from a synchronous iterator. Under ASGI, Django collects such a stream in memory and logs a
    warning. Our files are small, so this class reads them at once.
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
        return response
