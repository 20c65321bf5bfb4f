"""The supervisor: it starts services, shows their output, restarts them when they die, and stops them."""

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

FIRST_DELAY, MAX_DELAY = 0.2, 10.0
"""Seconds between the death of a service and its restart; doubled while it keeps dying."""
STEADY_SECONDS = 30.0
"""After a service has run for this long, its next death counts as the first one."""
POLITE_SECONDS, HARD_SECONDS = 1.5, 0.8
"""Seconds that services may take to end after each signal. A stop takes at most twice the sum, less than 5 s."""
COLOURS = (36, 33, 32, 35, 34, 96, 93, 92)


class Console:
    """Writes lines to standard output, with the time and the name of the service in front."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tty = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._colours: dict[str, int] = {}
        self.quiet = False
        """Whether the output of services is hidden, as it is while they are being stopped."""

    def service(self, name: str, line: str) -> None:
        """Show a line of output of a service."""
        if not self.quiet:
            self._write(self._prefix(name) + line)

    def say(self, line: str) -> None:
        """Show a message of the supervisor."""
        self._write(self._prefix("gemweb") + line)

    def plain(self, line: str) -> None:
        """Show a line without a prefix, for people and programs that look for it."""
        self._write(line)

    def _prefix(self, name: str) -> str:
        text = f"{time.strftime('%H:%M:%S')} {name:<9} | "
        if not self._tty:
            return text
        colour = self._colours.setdefault(name, COLOURS[len(self._colours) % len(COLOURS)])
        return f"\x1b[{colour}m{text}\x1b[0m"

    def _write(self, line: str) -> None:
        with self._lock, suppress(BrokenPipeError, ValueError):  # the terminal is gone: keep serving
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


@dataclass
class _ManagedService:
    """A service that the supervisor restarts when it dies."""

    running: Running
    started: float = field(default_factory=time.monotonic)
    deaths: int = 0
    restart_at: float | None = None


class Supervisor:
    """Keeps a set of services running until `stop`. Call all methods in the main thread."""

    def __init__(self, guard: GuardProcess, console: Console, roster: Path) -> None:
        self._guard = guard
        self._console = console
        self._roster = roster
        self._managed: dict[str, _ManagedService] = {}
        self._one_time: list[Running] = []

    def start(self, service: Service) -> Running:
        """Start `service` and keep it running."""
        running = Running(service, self._guard, self._console.service)
        self._managed[service.name] = _ManagedService(running)
        self._write_roster()
        return running

    def once(self, service: Service) -> Running:
        """Start `service`, which ends by itself and is not restarted."""
        running = Running(service, self._guard, self._console.service)
        self._one_time.append(running)
        return running

    def deaths(self, name: str) -> int:
        """How often a service has died in a row."""
        return self._managed[name].deaths

    def last_words(self, name: str) -> str:
        """The most informative of the last lines of a service."""
        return self._managed[name].running.last_words()

    def tick(self) -> None:
        """Notice dead services, and restart those whose delay is over."""
        now = time.monotonic()
        self._one_time = [running for running in self._one_time if not running.ended()]
        for managed in self._managed.values():
            if managed.restart_at is None and managed.running.ended():
                self._schedule_restart(managed, now)
            elif managed.restart_at is not None and managed.restart_at <= now:
                self._restart(managed, now)

    def stop(self, last: tuple[str, ...]) -> None:
        """Stop all services; those that the others need are stopped `last`."""
        servers = [self._managed.pop(name) for name in last if name in self._managed]
        self._end([managed.running for managed in self._managed.values()] + self._one_time)
        self._end([managed.running for managed in servers])
        self._managed.clear()
        self._roster.unlink(missing_ok=True)

    def _end(self, services: list[Running]) -> None:
        """Send the polite signal, then SIGQUIT (Celery drops its work, Postgres its clients), then SIGKILL."""
        alive = [running for running in services if not running.ended()]
        for running in alive:
            running.process.send_signal(running.service.polite)  # it ends its children itself
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

    def _schedule_restart(self, managed: _ManagedService, now: float) -> None:
        managed.deaths = managed.deaths + 1 if now - managed.started < STEADY_SECONDS else 1
        delay = min(FIRST_DELAY * 2 ** (managed.deaths - 1), MAX_DELAY)
        managed.restart_at = now + delay
        name, code = managed.running.service.name, managed.running.process.returncode
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        self._console.say(f"{name} {how}; starting it again in {delay:.1f} s")

    def _restart(self, managed: _ManagedService, now: float) -> None:
        managed.running = Running(managed.running.service, self._guard, self._console.service)
        managed.started, managed.restart_at = now, None
        self._write_roster()

    def _write_roster(self) -> None:
        """Write the process ids to a file for people and tests."""
        draft = self._roster.with_suffix(".new")
        draft.write_text(json.dumps({name: managed.running.process.pid for name, managed in self._managed.items()}))
        draft.replace(self._roster)
