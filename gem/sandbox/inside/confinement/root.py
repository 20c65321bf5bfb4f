"""A new root for programs that start other programs: read-only copies of what they may see, and a few files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping

from . import kernel

NEW_ROOT = "/tmp"  # noqa: S108 (a mount point that exists everywhere; its content is hidden, not changed)
DEVICES = ("null", "zero", "random", "urandom")


def enter_new_root(
    readable: Iterable[str],
    *,
    user: int,
    scratch: Mapping[str, int],
    links: Iterable[tuple[str, str]] = (),
    files: Mapping[str, str] | None = None,
    writable: Iterable[str] = (),
    time: int | None = None,
) -> None:
    """Make the new root and enter it; the old root is unmounted.

    Args:
        readable: files and directories of the host; where a path is a symbolic link, the new root has the link.
        user: the owner of the file systems in `scratch`.
        scratch: directories in memory that can be written to: size in bytes by path.
        links: further symbolic links: path and target.
        files: small files that programs expect: content by path.
        writable: directories of the host that can be written to.
        time: the modification time of the directories of the root itself, in seconds since 1970; the present if None.
    """
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    paths = list(readable)
    host_links = [(path, os.readlink(path)) for path in paths if os.path.islink(path)]
    copies = [(path, kernel.copy_mount(path)) for path in paths if not os.path.islink(path)]
    copies += [(path, kernel.copy_mount(path, writable=True)) for path in writable]
    is_folder = {path: os.path.isdir(path) for path, _ in copies}
    devices = [(f"/dev/{name}", kernel.copy_mount(f"/dev/{name}", devices=True)) for name in DEVICES]
    kernel.mount("tmpfs", NEW_ROOT, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,mode=0755")
    os.umask(0o022)
    for path, size in scratch.items():
        os.makedirs(NEW_ROOT + path, exist_ok=True)
        options = f"size={size},nr_inodes=4096,mode=0755,uid={user},gid={user}"
        kernel.mount("tmpfs", NEW_ROOT + path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, options)
    for path, target in (*host_links, *links):
        os.makedirs(os.path.dirname(NEW_ROOT + path), exist_ok=True)
        os.symlink(target, NEW_ROOT + path)
    for path, copy in (*copies, *devices):
        _make_mount_point(path, is_folder=is_folder.get(path, False))
        kernel.attach_mount(copy, NEW_ROOT + path)
    _add_common_files(files or {})
    if time is not None:
        _set_times([*scratch, *(path for path, _ in (*host_links, *links, *copies, *devices)), *(files or {})], time)
    kernel.pivot_to(NEW_ROOT)
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    kernel.set_mount_attributes(root, kernel.ATTR_RDONLY, recursive=False)
    os.close(root)


def _add_common_files(files: Mapping[str, str]) -> None:
    """Add what every program expects: /proc, the names of its standard streams, and some small files."""
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        os.symlink(f"/proc/self/fd{target}", f"{NEW_ROOT}/dev/{name}")
    for path, text in files.items():
        _make_mount_point(path, is_folder=False)
        with open(NEW_ROOT + path, "w") as file:
            file.write(text)
    os.mkdir(NEW_ROOT + "/proc")
    with contextlib.suppress(OSError):  # some containers forbid this mount; most programs work without it
        flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC | kernel.MS_RDONLY
        kernel.mount("proc", NEW_ROOT + "/proc", "proc", flags, "hidepid=2")


def _set_times(paths: Iterable[str], time: int) -> None:
    """Give the folders that were made for these paths an equal time in every sandbox, as listings show it."""
    folders = {"/"}
    for path in paths:
        while (path := os.path.dirname(path)) not in folders:
            folders.add(path)
    for folder in folders:
        with contextlib.suppress(OSError):  # a folder of the machine, which cannot be written to
            os.utime(NEW_ROOT + folder, (time, time))


def _make_mount_point(path: str, *, is_folder: bool) -> None:
    """Make an empty folder, or an empty file."""
    if is_folder:
        os.makedirs(NEW_ROOT + path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(NEW_ROOT + path), exist_ok=True)
    os.close(os.open(NEW_ROOT + path, os.O_CREAT | os.O_CLOEXEC, 0o644))
