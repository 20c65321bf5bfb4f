"""Hostile frames on sockets: malformed, huge, out of order, after the close, and read by nobody."""

from __future__ import annotations

import os
import random
import socket
import struct
from collections.abc import Callable

import pytest
from django.db import transaction
from websockets.sync.client import ClientConnection

from apps.episodes import operations
from apps.episodes.models import Episode
from tests.counts import Counted
from tests.live.processes import Fleet, Web, wait_for
from tests.live.test_sockets import events_until, turns_in

FRAMES_ON_A_SOCKET = 25
BUFFERS_BYTES = 6_000_000
"""More than Linux keeps for a connection by default (the last number of `tcp_wmem`, and a small `tcp_rmem`)."""
TEXT, BINARY, CLOSE, PING, PONG, CONTINUED = 0x1, 0x2, 0x8, 0x9, 0xA, 0x0


def frame(opcode: int, payload: bytes = b"", *, fin: int = 0x80, masked: int = 0x80, reserved: int = 0) -> bytes:
    """A frame as a client sends it, or nearly."""
    size = len(payload)
    if size < 126:
        length = struct.pack("!B", masked | size)
    elif size < 65536:
        length = struct.pack("!BH", masked | 126, size)
    else:
        length = struct.pack("!BQ", masked | 127, size)
    return bytes([fin | reserved | opcode]) + length + (bytes(4) if masked else b"") + payload


KINDS: dict[str, Callable[[random.Random], bytes]] = {
    "short text": lambda _: frame(TEXT, b"seen"),
    "long text": lambda draw: frame(TEXT, b"x" * draw.randrange(257, 4096)),
    "too long": lambda draw: frame(TEXT, b"x" * draw.randrange(4097, 20_000)),
    "invalid UTF-8": lambda draw: frame(TEXT, b"\xff\xfe" + draw.randbytes(8)),
    "half a character": lambda _: frame(TEXT, b"\xe2\x82", fin=0) + frame(CONTINUED, b"x"),
    "binary": lambda draw: frame(BINARY, draw.randbytes(20)),
    "not masked": lambda _: frame(TEXT, b"x", masked=0),
    "reserved bits": lambda draw: frame(TEXT, b"x", reserved=draw.choice([0x10, 0x20, 0x40])),
    "no such opcode": lambda draw: frame(draw.choice([3, 4, 5, 6, 7, 11, 15]), b"x"),
    "continues nothing": lambda _: frame(CONTINUED, b"x"),
    "never continued": lambda _: frame(TEXT, b"x", fin=0) + frame(TEXT, b"y"),
    "empty fragments": lambda _: frame(TEXT, b"", fin=0) + frame(CONTINUED, b"", fin=0) * 20,
    "ping": lambda draw: frame(PING, draw.randbytes(draw.randrange(125))),
    "long ping": lambda _: frame(PING, b"x" * 126),
    "ping in fragments": lambda _: frame(PING, b"x", fin=0),
    "pong": lambda _: frame(PONG, b"nobody asked"),
    "close": lambda _: frame(CLOSE, struct.pack("!H", 1000)),
    "close with a byte": lambda _: frame(CLOSE, b"x"),
    "close with no such code": lambda draw: frame(CLOSE, struct.pack("!H", draw.choice([0, 1005, 1006, 5000]))),
    "close with invalid UTF-8": lambda _: frame(CLOSE, struct.pack("!H", 1000) + b"\xff"),
    "endless length": lambda _: bytes([0x81, 0xFF]) + b"\xff" * 8 + bytes(4),
    "noise": lambda draw: draw.randbytes(30),
}


def open_socket(web: Web, path: str, receive_bytes: int = 0) -> socket.socket:
    """A connection whose handshake is done; with a small buffer for what it is sent, if a size is given."""
    request = (
        f"GET /live/{path}/?after=0 HTTP/1.1\r\nHost: 127.0.0.1:{web.port}\r\nOrigin: http://127.0.0.1:{web.port}\r\n"
        "Upgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    connection = socket.socket()
    connection.settimeout(60)
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.connect(("127.0.0.1", web.port))
    connection.sendall(request.encode())
    assert connection.recv(1024).startswith(b"HTTP/1.1 101")
    return connection


def attack(web: Web, path: str, frames: int) -> None:
    """Send so many hostile frames; some sockets are left at once, others after all that they are sent is read."""
    draw = random.Random(13)
    for _ in range(frames // FRAMES_ON_A_SOCKET):
        with open_socket(web, path) as connection:
            try:
                for kind in draw.choices(list(KINDS), k=FRAMES_ON_A_SOCKET):
                    connection.sendall(KINDS[kind](draw))
                connection.sendall(frame(CLOSE))
                while draw.random() < 0.9 and connection.recv(65536):
                    pass
            except (BrokenPipeError, ConnectionResetError):  # closed meanwhile, as it should be
                pass


def open_connections(web: Web) -> int:
    """How many connections the process holds, also those that their clients have closed."""
    with open("/proc/net/tcp") as lines:
        rows = [line.split()[1:4] for line in lines]
    return sum(local.endswith(f":{web.port:04X}") and state in {"01", "08"} for local, _, state in rows)


def queued(web: Web, connection: socket.socket) -> int:
    """How many bytes the kernel holds that the process has sent to this connection and nobody has read."""
    ours, its = f":{web.port:04X}", f":{connection.getsockname()[1]:04X}"
    with open("/proc/net/tcp") as lines:
        rows = [line.split()[1:5] for line in lines]
    sent = [int(queues[:8], 16) for local, remote, _, queues in rows if local.endswith(ours) and remote.endswith(its)]
    here = [int(queues[9:], 16) for local, remote, _, queues in rows if local.endswith(its) and remote.endswith(ours)]
    return sum(sent) + sum(here)


def fill(spectator: ClientConnection, episode: Episode) -> int:
    """Send events of 400 kB until no buffer of the kernel has room for all of them. Returns their bytes."""
    episode.turns.update(observation="'" * 60_000)  # six bytes each in a page
    size = 0
    while size < BUFFERS_BYTES:
        with transaction.atomic():
            seq = operations.touch(operations.lock(episode.id)).seq
        size += sum(len(event) for event in events_until(spectator, seq, seconds=60))
    return size


def memory_mb(web: Web) -> int:
    """The memory of the process in MB."""
    with open(f"/proc/{web.running.process.pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 10**6


def check_attack(fleet: Fleet, episode: Episode, take_turns: Callable[..., None], frames: int) -> None:
    """After hostile frames a spectator still gets turns, nothing is left open, and the log has no traceback."""
    web, path = fleet.web(), f"episode/{episode.id}"
    with web.watch(path) as spectator:
        attack(web, path, 10 * FRAMES_ON_A_SOCKET)  # whatever is loaded once
        take_turns(episode, 1)
        events_until(spectator, 1, seconds=60)
        slow = [open_socket(web, path, receive_bytes=4096) for _ in range(10)]  # they read nothing
        memory = memory_mb(web)
        sent = fill(spectator, episode)
        assert all(queued(web, connection) < sent - 200_000 for connection in slow), "the process waits for them"
        attack(web, path, frames)
        take_turns(episode, 1)
        assert turns_in(events_until(spectator, 1, seconds=60)) == [2]
        for connection in slow:
            connection.close()
        wait_for(lambda: open_connections(web) == 1, "the connections to be closed")
        assert memory_mb(web) < memory + 50
    lines = "\n".join(web.running.tail)
    assert "Traceback" not in lines, lines
    assert "Error" not in lines, lines


def test_5000_hostile_frames_harm_nobody(
    fleet: Fleet, episode: Episode, take_turns: Callable[..., None], counted: Counted
) -> None:
    check_attack(fleet, episode, take_turns, 5_000)
    counted("hostile frames", 5_000)


@pytest.mark.long
def test_100000_hostile_frames_harm_nobody(
    fleet: Fleet, episode: Episode, take_turns: Callable[..., None], counted: Counted
) -> None:
    check_attack(fleet, episode, take_turns, 100_000)
    counted("hostile frames", 100_000)
