"""What of this machine a sandbox may read (the interpreter, its packages, the system's libraries), and as which user.

Nothing else of the host is readable in a sandbox, at any level.
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
"""The system's libraries; where a path is a symbolic link, the sandbox has the link as well."""
USER_IDS = range(60578, 61184)
"""User ids that distributions do not assign (systemd's documentation of user ids, "unused"). Each sandbox takes one at
random, so that its processes are counted separately and cannot affect those of other sandboxes."""
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
"""Environment variables of the code, besides HOME and TMPDIR, which are its working directory. They keep the order of
sets of strings the same in every run, and numerical libraries to one thread."""


@cache
def module_paths() -> list[str]:
    """`sys.path` in the sandbox: the standard library and installed packages, but no folder of the host's project."""
    paths = sysconfig.get_paths()
    standard = [paths["stdlib"], paths["platstdlib"], *(path for path in sys.path if path.endswith("lib-dynload"))]
    packages = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
    packages += [paths["purelib"], paths["platlib"]]
    return [path for path in dict.fromkeys(standard + packages) if os.path.isdir(path)]


@cache
def readable_paths() -> list[str]:
    """Every file and directory of the host that code may read; none of them is inside another."""
    paths = [path for path in LIBRARIES if os.path.lexists(path)]
    paths += [path for path in module_paths() if not _is_within(path, paths)]
    paths += [path for path in loaded_libraries() if not _is_within(path, paths)]
    return paths


def loaded_libraries() -> list[str]:
    """Shared libraries that this interpreter has loaded, also from unusual places (a Conda or Nix installation)."""
    with open("/proc/self/maps") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if len(line.split(maxsplit=5)) > 5}
    return sorted(path for path in paths if ".so" in os.path.basename(path) and os.path.isfile(path))


def _is_within(path: str, folders: list[str]) -> bool:
    real_path = os.path.realpath(path)
    real_folders = [os.path.realpath(folder) for folder in folders]
    return any(real_path == folder or real_path.startswith(f"{folder}/") for folder in real_folders)


def work_folder() -> str:
    """Where code may write at the level `full`; a mount there hides nothing that the code may read."""
    hides_readable = any(path.startswith("/tmp/") for path in readable_paths())  # noqa: S108 (the sandbox's own)
    return HOME if hides_readable else "/tmp"  # noqa: S108


def random_user() -> int | None:
    """A user id for a sandbox if we are root; None if it has to keep ours."""
    return random.SystemRandom().choice(USER_IDS) if os.geteuid() == 0 else None


def private_folder() -> str | None:
    """The folder of the interpreter or its packages that only its owner may enter, if there is one."""
    for path in module_paths():
        parts = os.path.realpath(path).split("/")
        for end in range(2, len(parts) + 1):
            folder = "/".join(parts[:end])
            if not os.stat(folder).st_mode & stat.S_IXOTH:
                return folder
    return None
