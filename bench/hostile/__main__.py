"""Attacks on a whole site on this machine, each beside an honest visitor: `python -m bench.hostile`.

    python -m bench.hostile --only bombs --seconds 20 --rest 20

For each attack, a site is started with the limits of a public one, in a temporary folder. The honest visitor, without
an account, reads pages, begins episodes of a slow environment and plays a turn of each while the attack lasts. Printed
are the 95th percentiles of pages, starts and turns, the answers of 500 and above to anybody, and how much more memory
the site's processes and how much more disk everything but the database and Valkey uses, a while after the attack (and
the check of the last upload) than before. The attackers use the same cores as the site. Each has its own address on
loopback, unless they share one.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time

import psutil

from bench.hostile.attacks import ATTACKS, Attackers
from bench.hostile.client import Site, Visitor
from bench.hostile.honest import Measured, play, visit
from bench.stack import Stack, machine, percentile, print_table, stack
from gemweb.local import services

PAGE_TARGET_MS, TURN_TARGET_SECONDS = 500.0, 3.0
MEMORY_TARGET_MB, DISK_TARGET_MB = 200.0, 20.0
"""How much more memory and disk is "as before": caches fill, and a log grows."""
WARM_UP_SECONDS = 8.0
MAX_CHECKS_SECONDS = 600.0
"""How long the checks of uploads are waited for that were accepted during the attack."""
VISITOR = "c" * 32
HEADINGS = (
    "attack", "visitors", "acts", "pages p95", "start p95", "slow turn p95", "turns", "5xx", "memory", "disk",
)  # fmt: skip


async def measure(
    made: Stack, port: int, name: str, sessions: list[str], seconds: float, rest: float
) -> tuple[tuple[str, ...], bool]:
    """Attack once; the cells of the row, and whether every target was met.

    Args:
        sessions: the key of the honest visitor's session, and of one for each attacker with an account.
    """
    honest = Visitor(Site(port), {"sessionid": sessions[0]})
    warm = Measured()
    until = time.monotonic() + WARM_UP_SECONDS
    await asyncio.gather(visit(honest, warm, until), play(honest, warm, until))
    memory, disk = _memory_mb(), _disk_mb(made)

    site, measured = Site(port), Measured()
    honest.site = site
    until = time.monotonic() + seconds
    (acts, answers), *_ = await asyncio.gather(
        Attackers(name, port, sessions[1:], seconds).run(),
        visit(honest, measured, until),
        play(honest, measured, until),
    )
    await honest.close()
    site.statuses += answers
    await asyncio.to_thread(_wait_for_uploads)
    await asyncio.sleep(rest)
    more_memory, more_disk = _memory_mb() - memory, _disk_mb(made) - disk
    pages, turns = 1000 * percentile(measured.pages, 0.95), percentile(measured.turns, 0.95)
    starts = percentile(measured.starts, 0.95)
    cells = (
        str(ATTACKS[name].visitors), f"{acts:,}", f"{pages:,.0f} ms", f"{starts:.2f} s", f"{turns:.2f} s",
        f"{len(measured.turns)}", str(site.server_errors()), f"{more_memory:+.0f} MB", f"{more_disk:+.0f} MB",
    )  # fmt: skip
    met = (
        pages < PAGE_TARGET_MS,
        max(starts, turns) < TURN_TARGET_SECONDS,
        site.server_errors() == 0,
        more_memory < MEMORY_TARGET_MB,
        more_disk < DISK_TARGET_MB,
    )
    print(
        "  answers: " + ", ".join(f"{status or 'none'}: {count:,}" for status, count in sorted(site.statuses.items()))
    )
    return cells, all(met)


def _wait_for_uploads() -> None:
    """Wait until all uploads that were accepted have been checked: until then, the attack is not over."""
    from apps.agents.models import Upload

    began = time.monotonic()
    count = accepted = Upload.objects.waiting().count()
    while count and time.monotonic() - began < MAX_CHECKS_SECONDS:
        time.sleep(1)
        count = Upload.objects.waiting().count()
    if accepted:
        print(f"  {accepted} uploads waited at the end, {count} after {time.monotonic() - began:.0f} s")


def _session(*, user: str = "", visitor: str = "") -> str:
    """The key of a session of somebody with an account, which is made here, or of a guest."""
    from django.conf import settings
    from django.contrib.sessions.backends.db import SessionStore
    from django.test import Client

    from apps.accounts.models import User

    if user:
        client = Client()
        client.force_login(User.objects.get_or_create(username=user)[0], settings.AUTHENTICATION_BACKENDS[0])
        return client.cookies[settings.SESSION_COOKIE_NAME].value
    session = SessionStore()
    session["visitor"] = visitor
    session.save()
    return session.session_key or ""


def _memory_mb() -> float:
    """Memory that the site's processes do not share, in MB."""
    total = 0
    for process in psutil.Process().children(recursive=True):
        try:
            memory = process.memory_info()
        except psutil.NoSuchProcess:
            continue
        total += memory.rss - memory.shared
    return total / 1e6


def _disk_mb(made: Stack) -> float:
    """Size of the site's files, without those of the database, in MB."""
    total = 0
    for path in made.folder.rglob("*"):
        if path.relative_to(made.folder).parts[0] in ("postgres", "valkey"):
            continue
        try:
            total += path.lstat().st_size
        except FileNotFoundError:
            continue
    return total / 1e6


def run(name: str, seconds: float, rest: float) -> tuple[tuple[str, ...], bool]:
    """One attack on a site of its own."""
    kind = ATTACKS[name]
    print(f"{name}: {kind.visitors} {kind.what}" if kind.visitors else kind.what, flush=True)
    with stack() as made:
        temporary = made.folder / "tmp"
        temporary.mkdir()
        made.env |= {"TMPDIR": str(temporary), "LOG_LEVEL": "ERROR", "LOCAL_MODE": "0", "SOCKETS_PER_ADDRESS": "100"}
        made.run(services.commands(made.env, "collectstatic")).process.wait()
        for service in services.workers(made.env):
            if service.name != "train":
                made.run(service)
        _, port = made.web()
        accounts = range(kind.visitors if kind.needs_accounts else 0)
        sessions = [_session(visitor=VISITOR), *(_session(user=f"attacker-{number}") for number in accounts)]
        cells, met = asyncio.run(measure(made, port, name, sessions, seconds, rest))
    return (name, *cells), met


def main() -> int:
    """Print a row for each attack; 1 if a target was missed."""
    parser = argparse.ArgumentParser(prog="bench.hostile", description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=ATTACKS, action="append", metavar="NAME", help=", ".join(ATTACKS))
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each attack lasts")
    parser.add_argument("--rest", type=float, default=60.0, help="how long after it memory and disk are looked at")
    options = parser.parse_args()
    names = options.only or list(ATTACKS)
    if len(names) > 1:  # Django is set up once in a process, for one site
        times = ["--seconds", str(options.seconds), "--rest", str(options.rest)]
        command = [sys.executable, "-m", "bench.hostile", *times]
        return max(subprocess.run([*command, "--only", name], check=False).returncode for name in names)
    print(machine(), flush=True)
    row, met = run(names[0], options.seconds, options.rest)
    print_table([HEADINGS, row])
    targets = f"pages under {PAGE_TARGET_MS:.0f} ms, starts and slow turns under {TURN_TARGET_SECONDS:.0f} s, no 5xx"
    print(f"targets ({targets}, memory and disk as before): {'met' if met else 'missed'}", flush=True)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
