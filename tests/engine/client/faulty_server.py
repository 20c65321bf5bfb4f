"""A server that answers each request as the test's script says: errors, pauses, broken connections, half streams."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = Callable[["Handler"], None]


@dataclass
class Asked:
    """A request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes = field(repr=False)

    @property
    def json(self) -> Any:
        """The body, which is JSON."""
        return json.loads(self.body)


class FaultyServer(ThreadingHTTPServer):
    """The server; each request takes the next step of the script, and the last step answers all that follow."""

    daemon_threads = True

    def __init__(self, script: Sequence[Step]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = list(script)
        self.asked: list[Asked] = []
        self.lock = threading.Lock()
        self.over = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections that break are part of the tests."""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    server: FaultyServer

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.server.lock:
            self.server.asked.append(Asked(self.command, self.path, headers, body))
            step = self.server.script[min(len(self.server.asked), len(self.server.script)) - 1]
        with suppress(OSError):
            step(self)

    do_POST = do_PUT = do_DELETE = do_PATCH = do_GET  # noqa: N815 (as the library calls them)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def answer(self, status: int, content: bytes, kind: str = "application/json", **headers: str) -> None:
        """Send a whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def begin_stream(self, kind: str) -> None:
        """Send the head of an answer in chunks."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, content: bytes) -> None:
        """Send a part of the answer; an empty one ends it."""
        self.wfile.write(f"{len(content):x}\r\n".encode() + content + b"\r\n")
        self.wfile.flush()

    def reset(self) -> None:
        """Break the connection."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def ok(data: Any, **headers: str) -> Step:
    """Answer with JSON."""
    return lambda handler: handler.answer(200, json.dumps(data).encode(), **headers)


def problem(status: int, detail: str, **headers: str) -> Step:
    """Answer with an error as the API does."""
    content = json.dumps({"title": "Refused", "status": status, "detail": detail}).encode()
    return lambda handler: handler.answer(status, content, "application/problem+json", **headers)


def page(status: int, text: str, **headers: str) -> Step:
    """Answer with something that is not of the API."""
    return lambda handler: handler.answer(status, text.encode(), "text/html", **headers)


def reset(handler: Handler) -> None:
    """Break the connection instead of answering."""
    handler.reset()


def silence(handler: Handler) -> None:
    """Never answer."""
    handler.server.over.wait(30)


def stream(parts: Sequence[bytes], kind: str, *, breaks: bool = False) -> Step:
    """Send parts of a stream; then end it, or break the connection."""

    def step(handler: Handler) -> None:
        handler.begin_stream(kind)
        for part in parts:
            handler.chunk(part)
        if breaks:
            handler.reset()
        else:
            handler.chunk(b"")

    return step


@contextmanager
def faulty_server(*script: Step) -> Iterator[FaultyServer]:
    """A server with this script while the block lasts."""
    server = FaultyServer(script)
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
