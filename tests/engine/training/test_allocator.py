"""The training's allocator: large blocks that were freed are used again."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, resource, sys
from gem.training.allocator import keep_freed_memory

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
MEBIBYTES = 40  # more than glibc takes from the heap by itself, however often such blocks are freed

def use():
    block = libc.malloc(MEBIBYTES << 20)
    ctypes.memset(block, 1, MEBIBYTES << 20)
    libc.free(block)

if sys.argv[1] == "keep" and not keep_freed_memory():
    sys.exit("no mallopt")
use()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    use()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(mode: str) -> int:
    """Pages that the kernel had to provide while a block of 40 MiB was used five times."""
    command = [sys.executable, "-c", PROGRAM, mode]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    if "no mallopt" in done.stderr:
        pytest.skip("this C library has no mallopt")
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_large_blocks_are_reused_without_new_pages() -> None:
    assert page_faults("keep") < 100
    assert page_faults("default") > 50
