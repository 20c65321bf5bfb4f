"""The supervisor: starts services, shows what they say, starts them again when they die, ends them all."""

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gemweb.local.guard import GuardProcess
from gemweb.local.process import Running, Service

FIRST_DELAY, LONGEST_DELAY = 0.2, 10.0
"""Seconds between a death and the next start; doubled while a service keeps dying."""
STEADY_SECONDS = 30.0
"""A service that lived this long is well again: its next death is its first."""
POLITE_SECONDS, HARD_SECONDS = 1.5, 0.8
"""How long services may take to end when asked, and when told. Twice the sum, as servers come last: under 5 s."""
COLOURS = (36, 33, 32, 35, 34, 96, 93, 92)


class Console:
    """One line at a time on standard output, with the time and the service in front."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tty = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._colours: dict[str, int] = {}
        self.quiet = False
        """Whether services are muted, because they are being ended and say so at length."""

    def service(self, name: str, line: str) -> None:
        """Show a line that a service said."""
        if not self.quiet:
            self._write(self._prefix(name) + line)

    def say(self, line: str) -> None:
        """Show a line of our own."""
        self._write(self._prefix("gemweb") + line)

    def plain(self, line: str) -> None:
        """Show a line as it is, for people and programs that look for it."""
        self._write(line)

    def _prefix(self, name: str) -> str:
        text = f"{time.strftime('%H:%M:%S')} {name:<9} | "
        if not self._tty:
            return text
        colour = self._colours.setdefault(name, COLOURS[len(self._colours) % len(COLOURS)])
        return f"\x1b[{colour}m{text}\x1b[0m"

    def _write(self, line: str) -> None:
        with self._lock, suppress(BrokenPipeError, ValueError):  # nobody reads any more: keep serving
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


@dataclass
class _Kept:
    """A service that the supervisor keeps running."""

    running: Running
    started: float = field(default_factory=time.monotonic)
    deaths: int = 0
    due: float | None = None


class Supervisor:
    """Keeps a set of services running until `stop`. All methods belong to the main thread."""

    def __init__(self, guard: GuardProcess, console: Console, roster: Path) -> None:
        self._guard = guard
        self._console = console
        self._roster = roster
        self._kept: dict[str, _Kept] = {}
        self._passing: list[Running] = []

    def start(self, service: Service) -> Running:
        """Start `service` and keep it running."""
        running = Running(service, self._guard, self._console.service)
        self._kept[service.name] = _Kept(running)
        self._write_roster()
        return running

    def once(self, service: Service) -> Running:
        """Start `service`, which ends by itself and is not started again."""
        running = Running(service, self._guard, self._console.service)
        self._passing.append(running)
        return running

    def deaths(self, name: str) -> int:
        """How often a service died lately."""
        return self._kept[name].deaths

    def last_words(self, name: str) -> str:
        """What a service said last."""
        return self._kept[name].running.last_words()

    def tick(self) -> None:
        """Notice deaths, and start again what is due."""
        now = time.monotonic()
        self._passing = [running for running in self._passing if not running.ended()]
        for kept in self._kept.values():
            if kept.due is None and kept.running.ended():
                self._mourn(kept, now)
            elif kept.due is not None and kept.due <= now:
                self._revive(kept, now)

    def stop(self, last: tuple[str, ...]) -> None:
        """End everything; what the others stand on comes `last`."""
        servers = [self._kept.pop(name) for name in last if name in self._kept]
        self._end([kept.running for kept in self._kept.values()] + self._passing)
        self._end([kept.running for kept in servers])
        self._kept.clear()
        self._roster.unlink(missing_ok=True)

    def _end(self, services: list[Running]) -> None:
        """Ask politely, then with SIGQUIT (Celery drops its work, Postgres its clients), then kill."""
        alive = [running for running in services if not running.ended()]
        for running in alive:
            running.process.send_signal(running.service.polite)  # its children are its own to end
        if not self._wait(alive, POLITE_SECONDS):
            for running in alive:
                running.process.send_signal(signal.SIGQUIT)
            self._wait(alive, HARD_SECONDS)
        for running in alive:
            running.signal(signal.SIGKILL)
            running.process.wait()
            running.ended()

    def _wait(self, ending: list[Running], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while any(running.process.poll() is None for running in ending):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def _mourn(self, kept: _Kept, now: float) -> None:
        kept.deaths = kept.deaths + 1 if now - kept.started < STEADY_SECONDS else 1
        delay = min(FIRST_DELAY * 2 ** (kept.deaths - 1), LONGEST_DELAY)
        kept.due = now + delay
        name, code = kept.running.service.name, kept.running.process.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        self._console.say(f"{name} {how}; starting it again in {delay:.1f} s")

    def _revive(self, kept: _Kept, now: float) -> None:
        kept.running = Running(kept.running.service, self._guard, self._console.service)
        kept.started, kept.due = now, None
        self._write_roster()

    def _write_roster(self) -> None:
        """Leave the process ids where people and tests find them."""
        draft = self._roster.with_suffix(".new")
        draft.write_text(json.dumps({name: kept.running.process.pid for name, kept in self._kept.items()}))
        draft.replace(self._roster)
