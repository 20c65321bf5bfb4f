"""The protocols of the web process: uvicorn's, with deadlines, and without tracebacks about what clients send."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.protocol import State

from apps.connect.paths import is_line
from apps.live.scopes import ABORT, END
from apps.openenv.paths import ROOT

MAX_FRAGMENTS = 16
"""The fragments that a message may have: pages send none at all."""
MAX_HEADERS, MAX_HEADER_BYTES = 200, 64 * 1024
"""The headers that a request may have, and their size together with its address; browsers send a tenth of it."""
TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
INVALID_TEXT = 1007
TOO_BIG = 1009


class TooManyHeaders(Exception):
    """A request with more than `MAX_HEADERS`; the parser turns it into a response with status 400."""


class BoundedHeaders(HttpToolsProtocol):
    """Closes a connection whose next request has no complete headers after `REQUEST_SECONDS`, or too long ones.

    uvicorn would keep them in memory as long as they come.
    """

    _deadline: asyncio.TimerHandle | None = None
    _header_bytes = 0
    """Of the headers that are not complete yet; those of a request in one piece are not counted."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read a part of a request. Bytes between requests end uvicorn's own wait, so another one begins."""
        super().data_received(data)
        if self._deadline is not None:
            self._header_bytes += len(data)
            if self._header_bytes > MAX_HEADER_BYTES:
                self._refuse_headers()
                return
        cycle: RequestResponseCycle | None = self.cycle
        is_idle = cycle is None or cycle.response_complete
        if is_idle and self in self.connections and self.timeout_keep_alive_task is None:
            self._wait()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of the headers."""
        super().on_message_begin()
        self.scope[ABORT] = self.transport.abort  # type: ignore[literal-required]
        self._wait()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Read a header, or one after a body.

        Raises:
            TooManyHeaders: if there are too many.
        """
        if len(self.headers) >= MAX_HEADERS:
            raise TooManyHeaders
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop waiting: the body has a deadline of its own."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Stop: end streams of events, whose readers come back and continue, and finish other responses."""
        cycle: RequestResponseCycle | None = self.cycle
        end = None if cycle is None else cast("dict[str, Any]", cycle.scope).get(END)
        if end is not None:
            end()
        super().shutdown()

    def _refuse_headers(self) -> None:
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle.response_complete:  # otherwise it would be a part of that response
            self.transport.write(TOO_LARGE)
        self.transport.close()

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(settings.REQUEST_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._header_bytes = 0


class QuietWebSocket(WebSocketsSansIOProtocol):
    """Closes a socket that sends invalid UTF-8 or endless fragments, without a traceback in the log."""

    def handle_connect(self, event: Request) -> None:
        """Answer a handshake; sessions of programs that play may send longer messages than pages."""
        if event.path.startswith(ROOT):
            self.conn.max_message_size = settings.OPENENV_MESSAGE_BYTES
        elif is_line(event.path.partition("?")[0]):
            self.conn.max_message_size = settings.REMOTE_MESSAGE_BYTES
        super().handle_connect(event)

    def handle_cont(self, event: Frame) -> None:
        """Read a fragment, unless there are too many: empty ones would never reach the limit of bytes."""
        if len(self.frames) >= MAX_FRAGMENTS:
            self._close(TOO_BIG)
        else:
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """Pass on a message if it is valid."""
        try:
            if self.curr_msg_data_type == "text":
                b"".join(self.frames).decode()
        except UnicodeDecodeError:
            self._close(INVALID_TEXT)
        else:
            super().send_receive_event_to_app()

    def _close(self, code: int) -> None:
        self.frames: list[Any] = []
        if self.conn.state is State.OPEN:  # otherwise one side has closed it already
            self.conn.send_close(code)
            self.handle_parser_exception()
