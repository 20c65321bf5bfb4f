"""What a sandbox may see of this machine: the interpreter, its packages, the system's libraries; and as whom.

Nothing else of the host is readable inside, at any level.
"""

from __future__ import annotations

import os
import random
import stat
import sys
import sysconfig
from functools import cache

from gem.sandbox.inside.settings import HOME

LIBRARIES = (
    "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/usr/share/zoneinfo",
)  # fmt: skip
"""The system's; where they are links, the links are kept."""
USERS = range(60578, 61184)
"""Numbers that distributions give to nobody (systemd's documentation of user ids, "unused"). Each sandbox takes one
at random: its processes are counted on their own, and can do nothing to those of others."""
VARIABLES = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
}
"""The environment of the code, besides HOME and TMPDIR, which name its working directory. Sets of text keep their
order from run to run; arrays use one thread."""


@cache
def modules() -> list[str]:
    """`sys.path` inside: the standard library and installed packages, no directory of the host's project."""
    paths = sysconfig.get_paths()
    standard = [paths["stdlib"], paths["platstdlib"], *(path for path in sys.path if path.endswith("lib-dynload"))]
    packages = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    packages += [paths["purelib"], paths["platlib"]]
    return [path for path in dict.fromkeys(standard + packages) if os.path.isdir(path)]


@cache
def readable() -> list[str]:
    """Every file and directory of the host that code may read: no one lies in another."""
    wanted = [path for path in LIBRARIES if os.path.lexists(path)]
    wanted += [path for path in modules() if not _within(path, wanted)]
    wanted += [path for path in loaded_libraries() if not _within(path, wanted)]
    return wanted


def loaded_libraries() -> list[str]:
    """Shared libraries that this interpreter uses from unusual places (a Conda or Nix installation)."""
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if len(line.split(maxsplit=5)) > 5}
    return sorted(path for path in paths if ".so" in os.path.basename(path) and os.path.isfile(path))


def _within(path: str, folders: list[str]) -> bool:
    real = os.path.realpath(path)
    return any(
        real == os.path.realpath(folder) or real.startswith(os.path.realpath(folder) + "/") for folder in folders
    )


def work() -> str:
    """Where code may write at the level `full`: nothing that it may read lies below."""
    hidden = any(path.startswith("/tmp/") for path in readable())  # noqa: S108 (the sandbox's own)
    return HOME if hidden else "/tmp"  # noqa: S108


def user() -> int | None:
    """The user that a sandbox becomes if we are root; None: it keeps ours."""
    return random.SystemRandom().choice(USERS) if os.geteuid() == 0 else None


def private_directory() -> str | None:
    """A directory that only its owner may enter and that holds the interpreter or its packages, if there is one."""
    for path in modules():
        parts = os.path.realpath(path).split("/")
        for end in range(2, len(parts) + 1):
            folder = "/".join(parts[:end])
            if not os.stat(folder).st_mode & stat.S_IXOTH:
                return folder
    return None
