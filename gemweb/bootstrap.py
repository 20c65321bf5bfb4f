"""Build .venv from the lock files, then run a module in it. Uses only the standard library.

    python3 gemweb/bootstrap.py run gemweb.local     install the packages of the site, then run `gemweb.local`
    python3 gemweb/bootstrap.py dev [MODULE ...]     install the packages for tests and checks too

It does nothing if .venv already matches the lock file. Old versions of Python must be able to parse this file, so
that it can say which version is needed.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
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
    """Install the set of packages that is named first, then run the module that follows, if any."""
    package_set, command = arguments[0], arguments[1:]
    try:
        if sys.version_info < OLDEST:
            raise SetUpError(
                "Python {}.{} or newer is needed, and this is {}.{}: choose one, such as PYTHON=python3.11.".format(
                    *OLDEST, *sys.version_info[:2]
                )
            )
        prepare(package_set)
    except SetUpError as error:
        sys.stderr.write(f"gemweb: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    if command:
        os.chdir(ROOT)
        os.execv(PYTHON, [PYTHON, "-m", *command])  # noqa: S606 - our own interpreter, no shell
    return 0


def prepare(package_set: str) -> None:
    """Install a set of packages, unless it is installed."""
    if is_current(package_set):
        return
    with exclusive_access():
        if is_current(package_set):  # another process has installed it in the meantime
            return
        started = time.monotonic()
        say("installing packages into .venv (the first time takes a minute)")
        try:
            target_set = "dev" if stamp().get("set") == "dev" else package_set  # an update keeps the test tools
            build_venv()
            install(LOCKS[target_set])
            link_engine()
            write_stamp(target_set)
        except OSError as error:
            raise explain(error) from error
        say(f"installed in {time.monotonic() - started:.0f} s")


def is_current(package_set: str) -> bool:
    """Whether .venv contains this set of packages; the development set contains all packages."""
    installed = stamp()
    return installed == stamp_for("dev") or (package_set == "run" and installed == stamp_for("run"))


def stamp() -> dict[str, str]:
    """The record of the last installation; empty if there is none."""
    with suppress(OSError, ValueError), open(STAMP) as file:
        return dict(json.load(file))
    return {}


def stamp_for(package_set: str) -> dict[str, str]:
    """The record for an installation of this set now: the lock file, the path of .venv and its Python."""
    digest = hashlib.sha256()
    for name in (LOCKS[package_set], UV_LOCK):
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return {"set": package_set, "lock": digest.hexdigest(), "place": VENV, "python": python_version()}


def python_version() -> str:
    """The Python version of .venv, from its configuration file."""
    with suppress(OSError), open(os.path.join(VENV, "pyvenv.cfg")) as file:
        for line in file:
            name, _, value = line.partition("=")
            if name.strip() == "version":
                return value.strip()
    return ""


def write_stamp(package_set: str) -> None:
    """Record the installation, with an atomic write."""
    with open(STAMP + ".new", "w") as file:
        json.dump(stamp_for(package_set), file)
    os.replace(STAMP + ".new", STAMP)


def build_venv() -> None:
    """Create .venv, without pip, unless there is a working one."""
    moved = stamp().get("place", VENV) != VENV  # a copied .venv contains the paths of its old place
    if works(PYTHON) and not moved:
        return
    if os.path.islink(VENV):  # somebody else's packages, which `--clear` would delete
        os.remove(VENV)
    run([sys.executable, "-m", "venv", "--clear", "--without-pip", VENV], "Python could not create .venv")


def works(python: str) -> bool:
    """Whether this interpreter starts; it does not if its base Python was removed."""
    try:
        return subprocess.run([python, "-c", ""], check=False, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def install(lock: str) -> None:
    """Install exactly the packages of a lock file, and check every file against its hash."""
    uv = find_uv()
    # Bytecode is not compiled here: the processes compile only the third of it that they import.
    command = [uv, "pip", "sync", "--quiet", "--require-hashes", "--python", PYTHON, lock]
    environment = dict(os.environ, VIRTUAL_ENV=VENV, UV_NO_PROGRESS="1")
    environment.setdefault("UV_LINK_MODE", link_mode())
    result = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    if result.returncode:
        # uv does not read the configuration of pip, which may contain a mirror or a proxy.
        install_with_pip(lock, result.stderr)


def link_engine() -> None:
    """Make `gem` importable in .venv from any folder, and create the command `.venv/bin/gemweb`."""
    packages = os.path.join(VENV, "lib", "python{}.{}".format(*python_version().split(".")), "site-packages")
    with open(os.path.join(packages, "gemweb.pth"), "w") as file:
        file.write(ROOT + "\n")
    command = os.path.join(VENV, "bin", "gemweb")
    with open(command, "w") as file:
        file.write(f'#!/bin/sh\nexec {shlex.quote(PYTHON)} -m gem.cli "$@"\n')
    os.chmod(command, 0o755)  # noqa: S103 - everybody who can read the checkout may run it


def link_mode() -> str:
    """How uv installs files: hard links if its cache is on the same disk as .venv, else copies (without a warning)."""
    cache = os.environ.get("UV_CACHE_DIR") or os.path.join(os.path.expanduser("~"), ".cache")
    try:
        return "hardlink" if os.stat(cache).st_dev == os.stat(VENV).st_dev else "copy"
    except OSError:
        return "copy"


def find_uv() -> str:
    """The pinned version of uv. It is installed in a separate folder, so that a sync does not remove it."""
    program = os.path.join(UV, "bin", "uv")
    with open(os.path.join(ROOT, UV_LOCK)) as file:
        version = file.read().split("==", 1)[1].split()[0]
    if not os.path.exists(os.path.join(UV, f"uv-{version}.dist-info", "RECORD")):
        shutil.rmtree(UV, ignore_errors=True)
        pip = ["install", "--quiet", "--no-deps", "--require-hashes", "--target", UV, "-r", UV_LOCK]
        run([*find_pip(), *pip], "The installer could not be downloaded")
    return program


def find_pip() -> list[str]:
    """A pip command: that of this Python, or one that ensurepip installs in .venv."""
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


def install_with_pip(lock: str, uv_error: str) -> None:
    """Install the packages with pip, after uv has failed."""
    say("uv could not install the packages; trying pip")
    pip = find_pip()
    target = pip if pip[0] == PYTHON else [*pip, "--python", PYTHON]
    options = ["install", "--quiet", "--no-deps", "--require-hashes", "-r", lock]
    try:
        run([*target, *options], "The packages could not be installed")
    except SetUpError as error:
        if package := package_not_built(uv_error):
            raise SetUpError(
                f"{package} could not be compiled, which takes a C compiler and the headers of Python: install them "
                "(on Debian: apt-get install gcc python3-dev; on macOS: xcode-select --install) and run the same "
                f"command again. The error was: {last_line(uv_error)}"
            ) from error
        raise SetUpError(f"{error} The error of uv was: {last_line(uv_error)}") from error


def package_not_built(uv_error: str) -> str:
    """The package that is published as source code alone and could not be built, by the error of uv; empty if none."""
    found = re.search(r"Failed to build `([\w.-]+)", uv_error)
    return found[1] if found else ""


def run(command: list[str], failure: str) -> None:
    """Run a step of the set-up.

    Raises:
        SetUpError: if it fails, with the last line of its error output.
    """
    environment = dict(os.environ, PIP_USER="0", PIP_ROOT_USER_ACTION="ignore")
    result = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    if result.returncode:
        output = result.stderr.strip() or result.stdout
        if "No space left on device" in output or "os error 28" in output:
            raise explain(OSError(errno.ENOSPC, "full"))
        raise SetUpError(f"{failure}: {last_line(output)}")


def last_line(text: str) -> str:
    """The most informative line of an error output."""
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith(("error", "caused by", "×"))]
    return (errors or lines or ["no error message"])[-1]


def explain(error: OSError) -> SetUpError:
    """The error for the user, made from an error of the operating system."""
    if error.errno == errno.ENOSPC:
        return SetUpError(f"The disk that holds {ROOT} is full: free about 400 MB there and run the command again.")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return SetUpError(f"{VENV} cannot be written: make the checkout writable, or clone it again as this user.")
    return SetUpError(f"The environment in {VENV} could not be created: {error}.")


@contextmanager
def exclusive_access() -> Iterator[None]:
    """Lock .venv, so that only one process changes it at a time."""
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
