"""Entries a second that are stored of trainings elsewhere, beside trackio's own server; the page; and a killed process.

    python -m venv /tmp/trackio && /tmp/trackio/bin/pip install trackio==0.43.0
    python -m bench.interop.curves --trackio /tmp/trackio/bin/python [--seconds 5]

Both servers get the same requests, which are those of trackio's client: 500 entries with four metrics each, of 4 runs
at a time, over 4 connections of a process of its own. An answer means that the entries are on disk (ours: committed in
Postgres; theirs: in SQLite). The rounds of both alternate, and the medians are printed. Without `--trackio`, only ours
is measured. The page is a socket of a browser with the request for new points that follows each of its messages.
"""

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from websockets.sync.client import connect
from websockets.typing import Origin

from bench.stack import Stack, machine, percentile, print_table, root, stack

TARGET, PAGE_TARGET = 10_000, 1.0
"""Entries a second, and seconds until a point is on the page."""
ROUNDS = 3
BATCH, CONNECTIONS = 500, 4
SERVER = Path(__file__).with_name("trackio_server.py")
KILLED_ENTRIES = 6_000
PAGE_POINTS = 40


def main() -> None:
    """Measure, or be the client that is measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trackio", help="the Python of an environment in which trackio is installed")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--send", nargs=3, metavar=("URL", "TOKEN", "SECONDS"), help="send, and print the entries")
    options = parser.parse_args()
    if options.send:
        url, token, seconds = options.send
        print(json.dumps(_send_for(url, token, float(seconds))))
        return
    with stack() as running:
        _measure(running, options)


def _measure(running: Stack, options: argparse.Namespace) -> None:
    limits = {"API_REQUESTS_PER_MINUTE": "0", "REQUESTS_PER_MINUTE": "0", "STORAGE_MEGABYTES_PER_USER": "0"}
    _, port = running.web(**limits)
    token = _token()
    ours = f"http://127.0.0.1:{port}/trackio/bench"
    rates: dict[str, list[float]] = {"gemweb": [], "trackio": []}
    with _their_server(options.trackio) as (theirs, their_token):
        for _ in range(ROUNDS):
            rates["gemweb"].append(_rate(ours, token, options.seconds))
            if theirs:
                rates["trackio"].append(_rate(theirs, their_token, options.seconds))
    rows = [("server", "entries/s", "rounds")]
    for name, found in rates.items():
        if found:
            rows.append((name, f"{median(found):,.0f}", ", ".join(f"{rate:,.0f}" for rate in found)))
    print(f"Ingestion of entries with four metrics, {machine()}. Target: {TARGET:,}.")
    print_table(rows)
    waits = _page(port, token)
    print(
        f"On the page after {1000 * median(waits):.0f} ms, p95 {1000 * percentile(waits, 0.95):.0f} ms, of "
        f"{len(waits)} points. Target: {PAGE_TARGET:.0f} s."
    )
    _kill(running, token, limits)


def _token() -> str:
    """A token of a new account."""
    from apps.accounts.models import User
    from apps.api import operations

    _, secret = operations.make_token(User.objects.create_user("bench"), "bench", ["submit"])
    return secret


@contextmanager
def _their_server(python: str | None) -> Iterator[tuple[str, str]]:
    """The address and the token of trackio's own server; empty without one."""
    if python is None:
        yield "", ""
        return
    with TemporaryDirectory() as folder:
        env = {"PATH": os.environ["PATH"], "HOME": folder, "TRACKIO_DIR": folder, "HF_HUB_OFFLINE": "1"}
        server = subprocess.Popen([python, str(SERVER)], env=env, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        try:
            port, token = server.stdout.readline().split()
            yield f"http://127.0.0.1:{port}", token
        finally:
            server.kill()
            server.wait()


def _rate(url: str, token: str, seconds: float) -> float:
    """Entries a second that a client of its own process has stored."""
    command = [sys.executable, "-m", "bench.interop.curves", "--send", url, token, str(seconds)]
    found = json.loads(subprocess.run(command, cwd=root(), capture_output=True, text=True, check=True).stdout)
    return float(found["entries"]) / float(found["seconds"])


def _send_for(url: str, token: str, seconds: float) -> dict[str, float]:
    """Send batches over some connections for so long."""
    counts = [0] * CONNECTIONS
    begin = time.monotonic()

    def send(place: int) -> None:
        poster = Poster(url, token)
        run, step = uuid.uuid4().hex, 0
        while time.monotonic() - begin < seconds:
            poster.post("bulk_log", _batch(run, range(step, step + BATCH)))
            step += BATCH
            counts[place] += BATCH

    threads = [threading.Thread(target=send, args=(place,)) for place in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"entries": sum(counts), "seconds": time.monotonic() - begin}


class Poster:
    """A connection that stays open."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        self._path, self._token = parts.path, token
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)

    def post(self, name: str, logs: list[dict[str, Any]]) -> None:
        """A call of trackio's client.

        Raises:
            OSError, http.client.HTTPException: if the server is not there.
            RuntimeError: if it refuses.
        """
        body = json.dumps({"args": [], "kwargs": {"logs": logs, "hf_token": None}})
        headers = {"x-trackio-write-token": self._token, "content-type": "application/json"}
        self._connection.request("POST", f"{self._path}/api/{name}", body, headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{answer.status}: {content[:300]!r}")


def _batch(run: str, steps: range) -> list[dict[str, Any]]:
    return [
        {
            "project": "bench", "run": run, "run_id": run, "step": step, "config": None, "log_id": uuid.uuid4().hex,
            "metrics": {"loss": 1 / (step + 1), "reward": step / 1000, "entropy": 1.5, "grad_norm": 0.25},
        }
        for step in steps
    ]  # fmt: skip


def _page(port: int, token: str) -> list[float]:
    """Seconds from the request that brings a point until an open page has it."""
    from apps.curves.models import OutsideTraining

    poster = Poster(f"http://127.0.0.1:{port}/trackio/bench", token)
    poster.post("bulk_log", _batch("page", range(1)))
    training = OutsideTraining.objects.get(key="page")
    waits, last = [], training.entries
    origin = Origin(f"http://127.0.0.1:{port}")
    with connect(f"ws://127.0.0.1:{port}/live/outside/{training.pk}/?after={training.seq}", origin=origin) as socket:
        reader = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for step in range(1, PAGE_POINTS + 1):
            begin = time.monotonic()
            poster.post("bulk_log", _batch("page", range(step, step + 1)))
            found: dict[str, Any] = {"update": []}
            while step not in found["update"]:
                socket.recv(timeout=30)
                reader.request("GET", f"/curves/{training.pk}/curves.json?after={last}")
                found = json.loads(reader.getresponse().read())
            last = found["last"]
            waits.append(time.monotonic() - begin)
    return waits


def _kill(running: Stack, token: str, limits: dict[str, str]) -> None:
    """Kill a web process while entries arrive, and send again what was not answered, as trackio's client does."""
    from apps.curves.models import Entry

    process, port = running.web(**limits)
    poster = Poster(f"http://127.0.0.1:{port}/trackio/bench", token)
    sent = answered = 0
    for first in range(0, KILLED_ENTRIES, BATCH):
        batch = _batch("killed", range(first, first + BATCH))
        if first == KILLED_ENTRIES // 2:
            threading.Timer(0.02, process.signal, args=(signal.SIGKILL,)).start()
        while True:
            sent += len(batch)
            try:
                poster.post("bulk_log", batch)
                break
            except (OSError, http.client.HTTPException):
                process.process.wait()
                process, port = running.web(**limits)
                poster = Poster(f"http://127.0.0.1:{port}/trackio/bench", token)
        answered += len(batch)
    stored = Entry.objects.filter(training__key="killed").count()
    print(f"Killed meanwhile: {sent:,} sent, {answered:,} answered, {stored:,} stored, {answered - stored} lost.")


if __name__ == "__main__":
    main()
