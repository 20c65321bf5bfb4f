"""Finds the level that works on this machine, by running code at each level that attempts what must be impossible."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass

from gem.errors import SandboxUnavailable
from gem.sandbox.backends import open_sandbox
from gem.sandbox.job import SandboxJob, SlotDied
from gem.sandbox.limits import Level, Limits

DEFAULT_ORDER: tuple[Level, ...] = ("full", "landlock", "runsc")
"""The order in which levels are tried; the first that works is used."""
LEVELS_VARIABLE = "GEM_SANDBOX"
"""Environment variable with the levels to try instead, in order, such as `runsc,full`."""
MINIMUM_VARIABLE = "GEM_SANDBOX_MIN"
"""Environment variable with the weakest level that may be used; without it, every level may."""
STRENGTH: dict[str, int] = {"landlock": 1, "full": 2, "runsc": 3}
"""Levels by how strongly they confine; a larger number is stronger."""
CANARY = """
import os, socket

def attempt(name, act):
    try:
        act()
    except (OSError, MemoryError):
        return
    print(name)

attempt("read a file of the host", lambda: open("/etc/passwd"))
attempt("list the directories of the host", lambda: os.listdir("/home"))
attempt("write a file on the host", lambda: open("/var/tmp/gem-sandbox-canary", "w"))
attempt("open a socket", lambda: socket.socket())
attempt("start a process", lambda: os.fork())
attempt("start a program", lambda: os.execv("/bin/sh", ["sh", "-c", "exit"]))
attempt("read another process", lambda: open("/proc/1/status"))
open("mine", "w").write("its own file")
attempt("take as much memory as it wants", lambda: bytearray(1 << 30))
attempt("make a file as large as it wants", lambda: open("mine", "r+b").truncate(1 << 30))
print("done")
"""


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of trying one level."""

    level: Level
    ok: bool
    message: str
    """Why the level cannot be used, or what the code attempted in vain."""


@dataclass(frozen=True, slots=True)
class LevelChoice:
    """The level that is used on this machine, and the results of all levels that were tried."""

    level: Level
    probes: tuple[Probe, ...]
    message: str
    """A sentence for people: which level is used, or why none is and what to do."""


_lock = threading.Lock()
_choice: LevelChoice | None = None
_choice_thread: threading.Thread | None = None


def choice() -> LevelChoice:
    """The first level that works here, tried once by each process; takes about a second the first time."""
    global _choice  # noqa: PLW0603 (computed once)
    with _lock:
        if _choice is None:
            _choice = choose()
        return _choice


def choice_if_known() -> LevelChoice | None:
    """The result of `choice` without waiting; None while the levels are being tried, which the first call starts."""
    global _choice_thread  # noqa: PLW0603 (as above)
    if _choice is None and _choice_thread is None:
        _choice_thread = threading.Thread(target=choice, name="sandbox-levels", daemon=True)
        _choice_thread.start()
    return _choice


def choose() -> LevelChoice:
    """Try the levels in order until one works."""
    minimum = os.environ.get(MINIMUM_VARIABLE, "landlock")
    if minimum not in STRENGTH:
        message = f"{MINIMUM_VARIABLE} is {minimum!r}; it must be one of {', '.join(STRENGTH)}."
        return LevelChoice("disabled", (), f"{message} Until then no code is run.")
    if sys.platform != "linux":
        return LevelChoice("disabled", (), f"Untrusted code is run on Linux only; this is {sys.platform}.")
    order = os.environ.get(LEVELS_VARIABLE, ",".join(DEFAULT_ORDER)).split(",")
    unknown = [name for name in order if name not in DEFAULT_ORDER]
    if unknown:
        message = f"{LEVELS_VARIABLE} names {unknown[0]!r}; the levels are {', '.join(DEFAULT_ORDER)}."
        return LevelChoice("disabled", (), f"{message} Until then no code is run.")
    probes = []
    for level in sorted((level for level in DEFAULT_ORDER if level in order), key=order.index):
        if STRENGTH[level] < STRENGTH[minimum]:
            probes.append(Probe(level, False, f"weaker than {MINIMUM_VARIABLE}={minimum} allows"))
            continue
        probes.append(probe(level))
        if probes[-1].ok:
            return LevelChoice(level, tuple(probes), f"Untrusted code runs at the level {level}.")
    reasons = "; ".join(f"{failed.level}: {failed.message}" for failed in probes)
    message = f"This machine cannot confine untrusted code, so it is not run ({reasons})."
    return LevelChoice("disabled", tuple(probes), f"{message} docs/sandbox.md says what helps.")


def probe(level: Level) -> Probe:
    """Start a sandbox of a level and check whether the code of `CANARY` escapes from it."""
    try:
        sandbox = open_sandbox(level)
        try:
            result = sandbox.execute(SandboxJob(CANARY.encode(), limits=Limits(wall_seconds=20)))
        finally:
            sandbox.close()
    except (SandboxUnavailable, SlotDied, OSError) as error:
        return Probe(level, False, str(error) or "the sandbox died")
    if result.stdout != "done\n":
        escapes = ", ".join(result.stdout.splitlines()) or result.stderr.strip() or result.status
        return Probe(level, False, f"it does not hold: {escapes}")
    return Probe(level, True, "confined code that tried to read, write, connect and start programs")


def _after_fork() -> None:
    """Reset what a forked process cannot share: the lock, and the thread that tries the levels."""
    global _lock, _choice_thread
    _lock, _choice_thread = threading.Lock(), None


if hasattr(os, "register_at_fork"):  # everywhere but on Windows
    os.register_at_fork(after_in_child=_after_fork)
