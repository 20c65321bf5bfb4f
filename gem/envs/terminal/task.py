"""A task in the terminal: a directory to begin with, an instruction, and checks of the directory at the end."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gem.rng import RandomSource
from gem.sandbox.command import ShellLimits
from gem.sandbox.inside.files.tree import Tree
from gem.sandbox.shell import EPOCH, execute

Level = Literal["easy", "medium", "hard"]
Facts = dict[str, Any]
"""The values drawn for an instance of a task, as plain JSON. The instruction and the checks use them."""
Check = tuple[str, bool] | tuple[str, bool, Literal["guard"]]
"""What was checked, in words, and whether it holds.

A guard checks that something has not been changed. It holds from the beginning, so it earns nothing.
"""

CHECK_LIMITS = ShellLimits(seconds=10.0, output_bytes=256 << 10)


class WorkingDirectory:
    """The working directory at the end of an episode, for the checks. They cannot change it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def kind(self, path: str) -> str:
        """The kind of an entry: `file`, `bytes`, `folder` or `link`; empty if there is no such entry."""
        return str(self.tree[path][0]) if path in self.tree else ""

    def text(self, path: str) -> str:
        """The content of a text file; empty if there is no such file."""
        return str(self.tree[path][2]) if self.kind(path) == "file" else ""

    def lines(self, path: str) -> list[str]:
        """The lines of a text file, without trailing spaces and without empty lines at the end."""
        return [line.rstrip() for line in self.text(path).rstrip().splitlines()]

    def mode(self, path: str) -> int:
        """The permissions of an entry; -1 if there is no such entry."""
        return int(self.tree[path][1]) if path in self.tree else -1

    def files(self, below: str = "") -> list[str]:
        """The paths of all files that begin with `below`, which is empty or a folder with a slash at its end."""
        return [path for path in self.tree if path.startswith(below) and self.kind(path) in ("file", "bytes")]

    def run(self, command: str, **files: list[Any]) -> tuple[int | None, str]:
        """Run a command in a copy of the directory with `files` added to it; return its exit code and output.

        The caller compares the output, so the expected output is never in a place where a command could read it.
        """
        result = execute(command, {**self.tree, **files}, limits=CHECK_LIMITS)
        return result.exit_code, result.output.rstrip()


@dataclass(frozen=True, slots=True)
class Task:
    """A kind of task, of which every seed makes another instance."""

    name: str
    level: Level
    prepare: Callable[[RandomSource], tuple[Tree, Facts]]
    """Draws an instance: the directory to begin with, and its facts."""
    instruction: str
    """What the agent has to do; `{name}` stands for the fact of that name."""
    checks: Callable[[Facts, WorkingDirectory], list[Check]]
    """Runs the checks, all of which count the same."""

    def __reduce__(self) -> tuple[Callable[[str], Task], tuple[str]]:
        """Pickle the task by its name, because its functions need not be picklable."""
        return get_task, (self.name,)


TASKS: dict[str, Task] = {}


def add(task: Task) -> None:
    """Register a task."""
    TASKS[task.name] = task


def get_task(name: str) -> Task:
    """The task of this name."""
    return TASKS[name]


def tasks_of_level(level: Level) -> list[Task]:
    """The tasks of one difficulty, in the order in which they were added."""
    return [task for task in TASKS.values() if task.level == level]


# ------------------------------------------------------------------ trees


def tree_of(files: Mapping[str, str | bytes], modes: Mapping[str, int] | None = None) -> Tree:
    """A tree with these files and the folders that contain them.

    Args:
        files: path to content.
        modes: path to permissions, where they are not the usual 0o644 for files and 0o755 for folders.
    """
    modes = modes or {}
    tree: Tree = {}
    for path, content in files.items():
        parts = path.split("/")
        for depth in range(1, len(parts)):
            folder = "/".join(parts[:depth])
            tree.setdefault(folder, ["folder", modes.get(folder, 0o755), "", EPOCH])
        mode = modes.get(path, 0o644)
        if isinstance(content, bytes):
            tree[path] = ["bytes", mode, base64.b64encode(content).decode(), EPOCH]
        else:
            tree[path] = ["file", mode, content, EPOCH]
    return {path: tree[path] for path in sorted(tree)}


def same_rows(lines: list[str], expected: list[str]) -> bool:
    """Whether two lists of comma-separated lines are equal, with numbers compared as numbers: 7.50 is 7.5."""
    return [_parse_row(line) for line in lines] == [_parse_row(line) for line in expected]


def _parse_row(line: str) -> list[str | float]:
    return [_parse_cell(part.strip()) for part in line.split(",")]


def _parse_cell(text: str) -> str | float:
    try:
        return round(float(text), 6)
    except ValueError:
        return text


def gzip_file(content: bytes) -> bytes:
    """A gzip file (RFC 1952) in stored blocks (RFC 1951): what a compressor writes depends on its version."""
    largest = 0xFFFF
    packed = bytearray(b"\x1f\x8b\x08" + bytes(6) + b"\xff")
    for start in range(0, max(1, len(content)), largest):
        block = content[start : start + largest]
        is_last = start + largest >= len(content)
        packed += struct.pack("<BHH", is_last, len(block), len(block) ^ 0xFFFF) + block
    return bytes(packed) + struct.pack("<II", zlib.crc32(content), len(content))
