"""How the process's allocator treats memory that was freed."""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's `mallopt`, as its header malloc.h numbers them."""
LARGEST_REUSED = 1 << 30
"""Size in bytes up to which blocks are taken from the heap."""
LARGEST_KEPT = (1 << 31) - 1
"""Bytes at the end of the heap that are kept although they are free; `mallopt` takes no larger number."""


def keep_freed_memory() -> bool:
    """Let this process reuse large blocks that it freed, and return whether its C library can.

    An update allocates the same tensors of some megabytes again and again. By default glibc gives each of them back to
    the kernel, which then has to clear new pages for the next one: a fifth of the CPU time of a small policy's
    training. The process keeps its peak of memory until it ends. Nothing that is computed changes.

    Source: man page mallopt(3).
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl and macOS have no mallopt, Windows has no CDLL(None)
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, LARGEST_REUSED) and mallopt(M_TRIM_THRESHOLD, LARGEST_KEPT))
