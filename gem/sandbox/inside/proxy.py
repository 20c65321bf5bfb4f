"""The only way from a confined server to the network: a proxy that connects to the permitted hosts.

It implements only CONNECT (RFC 9110, 9.3.6). It runs on the host's side, in a thread of a process without privileges,
and accepts connections on a socket in the server's network namespace.
"""

from __future__ import annotations

import contextlib
import fnmatch
import ipaddress
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

PORT = 3128
MAX_CONNECTIONS = 32
MAX_REQUEST_BYTES = 8192
CONNECT_TIMEOUT_SECONDS = 15.0
"""How long the request may take, and then the connection to the host."""
IDLE_TIMEOUT_SECONDS = 300.0
CHUNK_BYTES = 1 << 16


def start(listener: socket.socket, hosts: list[str], engine_folder: str) -> None:
    """Forward connections in threads, to `hosts` only.

    Args:
        listener: the socket on which the server's connections arrive.
        hosts: entries `name:port`, each part of which may be `*`. Names may resolve to public addresses only; a literal
            address may be private.
        engine_folder: the folder that holds the package `gem`.
    """
    sys.path.append(engine_folder)
    from gem.net.addresses import AddressGuard  # noqa: PLC0415 (only a server with a network needs it)

    is_public = AddressGuard().allows
    socket.getaddrinfo("localhost", 1)  # loads the resolver's libraries while this process may still read them
    threading.Thread(target=_accept, args=(listener, hosts, is_public), daemon=True).start()


def is_allowed(hosts: list[str], host: str, port: int) -> bool:
    """Whether a host is on the list; an address has to be there literally."""
    for entry in hosts:
        pattern, _, entry_port = entry.rpartition(":")
        if entry_port not in ("*", str(port)):
            continue
        pattern = pattern.strip("[]").lower()
        if pattern == host if is_address(host) else fnmatch.fnmatchcase(host, pattern):
            return True
    return False


def is_address(host: str) -> bool:
    """Whether a host is an address in its usual form; other forms, such as `0x7f.1`, are resolved like names."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _accept(listener: socket.socket, hosts: list[str], is_public: Callable[[str, int], bool]) -> None:
    slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
    while True:
        client, _ = listener.accept()
        if not slots.acquire(blocking=False):
            client.close()
            continue
        threading.Thread(target=_serve, args=(client, hosts, is_public, slots), daemon=True).start()


def _serve(client: socket.socket, hosts: list[str], is_public: Callable[[str, int], bool], slots: Any) -> None:
    """Handle one connection, from its request to its end."""
    try:
        with client:
            client.settimeout(CONNECT_TIMEOUT_SECONDS)
            status, remote = _connect(_read_request_line(client), hosts, is_public)
            client.sendall(f"HTTP/1.1 {status}\r\n\r\n".encode())
            if remote is not None:
                with remote:
                    _forward(client, remote)
    except OSError:
        pass  # one of the sides closed the connection
    finally:
        slots.release()


def _read_request_line(client: socket.socket) -> str:
    """Read a request, and return its first line."""
    data = b""
    while b"\r\n\r\n" not in data and len(data) < MAX_REQUEST_BYTES:
        chunk = client.recv(CHUNK_BYTES)
        if not chunk:
            break
        data += chunk
    return data.split(b"\r\n", 1)[0].decode("latin-1")


def _connect(line: str, hosts: list[str], is_public: Callable[[str, int], bool]) -> tuple[str, socket.socket | None]:
    """The status of the response to a request, and the connection if the request is permitted."""
    method, _, rest = line.partition(" ")
    if method != "CONNECT":
        return "405 Only CONNECT is carried: use https", None
    name, _, digits = rest.partition(" ")[0].rpartition(":")
    host = name.strip("[]").lower().rstrip(".")
    if not host or not digits.isascii() or not digits.isdecimal() or not 0 < int(digits) < 65536:
        return "400 Bad Request", None
    port = int(digits)
    if not is_allowed(hosts, host, port):
        return "403 This host is not on the server's list", None
    try:
        results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return "502 The name of the host cannot be found", None
    addresses = dict.fromkeys(str(result[4][0]) for result in results)
    if not is_address(host) and not all(is_public(address, port) for address in addresses):
        return "403 The host does not have a public address", None
    for address in addresses:
        with contextlib.suppress(OSError):
            return "200 Connection established", socket.create_connection((address, port), CONNECT_TIMEOUT_SECONDS)
    return "502 The host cannot be reached", None


def _forward(client: socket.socket, remote: socket.socket) -> None:
    """Forward bytes both ways until both sides have ended."""
    for connection in (client, remote):
        connection.settimeout(IDLE_TIMEOUT_SECONDS)
    return_thread = threading.Thread(target=_copy, args=(remote, client), daemon=True)
    return_thread.start()
    _copy(client, remote)
    return_thread.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until the source has ended, and close the target for writing."""
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
