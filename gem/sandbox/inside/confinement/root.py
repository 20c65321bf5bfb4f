"""A root of its own for programs that start others: read-only copies of what they may see, and little else."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping

from . import kernel

BASE = "/tmp"  # noqa: S108 (a mount point that exists everywhere; what is in it is hidden, not touched)
DEVICES = ("null", "zero", "random", "urandom")


def leave_the_host(
    readable: Iterable[str],
    *,
    user: int,
    scratch: Mapping[str, int],
    links: Iterable[tuple[str, str]] = (),
    files: Mapping[str, str] | None = None,
    writable: Iterable[str] = (),
) -> None:
    """Make that root and go there; there is no way back to the old one.

    Args:
        readable: files and directories of the host; where they are links, the links are kept.
        user: whom the file systems in `scratch` belong to.
        scratch: directories to write to, in memory: path to bytes.
        links: further links: path and target.
        files: small files that programs look for: path to content.
        writable: directories of the host that may be written to.
    """
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    places = list(readable)
    kept = [(path, os.readlink(path)) for path in places if os.path.islink(path)]
    copies = [(path, kernel.detached_copy(path)) for path in places if not os.path.islink(path)]
    copies += [(path, kernel.detached_copy(path, writable=True)) for path in writable]
    folders = {path: os.path.isdir(path) for path, _ in copies}
    devices = [(f"/dev/{name}", kernel.detached_copy(f"/dev/{name}", devices=True)) for name in DEVICES]
    kernel.mount("tmpfs", BASE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,mode=0755")
    os.umask(0o022)
    for path, size in scratch.items():
        os.makedirs(BASE + path, exist_ok=True)
        options = f"size={size},nr_inodes=4096,mode=0755,uid={user},gid={user}"
        kernel.mount("tmpfs", BASE + path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    for path, target in (*kept, *links):
        os.makedirs(os.path.dirname(BASE + path), exist_ok=True)
        os.symlink(target, BASE + path)
    for path, copy in (*copies, *devices):
        _make_place(path, folder=folders.get(path, False))
        kernel.attach(copy, BASE + path)
    _add_small_things(files or {})
    kernel.pivot_to(BASE)
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    kernel.set_attributes(root, kernel.ATTR_RDONLY, below=False)
    os.close(root)


def _add_small_things(files: Mapping[str, str]) -> None:
    """What every program expects: /proc, the names of its streams, a few files."""
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", f"{BASE}/dev/{name}")
    for path, text in files.items():
        _make_place(path, folder=False)
        with open(BASE + path, "w") as file:
            file.write(text)
    os.mkdir(BASE + "/proc")
    with contextlib.suppress(OSError):  # some containers do not let it be mounted; programs do without
        safe = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC | kernel.MS_RDONLY
        kernel.mount("proc", BASE + "/proc", "proc", safe, "hidepid=2")


def _make_place(path: str, *, folder: bool) -> None:
    """Something to mount on: a directory or an empty file."""
    if folder:
        os.makedirs(BASE + path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(BASE + path), exist_ok=True)
    os.close(os.open(BASE + path, os.O_CREAT | os.O_CLOEXEC, 0o644))
