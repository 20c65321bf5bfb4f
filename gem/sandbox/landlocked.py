"""Runs a module of the engine in a process that confines itself first, on machines without namespaces.

    python -m gem.sandbox.landlocked SETTINGS MODULE ARGUMENT...

The process keeps its user. It can open only the files that SETTINGS names and write none, has no network, starts no
program and signals no other process; it may still ask for the size and times of a file by its path.
"""

from __future__ import annotations

import json
import resource
import runpy
import signal
import sys
import tempfile
from typing import Any

from gem.sandbox.inside.confinement import kernel, landlock, limits, seccomp

DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
SYSTEM_FACTS = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu")
"""What numerical libraries read of the machine."""

LINK_CALLS = ("readlink", "readlinkat")
"""Calls with which the interpreter finds its packages through symbolic links."""


def confine(settings: dict[str, Any]) -> None:
    """Confine this process and the threads that it starts from now on.

    Raises:
        OSError: if the kernel refuses; nothing of somebody else's may be loaded then.
        LookupError: for an unsupported architecture.
    """
    system_calls = seccomp.build(is_isolated=False, also=LINK_CALLS)
    version = landlock.abi()
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    rules = landlock.make_ruleset(version)
    for path in (*settings["readable"], *SYSTEM_FACTS):
        landlock.allow(rules, path, landlock.READ, version)
    for path in DEVICES:
        landlock.allow(rules, path, landlock.READ | landlock.WRITE_FILE, version)
    landlock.restrict(rules)
    kernel.keep_capabilities()
    limits.set_limit(resource.RLIMIT_CPU, settings["cpu_seconds"])
    limits.set_limit(resource.RLIMIT_DATA, settings["memory_bytes"])
    limits.set_limit(resource.RLIMIT_FSIZE, 0)
    limits.set_limit(resource.RLIMIT_CORE, 0)
    seccomp.install(system_calls)


def main() -> None:
    """Confine this process, then run the module as `python -m` does."""
    settings, module = json.loads(sys.argv[1]), sys.argv[2]
    sys.argv = sys.argv[2:]
    tempfile.tempdir = "/tmp"  # noqa: S108 (libraries ask for its name while they are imported; nothing can be written)
    confine(settings)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
