"""The only way from a confined server to the network: a proxy that knows which hosts it may reach.

It speaks CONNECT (RFC 9110, 9.3.6) and nothing else. It runs on the host's side, in the thread of a process without
rights, and accepts on a socket that the server's own network ends at.
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
CONNECTIONS = 32
MAX_REQUEST = 8192
SECONDS = 15.0
"""For the request and for the connection."""
IDLE_SECONDS = 300.0
CHUNK = 1 << 16


def start(listener: socket.socket, hosts: list[str], engine: str) -> None:
    """Carry connections in threads, to `hosts` only.

    Args:
        listener: what the server's connections arrive on.
        hosts: `name:port` with `*` in either; names lead to public addresses only, addresses are taken as they are.
        engine: where the package `gem` is.
    """
    sys.path.append(engine)
    from gem.net.addresses import AddressGuard  # noqa: PLC0415 (only a server with a network needs it)

    permits = AddressGuard().permits
    socket.getaddrinfo("localhost", 1)  # so that what names need is loaded before the rights are gone
    threading.Thread(target=_accept, args=(listener, hosts, permits), daemon=True).start()


def allowed(hosts: list[str], host: str, port: int) -> bool:
    """Whether a host is on the list; an address is only if it is there literally."""
    for entry in hosts:
        pattern, _, wanted = entry.rpartition(":")
        if wanted not in ("*", str(port)):
            continue
        pattern = pattern.strip("[]").lower()
        if pattern == host if is_address(host) else fnmatch.fnmatchcase(host, pattern):
            return True
    return False


def is_address(host: str) -> bool:
    """Whether a host is an address in its usual form; others, such as `0x7f.1`, are names to be resolved."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _accept(listener: socket.socket, hosts: list[str], permits: Callable[[str, int], bool]) -> None:
    room = threading.BoundedSemaphore(CONNECTIONS)
    while True:
        client, _ = listener.accept()
        if not room.acquire(blocking=False):
            client.close()
            continue
        threading.Thread(target=_serve, args=(client, hosts, permits, room), daemon=True).start()


def _serve(client: socket.socket, hosts: list[str], permits: Callable[[str, int], bool], room: Any) -> None:
    """One connection, from its request to its end."""
    try:
        with client:
            client.settimeout(SECONDS)
            answer, remote = _connect(_request(client), hosts, permits)
            client.sendall(f"HTTP/1.1 {answer}\r\n\r\n".encode())
            if remote is not None:
                with remote:
                    _carry(client, remote)
    except OSError:
        pass  # either side went away
    finally:
        room.release()


def _request(client: socket.socket) -> str:
    """The first line of the request; the rest is read and not needed."""
    data = b""
    while b"\r\n\r\n" not in data and len(data) < MAX_REQUEST:
        more = client.recv(CHUNK)
        if not more:
            break
        data += more
    return data.split(b"\r\n", 1)[0].decode("latin-1")


def _connect(line: str, hosts: list[str], permits: Callable[[str, int], bool]) -> tuple[str, socket.socket | None]:
    """The status that answers a request, and the connection if there is one."""
    method, _, rest = line.partition(" ")
    if method != "CONNECT":
        return "405 Only CONNECT is carried: use https", None
    name, _, digits = rest.partition(" ")[0].rpartition(":")
    host = name.strip("[]").lower().rstrip(".")
    if not host or not digits.isascii() or not digits.isdecimal() or not 0 < int(digits) < 65536:
        return "400 Bad Request", None
    port = int(digits)
    if not allowed(hosts, host, port):
        return "403 This host is not on the server's list", None
    try:
        found = dict.fromkeys(str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        return "502 The name of the host cannot be found", None
    if not is_address(host) and not all(permits(address, port) for address in found):
        return "403 The host does not have a public address", None
    for address in found:
        with contextlib.suppress(OSError):
            return "200 Connection established", socket.create_connection((address, port), SECONDS)
    return "502 The host cannot be reached", None


def _carry(one: socket.socket, other: socket.socket) -> None:
    """Bytes both ways until both have ended."""
    for end in (one, other):
        end.settimeout(IDLE_SECONDS)
    back = threading.Thread(target=_pass, args=(other, one), daemon=True)
    back.start()
    _pass(one, other)
    back.join()


def _pass(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
