"""Many spectators of one episode on one web process: the hub beside the group layers of channels_redis.

    python -m bench.spectators [--spectators 500] [--seconds 30]

A turn a second is recorded in Postgres. For the hub the rest is the product as it is: hint, read, render, send.
For the group layers the same text, rendered beforehand, is sent to the group after the same commit. Latency runs from
the return of the commit to the receipt of the whole message by a client in another process on the same machine.
"""

import argparse
import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, cast

import psutil

from bench.channel_layers import GROUP, LAYERS, make_layer
from bench.stack import Stack, machine, percentile, print_table, root, stack

CONNECTING_AT_ONCE = 64
GRACE_SECONDS = 3
ENV_ID = "game:GuessTheNumber-v0"
MISS = "\\boxed{99}"
TARGET_DELIVERED = 1.0
TARGET_P99_MS = 150.0


@dataclass
class Result:
    """What came of one way of delivering."""

    name: str
    delivered: float
    p50: float
    p99: float
    worst: float
    cpu: float
    memory: float


# ---------------------------------------------------------------- the spectators: a process of their own


class Spectator(asyncio.Protocol):
    """One socket; notes when each seq arrived."""

    def __init__(self, port: int, path: str, arrived: dict[int, list[float]], ready: asyncio.Semaphore) -> None:
        self.port, self.path, self.arrived, self.ready = port, path, arrived, ready
        self.buffer = b""
        self.open = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for the upgrade."""
        self.transport = cast("asyncio.Transport", transport)
        key = base64.b64encode(os.urandom(16)).decode()
        self.transport.write(
            f"GET {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nOrigin: http://127.0.0.1:{self.port}\r\n"
            f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        """Take the answer, then messages."""
        self.buffer += data
        if not self.open:
            head, found, rest = self.buffer.partition(b"\r\n\r\n")
            if not found:
                return
            if b" 101 " not in head[:20]:
                raise SystemExit(f"refused: {head[:200]!r}")
            self.open, self.buffer = True, rest
            self.ready.release()
        while (message := self._next()) is not None:
            if message.startswith(b"<!--seq "):
                seq = int(message[8 : message.index(b"-->")])
                self.arrived.setdefault(seq, []).append(time.time())

    def _next(self) -> bytes | None:
        """The next text message that is whole; pings are answered."""
        while len(self.buffer) >= 2:
            length, start = self.buffer[1] & 127, 2
            if length == 126:
                length, start = int.from_bytes(self.buffer[2:4], "big"), 4
            elif length == 127:
                length, start = int.from_bytes(self.buffer[2:10], "big"), 10
            if len(self.buffer) < start + length:
                return None
            kind, payload = self.buffer[0] & 15, self.buffer[start : start + length]
            self.buffer = self.buffer[start + length :]
            if kind == 9:
                self.transport.write(bytes([0x8A, 0x80 | len(payload), 0, 0, 0, 0]) + payload)
            elif kind == 1:
                return payload
        return None


async def spectate(port: int, path: str, number: int) -> None:
    """Connect `number` sockets, say so, and print what arrived when standard input closes."""
    arrived: dict[int, list[float]] = {}
    ready, slots = asyncio.Semaphore(0), asyncio.Semaphore(CONNECTING_AT_ONCE)
    loop = asyncio.get_running_loop()

    async def join() -> None:
        async with slots:
            await loop.create_connection(lambda: Spectator(port, path, arrived, ready), "127.0.0.1", port)
            await ready.acquire()

    await asyncio.gather(*(join() for _ in range(number)))
    print("ready", flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    print(json.dumps(arrived), flush=True)


# ---------------------------------------------------------------- one run


def measure(
    name: str, running: Any, port: int, path: str, number: int, seconds: int, turn: Callable[[int], float]
) -> Result:
    """Let `number` spectators watch `seconds` turns; `turn(seq)` takes one and returns when it was committed."""
    client = subprocess.Popen(
        [sys.executable, "-m", "bench.spectators", "--client", str(port), path, str(number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root(),
    )
    assert client.stdin is not None
    assert client.stdout is not None
    assert client.stdout.readline().strip() == "ready"
    time.sleep(1)
    process = psutil.Process(running.process.pid)
    busy = sum(process.cpu_times()[:2])
    begun = time.monotonic()
    committed = {}
    for seq in range(1, seconds + 1):
        committed[seq] = turn(seq)
        time.sleep(max(0.0, begun + seq - time.monotonic()))
    cpu = (sum(process.cpu_times()[:2]) - busy) / (time.monotonic() - begun)
    memory = process.memory_info().rss / 2**20
    time.sleep(GRACE_SECONDS)
    out, _ = client.communicate()
    arrived = {int(seq): times for seq, times in json.loads(out).items()}
    late = [at - committed[seq] for seq, times in arrived.items() if seq in committed for at in times]
    return Result(
        name,
        len(late) / (number * seconds),
        percentile(late, 0.5) * 1000,
        percentile(late, 0.99) * 1000,
        max(late, default=float("nan")) * 1000,
        cpu,
        memory,
    )


def through_hub(made: Stack, number: int, seconds: int) -> tuple[Result, str]:
    """The product as it is; also a text as it was sent, for the others to send."""
    from django.db import transaction

    from apps.agents.models import Agent
    from apps.episodes import operations
    from apps.episodes.restore import restore
    from apps.live.topics import TOPICS

    seat = operations.Occupant(Agent.objects.get(slug="random"))
    episode = operations.begin(ENV_ID, seed=2, seats=[seat], env_kwargs={"max_turns": 10_000})
    running, port = made.web()

    def turn(_: int) -> float:
        with transaction.atomic():
            locked = operations.lock(episode.id)
            operations.record_turn(locked, restore(locked), MISS)
        return time.time()

    result = measure(
        "the hub", running, port, f"/live/episode/{episode.id}/?after=0&audience=watch", number, seconds, turn
    )
    (event,) = TOPICS["episode"].events(episode.id, seconds - 1, "watch")
    running.signal(9)
    return result, event.html


def through_layer(made: Stack, name: str, text: str, number: int, seconds: int) -> Result:
    """The same text through a group layer, after the same commit."""
    from django.db import transaction

    from apps.agents.models import Agent
    from apps.episodes import operations
    from apps.episodes.restore import restore

    seat = operations.Occupant(Agent.objects.get(slug="random"))
    episode = operations.begin(ENV_ID, seed=2, seats=[seat], env_kwargs={"max_turns": 10_000})
    running, port = made.web("bench.channel_layers:application", LAYER=name)
    loop = asyncio.new_event_loop()
    layer = make_layer(name)

    def turn(seq: int) -> float:
        with transaction.atomic():
            locked = operations.lock(episode.id)
            operations.record_turn(locked, restore(locked), MISS)
        committed = time.time()
        loop.run_until_complete(layer.group_send(GROUP, {"type": "event", "text": f"<!--seq {seq}-->{text}"}))
        return committed

    result = measure(name, running, port, "/live/", number, seconds, turn)
    running.signal(9)
    return result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spectators", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--client", nargs=3, metavar=("PORT", "PATH", "NUMBER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        port, path, number = options.client
        _run(spectate(int(port), path, int(number)))
        return
    with stack() as made:
        hub, text = through_hub(made, options.spectators, options.seconds)
        results = [hub]
        results += [through_layer(made, name, text, options.spectators, options.seconds) for name in LAYERS]
    print(
        f"{options.spectators} spectators, one web process, a turn a second, {options.seconds} turns of {len(text)} B"
    )
    rows: list[tuple[str, ...]] = [("", "delivered", "p50 ms", "p99 ms", "max ms", "web CPU", "web MB", "target")]
    for result in results:
        met = result.delivered >= TARGET_DELIVERED and result.p99 < TARGET_P99_MS
        rows.append(
            (
                result.name,
                f"{result.delivered:.2%}",
                f"{result.p50:.1f}",
                f"{result.p99:.1f}",
                f"{result.worst:.1f}",
                f"{result.cpu:.0%}",
                f"{result.memory:.0f}",
                ("met" if met else "MISSED") if result is hub else "",
            )
        )
    print_table(rows)
    print(f"target for the hub: 100 % delivered, p99 below {TARGET_P99_MS:g} ms; {machine()}")


def _run(work: Coroutine[Any, Any, None]) -> None:
    import uvloop

    uvloop.run(work)


if __name__ == "__main__":
    main()
