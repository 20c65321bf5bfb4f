"""Build .venv from the lock files, then become the command that was asked for. Standard library only.

    python3 gemweb/bootstrap.py run gemweb.local     packages that serving needs, then `python -m gemweb.local`
    python3 gemweb/bootstrap.py dev [MODULE ...]     packages of tests and checks as well

It does nothing when the environment already holds what the lock file says. It runs on whatever Python the
person has, so it must parse on old ones, to tell them which one is needed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "installed.json")
UV = os.path.join(VENV, "uv")
UV_LOCK = "requirements-uv.lock"
LOCKS = {"run": "requirements.lock", "dev": "requirements-dev.lock"}
OLDEST = (3, 11)


class SetUpError(Exception):
    """One sentence for the person at the terminal."""


def main(arguments: list[str]) -> int:
    """Prepare .venv for the wanted set of packages and run the wanted module in it."""
    wanted, command = arguments[0], arguments[1:]
    try:
        if sys.version_info < OLDEST:
            raise SetUpError(
                "Python {}.{} or newer is needed and this is {}.{}: name one, like PYTHON=python3.11.".format(
                    *OLDEST, *sys.version_info[:2]
                )
            )
        prepare(wanted)
    except SetUpError as error:
        sys.stderr.write(f"gemweb: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    if command:
        os.chdir(ROOT)
        os.execv(PYTHON, [PYTHON, "-m", *command])  # noqa: S606 - our own interpreter, no shell
    return 0


def prepare(wanted: str) -> None:
    """Install what `wanted` needs, unless it is there."""
    if is_current(wanted):
        return
    with alone():
        if is_current(wanted):  # another start installed it while we waited
            return
        started = time.monotonic()
        say("installing packages into .venv (the first time takes a minute)")
        try:
            kept = "dev" if stamp().get("set") == "dev" else wanted  # an update takes no test tools away
            build_venv()
            install(LOCKS[kept])
            offer_engine()
            write_stamp(kept)
        except OSError as error:
            raise explain(error) from error
        say(f"installed in {time.monotonic() - started:.0f} s")


def is_current(wanted: str) -> bool:
    """Whether .venv holds `wanted`; the development set holds everything."""
    found = stamp()
    return found == stamp_for("dev") or (wanted == "run" and found == stamp_for("run"))


def stamp() -> dict[str, str]:
    """What .venv was last filled with; empty when nobody knows."""
    with suppress(OSError, ValueError), open(STAMP) as file:
        return dict(json.load(file))
    return {}


def stamp_for(wanted: str) -> dict[str, str]:
    """What decides the content of .venv: its place, its Python, the lock file."""
    digest = hashlib.sha256()
    for name in (LOCKS[wanted], UV_LOCK):
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return {"set": wanted, "lock": digest.hexdigest(), "place": VENV, "python": python_version()}


def python_version() -> str:
    """The version that .venv was made with, from its own record."""
    with suppress(OSError), open(os.path.join(VENV, "pyvenv.cfg")) as file:
        for line in file:
            name, _, value = line.partition("=")
            if name.strip() == "version":
                return value.strip()
    return ""


def write_stamp(wanted: str) -> None:
    """Record what was installed; whole or not at all."""
    with open(STAMP + ".new", "w") as file:
        json.dump(stamp_for(wanted), file)
    os.replace(STAMP + ".new", STAMP)


def build_venv() -> None:
    """Make .venv unless a working one is there; without pip, which uv replaces."""
    moved = stamp().get("place", VENV) != VENV  # a copied one holds paths of its old place
    if works(PYTHON) and not moved:
        return
    run([sys.executable, "-m", "venv", "--clear", "--without-pip", VENV], "Python could not make .venv")


def works(python: str) -> bool:
    """Whether this interpreter starts; a removed base Python leaves a dead link behind."""
    try:
        return subprocess.run([python, "-c", ""], check=False, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def install(lock: str) -> None:
    """Make .venv hold exactly what `lock` says, every file checked against its hash."""
    uv = find_uv()
    # Not compiled here: the processes compile what they import, a third of it, in a third of the time.
    command = [uv, "pip", "sync", "--quiet", "--require-hashes", "--python", PYTHON, lock]
    environment = dict(os.environ, VIRTUAL_ENV=VENV, UV_NO_PROGRESS="1")
    environment.setdefault("UV_LINK_MODE", link_mode())
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        # uv does not read pip's configuration, where a mirror or a proxy may be named.
        with_pip(lock, done.stderr)


def offer_engine() -> None:
    """Let .venv's Python import `gem` from anywhere, and make the command `.venv/bin/gemweb`."""
    packages = os.path.join(VENV, "lib", "python{}.{}".format(*python_version().split(".")), "site-packages")
    with open(os.path.join(packages, "gemweb.pth"), "w") as file:
        file.write(ROOT + "\n")
    command = os.path.join(VENV, "bin", "gemweb")
    with open(command, "w") as file:
        file.write(f'#!/bin/sh\nexec {shlex.quote(PYTHON)} -m gem.cli "$@"\n')
    os.chmod(command, 0o755)  # noqa: S103 - whoever may read the checkout may run it


def link_mode() -> str:
    """Hard links where the cache shares a disk with .venv; a copy elsewhere, without uv's warning."""
    cache = os.environ.get("UV_CACHE_DIR") or os.path.join(os.path.expanduser("~"), ".cache")
    try:
        return "hardlink" if os.stat(cache).st_dev == os.stat(VENV).st_dev else "copy"
    except OSError:
        return "copy"


def find_uv() -> str:
    """The pinned uv, installed beside the environment so that a sync does not remove it."""
    program = os.path.join(UV, "bin", "uv")
    with open(os.path.join(ROOT, UV_LOCK)) as file:
        version = file.read().split("==", 1)[1].split()[0]
    if not os.path.exists(os.path.join(UV, f"uv-{version}.dist-info", "RECORD")):
        shutil.rmtree(UV, ignore_errors=True)
        pip = ["install", "--quiet", "--no-deps", "--require-hashes", "--target", UV, "-r", UV_LOCK]
        run([*find_pip(), *pip], "The installer could not be downloaded")
    return program


def find_pip() -> list[str]:
    """A pip to start with: this Python's own, or one that ensurepip puts into .venv."""
    for python in (sys.executable, PYTHON):
        if has_pip(python):
            return [python, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    ensure = subprocess.run([PYTHON, "-m", "ensurepip"], check=False, capture_output=True)
    if ensure.returncode:
        raise SetUpError(
            "This Python has neither pip nor ensurepip: install one "
            "(on Debian: apt-get install python3-venv) and run the same command again."
        )
    return [PYTHON, "-m", "pip", "--disable-pip-version-check", "--no-input"]


def has_pip(python: str) -> bool:
    """Whether `python -m pip` works."""
    probe = [python, "-m", "pip", "--version"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0


def with_pip(lock: str, complaint: str) -> None:
    """Install with pip what uv could not."""
    say("uv could not install the packages; trying pip")
    pip = find_pip()
    target = pip if pip[0] == PYTHON else [*pip, "--python", PYTHON]
    options = ["install", "--quiet", "--no-deps", "--require-hashes", "-r", lock]
    try:
        run([*target, *options], "The packages could not be installed")
    except SetUpError as error:
        raise SetUpError(f"{error} uv had said: {last_line(complaint)}") from error


def run(command: list[str], failure: str) -> None:
    """Run a step of the set-up; its last line of complaint becomes part of our sentence."""
    environment = dict(os.environ, PIP_USER="0", PIP_ROOT_USER_ACTION="ignore")
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip() or done.stdout
        if "No space left on device" in said or "os error 28" in said:
            raise explain(OSError(errno.ENOSPC, "full"))
        raise SetUpError(f"{failure}: {last_line(said)}")


def last_line(text: str) -> str:
    """The line of a complaint that says most."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    telling = [line for line in lines if line.lower().startswith(("error", "caused by", "×"))]
    return (telling or lines or ["it said nothing"])[-1]


def explain(error: OSError) -> SetUpError:
    """One sentence for an error of the operating system."""
    if error.errno == errno.ENOSPC:
        return SetUpError(f"The disk that holds {ROOT} is full: free about 400 MB there and run the command again.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return SetUpError(f"{VENV} cannot be written: make the checkout writable, or clone it again as this user.")
    return SetUpError(f"The environment in {VENV} could not be made: {error}.")


@contextmanager
def alone() -> Iterator[None]:
    """Let one start at a time touch .venv."""
    try:
        folder = os.open(ROOT, os.O_RDONLY)
    except OSError as error:
        raise explain(error) from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def say(line: str) -> None:
    """Show progress."""
    sys.stdout.write(f"gemweb: {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
