"""Steps a second over OpenEnv, beside OpenEnv's own server, and the memory of idle sessions.

    pip install --target /tmp/openenv openenv-core==0.2.3
    python -m bench.interop --openenv /tmp/openenv [--seconds 5] [--idle 1000]

Both servers play GuessTheNumber with the same code of the environment, and are asked by the same client, which is a
process of its own. Server and client share this machine. The rounds of both alternate, and the medians are printed.
Without `--openenv`, only ours is measured.
"""

import argparse
import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple

import psutil
from websockets.asyncio.client import ClientConnection, connect

from bench.stack import Stack, machine, print_table, root, stack

ENV_ID = "game:GuessTheNumber-v0-easy"
TARGET = 1.5
"""How many times as many steps as OpenEnv's own server."""
IDLE_TARGET_MB = 200
ROUNDS = 3


class Server(NamedTuple):
    """A server that is measured."""

    name: str
    url: str
    pid: int


def main() -> None:
    """Measure, or be the client that is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--openenv", help="the folder where OpenEnv is installed")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--idle", type=int, default=1000)
    parser.add_argument("--play", nargs=3, metavar=("URL", "SESSIONS", "SECONDS"), help="play, and print the steps")
    options = parser.parse_args()
    if options.play:
        url, sessions, seconds = options.play
        print(json.dumps(asyncio.run(_play(url, int(sessions), float(seconds)))))
        return
    with stack() as running:
        _measure(running, options)


def _measure(running: Stack, options: argparse.Namespace) -> None:
    web, port = running.web()
    ours = f"ws://127.0.0.1:{port}/openenv/{ENV_ID}/ws"
    print(machine())
    rows: list[tuple[str, ...]] = [("sessions", "server", "steps/s", "CPU us of the server for a step")]
    ratios: list[str] = []
    with _their_server(options.openenv) as theirs:
        servers = [Server("ours", ours, web.process.pid), *([theirs] if theirs else [])]
        for sessions in (1, 16):
            played = [[_rate(server, sessions, options.seconds) for server in servers] for _ in range(ROUNDS)]
            rates = [median(one[number][0] for one in played) for number in range(len(servers))]
            costs = [median(one[number][1] for one in played) for number in range(len(servers))]
            for server, rate, cost in zip(servers, rates, costs, strict=True):
                rows.append((str(sessions), server.name, f"{rate:,.0f}", f"{cost:.0f}"))
            if theirs:
                ratios.append(f"{sessions} sessions: {rates[0] / rates[1]:.2f} times as many steps a second")
    print_table(rows)
    print("; ".join(ratios) + f" (target: {TARGET})" if ratios else "OpenEnv's own server was not measured.")
    before, after = asyncio.run(_idle_memory(ours, options.idle, web.process.pid))
    print(
        f"{options.idle:,} idle sessions, each with an episode: {after - before:,.0f} MB more than the "
        f"{before:,.0f} MB of the web process before (target: less than {IDLE_TARGET_MB} MB)"
    )


def _rate(server: Server, sessions: int, seconds: float) -> tuple[float, float]:
    """Steps a second, and the processor time of the server for a step in us."""
    command = [sys.executable, "-m", "bench.interop", "--play", server.url, str(sessions), str(seconds)]
    before = _cpu_seconds(server.pid)
    played = subprocess.run(command, cwd=root(), check=True, capture_output=True, text=True)
    result = json.loads(played.stdout)
    return result["steps"] / result["seconds"], (_cpu_seconds(server.pid) - before) / result["steps"] * 1e6


def _cpu_seconds(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


async def _play(url: str, sessions: int, seconds: float) -> dict[str, float]:
    """Play in several sessions at the same time; begins to count when all are connected."""
    connections = await asyncio.gather(*(connect(url, compression=None) for _ in range(sessions)))
    start = time.perf_counter()
    steps = await asyncio.gather(*(_play_one(one, start + seconds) for one in connections))
    took = time.perf_counter() - start
    await asyncio.gather(*(connection.close() for connection in connections))
    return {"steps": sum(steps), "seconds": took}


async def _play_one(connection: ClientConnection, end: float) -> int:
    steps, seed, guess = 0, 0, 5
    reset = json.dumps({"type": "reset", "data": {"seed": seed}})
    await connection.send(reset)
    await connection.recv()
    while time.perf_counter() < end:
        await connection.send(json.dumps({"type": "step", "data": {"message": f"\\boxed{{{guess}}}"}}))
        reply = json.loads(await connection.recv())
        if reply["type"] != "observation":
            raise SystemExit(f"The server answered {reply}.")
        steps, guess = steps + 1, guess % 10 + 1
        if reply["data"]["done"]:
            seed += 1
            await connection.send(json.dumps({"type": "reset", "data": {"seed": seed}}))
            await connection.recv()
    return steps


async def _idle_memory(url: str, count: int, pid: int) -> tuple[float, float]:
    """The memory of the web process in MB, before and with idle sessions that have begun an episode."""
    before = psutil.Process(pid).memory_full_info().uss / 1e6
    connections = []
    for _ in range(count):
        connection = await connect(url, compression=None)
        await connection.send(json.dumps({"type": "reset", "data": {}}))
        if json.loads(await connection.recv())["type"] != "observation":
            raise SystemExit("A session was refused.")
        connections.append(connection)
    after = psutil.Process(pid).memory_full_info().uss / 1e6
    await asyncio.gather(*(connection.close() for connection in connections))
    return before, after


@contextmanager
def _their_server(folder: str | None) -> Iterator[Server | None]:
    """OpenEnv's own server while it runs; None where it is not installed."""
    if folder is None:
        yield None
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, str(root())])}
    command = [sys.executable, "-m", "bench.interop.openenv_server", str(port), "64"]
    process = subprocess.Popen(command, cwd=root(), env=env, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield Server("OpenEnv's own", f"ws://127.0.0.1:{port}/ws", process.pid)
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise SystemExit("OpenEnv's server did not start.")
        with socket.socket() as attempt:
            attempt.settimeout(0.5)
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("OpenEnv's server did not answer within a minute.")


if __name__ == "__main__":
    main()
