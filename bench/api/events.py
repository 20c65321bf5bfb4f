"""Event streams whose readers are cut off again and again: what is lost or doubled, how late, and at what cost.

    python -m bench.api.events [--events 1000000] [--disconnects 1000] [--rows 20] [--rate 5000]

Half of the turns are stored before anybody reads, the others while everybody reads: `--rate` of them a second, written
with COPY in transactions of some turns each, which are published like any other. Each row has one reader, in another
process on the same machine. It aborts its connection at random places, with events under way, and comes back with the
id of the last event that it had whole. Latency runs from the time that an event says to its receipt; it includes the
wait for the rest of its transaction.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import psutil

from bench.stack import Stack, machine, percentile, print_table, root, stack

ENV_ID = "game:GuessTheNumber-v0"
TURNS_AT_ONCE = 25
OBSERVATION = "At turn {turn}, you guessed {turn}, and the target number is higher than {turn}."
TARGET_LOST = TARGET_DOUBLED = 0
COPY = (
    "COPY episodes_turn (episode_id, number, seat, action, observation, reward, info, extra, seq, created) FROM STDIN"
)


# ---------------------------------------------------------------- the readers: a process of their own


@dataclass
class Reading:
    """What one reader has got."""

    path: str
    cuts: list[int]
    """The ids at which it breaks its connection off."""
    history: int
    """The ids up to here were stored before."""
    last_id: int = -1
    count: int = 0
    doubled: int = 0
    disconnects: int = 0
    is_over: bool = False
    late: list[float] = field(default_factory=list)

    def take(self, frame: bytes) -> None:
        """Note one event."""
        if not frame.startswith(b"id: "):
            return
        seq = int(frame[4 : frame.index(b"\n")])
        self.count += 1
        self.doubled += seq <= self.last_id
        self.last_id = max(self.last_id, seq)
        if seq > self.history:
            start = frame.index(b'"at":"') + 6
            at = datetime.fromisoformat(frame[start : frame.index(b'"', start)].decode())
            self.late.append((datetime.now(UTC) - at).total_seconds())
        self.is_over = self.is_over or b"\nevent: episode.ended\n" in frame


async def read_all(port: int, reading: Reading) -> None:
    """Read until the end, with all interruptions."""
    while not reading.is_over:
        source, sink = await asyncio.open_connection("127.0.0.1", port)
        header = f"Last-Event-ID: {reading.last_id}\r\n" if reading.last_id >= 0 else ""
        sink.write(f"GET {reading.path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{header}\r\n".encode())
        status = await source.readline()
        if b" 200 " not in status:
            raise SystemExit(f"{reading.path} was answered with {status!r} after {reading.last_id}")
        await source.readuntil(b"\r\n\r\n")
        while chunk := await _next_chunk(source):
            for frame in chunk.split(b"\n\n"):
                reading.take(frame)
                if reading.cuts and reading.last_id >= reading.cuts[0]:
                    break  # the rest of what was received is forgotten
            if reading.cuts and reading.last_id >= reading.cuts[0]:
                reading.cuts.pop(0)
                reading.disconnects += 1
                break
        sink.transport.abort()


async def _next_chunk(source: asyncio.StreamReader) -> bytes:
    """The next chunk of a response, which consists of whole events; empty at its end, or if the server has gone."""
    try:
        size = int(await source.readline() or b"0", 16)
        chunk = await source.readexactly(size + 2)
    except asyncio.IncompleteReadError:
        return b""
    return chunk[:-2]


async def read_rows(port: int, orders: list[dict[str, Any]]) -> None:
    """Read all rows, and print what came."""
    readings = [Reading(order["path"], order["cuts"], order["history"]) for order in orders]
    print("ready", flush=True)
    begun = time.monotonic()
    await asyncio.gather(*(read_all(port, reading) for reading in readings))
    report = {
        "seconds": time.monotonic() - begun,
        "count": sum(reading.count for reading in readings),
        "doubled": sum(reading.doubled for reading in readings),
        "disconnects": sum(reading.disconnects for reading in readings),
        "late": [late for reading in readings for late in reading.late],
    }
    print(json.dumps(report), flush=True)


# ---------------------------------------------------------------- the rows


def begin(rows: int) -> list[str]:
    """As many running episodes."""
    from apps.agents.models import Agent
    from apps.episodes import operations

    seat = operations.Occupant(Agent.objects.get(slug="random"))
    return [operations.begin(ENV_ID, seed=2, seats=[seat]).pk for _ in range(rows)]


def write(episode_id: str, first: int, last: int) -> None:
    """Store and publish the turns from `first` to `last`."""
    from django.db import connection, transaction

    from apps.episodes.models import Episode
    from apps.live import publish

    now = datetime.now(UTC).isoformat()
    lines = "".join(
        f"{episode_id}\t{turn}\t0\t\\\\boxed{{{turn}}}\t{OBSERVATION.format(turn=turn)}\t0.0\t{{}}\t\\N\t{turn}\t{now}\n"
        for turn in range(first, last + 1)
    )
    with transaction.atomic():
        with connection.cursor() as cursor, cursor.copy(COPY) as copy:
            copy.write(lines)
        Episode.objects.filter(pk=episode_id).update(seq=last, turn_count=last)
        publish(f"episode:{episode_id}", last)


def write_live(keys: list[str], history: int, turns: int, rate: float) -> None:
    """Write the other turns at this rate, a few to each row in turn, and end all episodes."""
    from apps.episodes import operations

    begun, written = time.monotonic(), 0
    for first in range(history + 1, turns + 1, TURNS_AT_ONCE):
        for key in keys:
            last = min(first + TURNS_AT_ONCE - 1, turns)
            write(key, first, last)
            written += last - first + 1
            time.sleep(max(0.0, begun + written / rate - time.monotonic()))
    for key in keys:
        operations.abandon(operations.find(key))


@contextmanager
def watched_memory(pid: int) -> Iterator[list[float]]:
    """The resident memory of a process in MB, a few times a second while the block lasts."""
    process, samples, done = psutil.Process(pid), list[float](), threading.Event()

    def sample() -> None:
        while not done.wait(0.2):
            samples.append(process.memory_info().rss / 2**20)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield samples
    finally:
        done.set()
        thread.join()


# ---------------------------------------------------------------- the run


def run(made: Stack, events: int, disconnects: int, rows: int, rate: float) -> bool:
    """One run. Returns whether nothing was lost or doubled."""
    turns = max(2, events // rows - 2)  # and each row's beginning and end
    history = turns // 2
    keys = begin(rows)
    for key in keys:
        for first in range(1, history + 1, 5000):
            write(key, first, min(first + 4999, history))
    running, port = made.web()
    draw = random.Random(1)
    places = [sorted(draw.sample(range(turns), min(turns, len(range(row, disconnects, rows))))) for row in range(rows)]
    orders = [
        {"path": f"/api/v1/episodes/{key}/events", "cuts": cuts, "history": history}
        for key, cuts in zip(keys, places, strict=True)
    ]
    client = subprocess.Popen(
        [sys.executable, "-m", "bench.api.events", "--client", str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root(),
    )
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write(json.dumps(orders) + "\n")
    client.stdin.flush()
    assert client.stdout.readline().strip() == "ready"
    process = psutil.Process(running.process.pid)
    before, busy = process.memory_info().rss / 2**20, sum(process.cpu_times()[:2])
    with watched_memory(running.process.pid) as memory:
        write_live(keys, history, turns, rate)
        out, _ = client.communicate()
    report = json.loads(out)
    cpu = sum(process.cpu_times()[:2]) - busy
    expected = rows * (turns + 2)
    lost = expected - (report["count"] - report["doubled"])
    print_table(
        [
            ("events", "disconnects", "lost", "doubled", "p50 ms", "p99 ms", "events/s", "web CPU s", "web MB"),
            (
                f"{expected:,}",
                f"{report['disconnects']:,}",
                f"{lost:,}",
                f"{report['doubled']:,}",
                f"{percentile(report['late'], 0.5) * 1000:.0f}",
                f"{percentile(report['late'], 0.99) * 1000:.0f}",
                f"{report['count'] / report['seconds']:,.0f}",
                f"{cpu:.0f}",
                f"{before:.0f}, at most {max(memory, default=before):.0f}",
            ),
        ]
    )  # fmt: skip
    print(machine())
    return bool(lost <= TARGET_LOST and report["doubled"] <= TARGET_DOUBLED)


def main() -> int:
    """Run the benchmark, or be its readers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--disconnects", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--rate", type=float, default=5000.0, help="live events a second")
    parser.add_argument("--client", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        asyncio.run(read_rows(arguments.client, json.loads(sys.stdin.readline())))
        return 0
    with stack() as made:
        is_exact = run(made, arguments.events, arguments.disconnects, arguments.rows, arguments.rate)
    return 0 if is_exact else 1


if __name__ == "__main__":
    sys.exit(main())
