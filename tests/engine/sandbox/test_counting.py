"""Where the zygote counts what a run holds, it counts nothing before the run's code can have begun."""

import subprocess
import sys
from pathlib import Path

import pytest

from gem.sandbox import levels

INSIDE = Path(__file__).parents[3] / "gem" / "sandbox"
COUNTED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from inside import deleted, kernel, seccomp
if os.geteuid() == 0:  # root may look into every process
    os.setresuid(65534, 65534, 65534)
    kernel.keep_capabilities()
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
proc = os.open("/proc", os.O_PATH)
for filtered in (False, True):
    done, say = os.pipe()
    child = os.fork()
    if child == 0:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        if filtered:
            seccomp.install(seccomp.build(alone=False))
        os.write(say, b".")
        while True:
            signal.pause()
    os.read(done, 1)
    print(deleted.bytes_held(proc, child, "/tmp", 1 << 24) == deleted.TOO_MUCH)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(deleted.bytes_held(proc, child, "/tmp", 1 << 24))
"""


def test_what_cannot_be_seen_is_too_much_once_the_code_may_have_begun() -> None:
    if not levels.probe("landlock").ok:
        pytest.skip("no level landlock here")
    done = subprocess.run([sys.executable, "-c", COUNTED, INSIDE], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "0", "True", "0"], done.stderr
