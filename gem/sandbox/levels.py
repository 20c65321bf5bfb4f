"""Which level works here: every one is tried with code that attempts what it must not be able to do."""

from __future__ import annotations

import os
import sys
import threading
from dataclasses import dataclass

from gem.errors import SandboxUnavailable
from gem.sandbox.backends import open_sandbox
from gem.sandbox.collect import Job, SlotDied
from gem.sandbox.limits import Level, Limits

ORDER: tuple[Level, ...] = ("full", "landlock", "runsc")
"""Tried from the first to the last; the first that passes is used."""
LEVELS = "GEM_SANDBOX"
"""Names the levels to try instead, in their order: `runsc,full`."""
MINIMUM = "GEM_SANDBOX_MIN"
"""Names the weakest level that may be used; without it any will do."""
STRENGTH: dict[str, int] = {"landlock": 1, "full": 2, "runsc": 3}
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
    """What trying one level gave."""

    level: Level
    ok: bool
    said: str
    """Why it cannot be used, or that it confined the code that tried to get out."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The level used, and how it came to that."""

    level: Level
    probes: tuple[Probe, ...]
    said: str
    """A sentence for people: what is used, or why nothing is and what to do."""


_lock = threading.Lock()
_choice: Choice | None = None
_trying: threading.Thread | None = None


def choice() -> Choice:
    """The strongest level that works here, tried once by each process; takes about a second the first time."""
    global _choice  # noqa: PLW0603 (a once-only answer)
    with _lock:
        if _choice is None:
            _choice = choose()
        return _choice


def choice_if_known() -> Choice | None:
    """As `choice`, without waiting: None while the levels are being tried, which the first call has begun."""
    global _trying  # noqa: PLW0603 (as above)
    if _choice is None and _trying is None:
        _trying = threading.Thread(target=choice, name="sandbox-levels", daemon=True)
        _trying.start()
    return _choice


def choose() -> Choice:
    """Try the levels in order until one works."""
    wanted = os.environ.get(MINIMUM, "landlock")
    if wanted not in STRENGTH:
        said = f"{MINIMUM} is {wanted!r}; it must be one of {', '.join(STRENGTH)}. Until then no code is run."
        return Choice("disabled", (), said)
    if sys.platform != "linux":
        return Choice("disabled", (), f"Untrusted code is run on Linux only; this is {sys.platform}.")
    order = os.environ.get(LEVELS, ",".join(ORDER)).split(",")
    unknown = [name for name in order if name not in ORDER]
    if unknown:
        said = f"{LEVELS} names {unknown[0]!r}; the levels are {', '.join(ORDER)}. Until then no code is run."
        return Choice("disabled", (), said)
    probes = []
    for level in sorted((one for one in ORDER if one in order), key=order.index):
        if STRENGTH[level] < STRENGTH[wanted]:
            probes.append(Probe(level, False, f"weaker than {MINIMUM}={wanted} allows"))
            continue
        probes.append(probe(level))
        if probes[-1].ok:
            return Choice(level, tuple(probes), f"Untrusted code runs at the level {level}.")
    reasons = "; ".join(f"{tried.level}: {tried.said}" for tried in probes)
    said = f"This machine cannot confine untrusted code, so it is not run ({reasons}). docs/sandbox.md says what helps."
    return Choice("disabled", tuple(probes), said)


def probe(level: Level) -> Probe:
    """Start a sandbox of a level and see whether code gets out of it."""
    try:
        slot = open_sandbox(level)
        try:
            result = slot.execute(Job(CANARY.encode(), limits=Limits(wall_seconds=20)))
        finally:
            slot.close()
    except (SandboxUnavailable, SlotDied, OSError) as error:
        return Probe(level, False, str(error) or "the sandbox died")
    if result.stdout != "done\n":
        found = ", ".join(result.stdout.splitlines()) or result.stderr.strip() or result.status
        return Probe(level, False, f"it does not hold: {found}")
    return Probe(level, True, "confined code that tried to read, write, connect and start programs")


def _after_fork() -> None:
    """In a forked process nobody holds the lock, and nobody is trying."""
    global _lock, _trying
    _lock, _trying = threading.Lock(), None


if hasattr(os, "register_at_fork"):  # everywhere but on Windows
    os.register_at_fork(after_in_child=_after_fork)
