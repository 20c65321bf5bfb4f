"""A small directory tree as plain data, written to a file system and read back.

The data are `{path: [kind, mode, content, time]}` with paths relative to the top. `kind` is "file" (content: text),
"bytes" (content: base64), "folder" (content: empty), or "link" (content: the target); `time` is the modification time
in seconds since 1970. Owners, hard links, pipes and sockets are not part of a tree.
"""

from __future__ import annotations

import base64
import os
import stat
from typing import Any

Tree = dict[str, list[Any]]


class TooBig(Exception):
    """The tree exceeds a limit, which the message names."""


def write(top: str, tree: Tree, user: int) -> None:
    """Make the tree in the empty directory `top`, with `user` as the owner."""
    for path, (kind, mode, content, _) in tree.items():
        target = os.path.join(top, path)
        if kind == "folder":
            os.mkdir(target, 0o700)
        elif kind == "link":
            os.symlink(content, target)
        else:
            data = bytes_of(kind, content)
            with open(target, "wb") as file:
                file.write(data)
            os.chmod(target, mode)
        os.lchown(target, user, user)
    for path, (kind, mode, _, mtime) in reversed(tree.items()):  # the content of a folder before the folder itself
        target = os.path.join(top, path)
        if kind == "folder":
            os.chmod(target, mode)
        os.utime(target, (mtime, mtime), follow_symlinks=False)


def read(top: str, *, max_bytes: int, max_entries: int) -> Tree:
    """The tree in the directory `top`, sorted by path.

    Raises:
        TooBig: above `max_bytes` of content or `max_entries`.
    """
    tree: Tree = {}
    remaining = max_bytes
    folders = [""]
    while folders:
        folder = folders.pop()
        for name in sorted(os.listdir(os.path.join(top, folder))):
            path = os.path.join(folder, name)
            entry, size = _read_entry(os.path.join(top, path), remaining)
            remaining -= size
            if remaining < 0:
                raise TooBig(f"more than {max_bytes:,} bytes")
            if entry is None:
                continue
            tree[path.encode("utf-8", "replace").decode()] = entry
            if len(tree) > max_entries:
                raise TooBig(f"more than {max_entries:,} files and folders")
            if entry[0] == "folder":
                folders.append(path)
    return {path: tree[path] for path in sorted(tree)}


def _read_entry(path: str, max_bytes: int) -> tuple[list[Any] | None, int]:
    """The entry at a path, and its size; links are not followed, and at most `max_bytes` and one are read."""
    status = os.lstat(path)
    mode, mtime = stat.S_IMODE(status.st_mode), int(status.st_mtime)
    if stat.S_ISDIR(status.st_mode):
        return make_entry("folder", mode, b"", "", mtime), 0
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(path)
        return make_entry("link", mode, b"", target, mtime), len(target)
    if not stat.S_ISREG(status.st_mode):
        return None, 0
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        data = file.read(max_bytes + 1)
    return make_entry("file", mode, data, "", mtime), len(data)


def bytes_of(kind: str, content: str) -> bytes:
    """The content of a file as bytes; empty for folders and links."""
    if kind == "bytes":
        return base64.b64decode(content)
    return content.encode() if kind == "file" else b""


def make_entry(kind: str, mode: int, data: bytes, target: str, mtime: int) -> list[Any] | None:
    """An entry of a tree, whose `kind` is "file", "folder" or "link"; None for any other kind."""
    if kind == "folder":
        return ["folder", mode, "", mtime]
    if kind == "link":
        return ["link", 0o777, os.fsencode(target).decode("utf-8", "replace"), mtime]
    if kind != "file":
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ["bytes", mode, base64.b64encode(data).decode(), mtime]
    if "\0" in text:
        return ["bytes", mode, base64.b64encode(data).decode(), mtime]
    return ["file", mode, text, mtime]
