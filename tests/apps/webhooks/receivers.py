"""Servers that receive webhooks, well and badly, in threads of the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field


@dataclass
class Received:
    """A request that arrived."""

    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """A server, and what it has received."""

    port: int
    received: list[Received] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/hook"


Behaviour = Callable[[socket.socket], None]
"""What a server does with a connection after it has read the request."""


def answering(status: str, *headers: str, body: bytes = b"") -> Behaviour:
    """A server that answers with this status line, such as `200 OK`."""
    head = "\r\n".join([f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "Connection: close", "", ""])
    return lambda connection: connection.sendall(head.encode() + body)


def endless(connection: socket.socket) -> None:
    """Answer 200 with a body that never ends."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    with suppress(OSError):
        while True:
            connection.sendall(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")


def silent(connection: socket.socket) -> None:
    """Never answer, until the other side has had enough."""
    with suppress(OSError):
        connection.recv(1)


def garbled(connection: socket.socket) -> None:
    """Answer with something that is not HTTP."""
    connection.sendall(b"\x00\xffnothing like it\r\n\r\n")


@contextmanager
def receiver(*behaviours: Behaviour) -> Iterator[Receiver]:
    """A server that treats its first connection in the first way, and so on; the last way is for all others."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = Receiver(listening.getsockname()[1])
    threads: list[threading.Thread] = []
    ways = list(behaviours)

    def serve(connection: socket.socket, behave: Behaviour) -> None:
        with connection, suppress(OSError):
            server.received.append(_read(connection))
            behave(connection)

    def accept() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                behave = ways.pop(0) if len(ways) > 1 else ways[0]
                threads.append(threading.Thread(target=serve, args=(connection, behave), daemon=True))
                threads[-1].start()

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield server
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        acceptor.join(5)
        for thread in threads:
            thread.join(5)


def _read(connection: socket.socket) -> Received:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")[1:]
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        body += connection.recv(65536)
    return Received(headers, body)
