"""How long starting and stopping takes: `python -m bench.startup`, from a clone made for it in a temporary folder.

The cold start includes everything: the virtual environment, the downloads (no cache is used), the database, the
first page.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from gemweb.local.servers.postgres import free_port, home_of

ROOT = Path(__file__).resolve().parent.parent
LEFT_AFTER_SECONDS = 2.0
GIVE_UP_SECONDS = 300.0
SETTLE_SECONDS = 5.0
"""Workers come up after the page; stopping them half-started would flatter the stop."""


@dataclass
class Run:
    """One `make up` in a clone."""

    clone: Path
    port: int
    started: float = field(default_factory=time.monotonic)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        env = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "VALKEY_URL"}}
        env |= {"UV_CACHE_DIR": str(self.clone.parent / "cache"), "PIP_NO_CACHE_DIR": "1"}
        self.make = subprocess.Popen(
            ["make", "up", f"PORT={self.port}", "STATE_DIR=.state"],
            cwd=self.clone,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def served(self) -> float:
        """Seconds from the command to the first whole page."""
        while time.monotonic() - self.started < GIVE_UP_SECONDS:
            if any(line.startswith("ready: ") for line in self.lines):
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=10).read()
                return time.monotonic() - self.started
            if self.make.poll() is not None:
                break
            time.sleep(0.01)
        raise SystemExit("make up did not serve a page:\n" + "\n".join(self.lines[-30:]))

    def stop(self) -> float:
        """Seconds from Ctrl-C to the end of everything."""
        began = time.monotonic()
        os.killpg(self.make.pid, signal.SIGINT)
        self.make.wait()
        return time.monotonic() - began

    def kill(self) -> int:
        """How many processes of the stack live on after kill -9 of the supervisor."""
        stack = psutil.Process(self._supervisor()).children(recursive=True)
        os.kill(self._supervisor(), signal.SIGKILL)
        time.sleep(LEFT_AFTER_SECONDS)
        return sum(1 for process in stack if _lives(process))

    def _supervisor(self) -> int:
        return int((self.clone / ".state" / "lock").read_text())

    def _read(self) -> None:
        assert self.make.stdout is not None
        self.lines.extend(line.rstrip("\n") for line in self.make.stdout)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@contextmanager
def fresh_clone() -> Iterator[Path]:
    """A clone of this checkout's last commit; it and its database are deleted afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="gemweb-bench-"))
    try:
        clone = folder / "clone"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        yield clone
    finally:
        shutil.rmtree(home_of((folder / "clone" / ".state").resolve()), ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)


def measure() -> list[tuple[str, float, float, str]]:
    """(what, measured, target, unit), in the order they happen."""
    with fresh_clone() as clone:
        port = free_port()
        first = Run(clone, port)
        cold = first.served()
        time.sleep(SETTLE_SECONDS)
        stop = first.stop()
        second = Run(clone, port)
        restart = second.served()
        time.sleep(SETTLE_SECONDS)
        left = second.kill()
        second.make.wait()
    return [
        ("cold start: make up to page served", cold, 60, "s"),
        ("restart: make up to page served", restart, 5, "s"),
        ("stop: Ctrl-C to everything ended", stop, 5, "s"),
        ("left 2 s after kill -9 of the supervisor", left, 0, "processes"),
    ]


def main() -> int:
    """Print the table; exit code 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    rows = measure()
    if parser.parse_args().json:
        print(json.dumps(rows))
    else:
        print(f"{'':42} {'measured':>9} {'target':>7}")
        for what, measured, target, unit in rows:
            print(f"{what:42} {measured:9.{2 if unit == 's' else 0}f} {target:7.0f} {unit}")
    return int(any(measured > target for _, measured, target, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
