"""A small directory tree as plain data, written to a file system and read back.

`{path: [kind, mode, content, time]}` with paths relative to the top. `kind` is "file" (content: text), "bytes"
(content: base64), "folder" (content: ""), or "link" (content: where it points); `time` is when it was changed last, in
seconds since 1970. Owners, hard links, pipes and sockets are not kept.
"""

from __future__ import annotations

import base64
import os
import stat
from typing import Any

Tree = dict[str, list[Any]]


class TooBig(Exception):
    """The tree holds more than it may; the message says of what."""


def write(top: str, tree: Tree, user: int) -> None:
    """Make the tree below `top`, which is empty, as the property of `user`."""
    for path, (kind, mode, content, _) in tree.items():
        place = os.path.join(top, path)
        if kind == "folder":
            os.mkdir(place, 0o700)
        elif kind == "link":
            os.symlink(content, place)
        else:
            data = bytes_of(kind, content)
            with open(place, "wb") as file:
                file.write(data)
            os.chmod(place, mode)
        os.lchown(place, user, user)
    for path, (kind, mode, _, when) in reversed(tree.items()):  # what is in a folder before the folder
        place = os.path.join(top, path)
        if kind == "folder":
            os.chmod(place, mode)
        os.utime(place, (when, when), follow_symlinks=False)


def read(top: str, *, most_bytes: int, most_entries: int) -> Tree:
    """The tree below `top`, folders before what is in them, names in order.

    Raises:
        TooBig: above `most_bytes` of content or `most_entries`.
    """
    found: Tree = {}
    left = most_bytes
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for name in sorted(os.listdir(os.path.join(top, folder))):
            path = os.path.join(folder, name)
            entry, size = _entry(os.path.join(top, path), left)
            left -= size
            if left < 0:
                raise TooBig(f"more than {most_bytes:,} bytes")
            if entry is None:
                continue
            found[path.encode("utf-8", "replace").decode()] = entry
            if len(found) > most_entries:
                raise TooBig(f"more than {most_entries:,} files and folders")
            if entry[0] == "folder":
                waiting.append(path)
    return {path: found[path] for path in sorted(found)}


def _entry(place: str, most: int) -> tuple[list[Any] | None, int]:
    """What is at a place, and how many bytes it holds; never through a link, and no more than `most` and one."""
    about = os.lstat(place)
    mode, when = stat.S_IMODE(about.st_mode), int(about.st_mtime)
    if stat.S_ISDIR(about.st_mode):
        return entry_of("folder", mode, b"", "", when), 0
    if stat.S_ISLNK(about.st_mode):
        target = os.readlink(place)
        return entry_of("link", mode, b"", target, when), len(target)
    if not stat.S_ISREG(about.st_mode):
        return None, 0
    with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        data = file.read(most + 1)
    return entry_of("file", mode, data, "", when), len(data)


def bytes_of(kind: str, content: str) -> bytes:
    """What a file holds; nothing for what is no file."""
    if kind == "bytes":
        return base64.b64decode(content)
    return content.encode() if kind == "file" else b""


def entry_of(kind: str, mode: int, data: bytes, target: str, when: int) -> list[Any] | None:
    """An entry of a tree, whose `kind` is "file", "folder" or "link"; None for anything else."""
    if kind == "folder":
        return ["folder", mode, "", when]
    if kind == "link":
        return ["link", 0o777, os.fsencode(target).decode("utf-8", "replace"), when]
    if kind != "file":
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return ["bytes", mode, base64.b64encode(data).decode(), when]
    if "\0" in text:
        return ["bytes", mode, base64.b64encode(data).decode(), when]
    return ["file", mode, text, when]
