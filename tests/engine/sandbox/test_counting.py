"""The zygote counts the files of a run only once its code may have begun; before, the process cannot be inspected."""

import subprocess
import sys
from pathlib import Path

import pytest

from gem.sandbox import levels

SANDBOX = Path(__file__).parents[3] / "gem" / "sandbox"
PROGRAM = """
import os, signal, socket, sys
sys.path.insert(0, sys.argv[1])
from inside import zygote
from inside.confinement import kernel
from inside.files import cleanup, unlinked
if os.geteuid() == 0:  # root may inspect every process
    os.setresuid(65534, 65534, 65534)
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
proc = os.open("/proc", os.O_PATH)
ours, theirs = socket.socketpair()
confined, is_confined = os.pipe()
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
child = os.fork()
if child == 0:
    ours.close()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    os.write(is_confined, b".")
    signal.sigwait({signal.SIGUSR1})
    theirs.close()
    os.write(is_confined, b".")
    signal.pause()
theirs.close()
process = zygote.RunProcess(child, os.pidfd_open(child), ours)
os.read(confined, 1)
print(zygote._has_begun(process), unlinked.bytes_held(proc, child, "/tmp", 1 << 24) == cleanup.UNMEASURABLE)
os.kill(child, signal.SIGUSR1)
os.read(confined, 1)
print(zygote._has_begun(process))
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print(unlinked.bytes_held(proc, child, "/tmp", 1 << 24))
"""


def test_a_process_that_cannot_be_inspected_yet_is_not_counted() -> None:
    if not levels.probe("landlock").ok:
        pytest.skip("no level landlock here")
    done = subprocess.run([sys.executable, "-c", PROGRAM, SANDBOX], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["False", "True", "True", "0"], done.stderr
