"""What a task in the terminal is: a directory to begin with, an instruction, and checks of what was made of it."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gem.rng import RandomSource
from gem.sandbox.command import ShellLimits
from gem.sandbox.inside.files.tree import Tree
from gem.sandbox.shell import EPOCH, execute

Level = Literal["easy", "medium", "hard"]
Facts = dict[str, Any]
"""What was drawn, as plain JSON: what the instruction names and what the checks expect."""
Check = tuple[str, bool] | tuple[str, bool, Literal["guard"]]
"""What was looked at, in words, and whether it is right. A guard sees to it that something stayed as it was: it holds
from the beginning, so it earns nothing."""

CHECK_LIMITS = ShellLimits(seconds=10.0, output_bytes=256 << 10)


class Place:
    """The working directory as the checks see it. Nothing they do changes it."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def kind(self, path: str) -> str:
        """`file`, `bytes`, `folder` or `link`; empty if there is nothing."""
        return str(self.tree[path][0]) if path in self.tree else ""

    def text(self, path: str) -> str:
        """The content of a text file; empty if there is none."""
        return str(self.tree[path][2]) if self.kind(path) == "file" else ""

    def lines(self, path: str) -> list[str]:
        """Its lines, without blanks at their ends and without empty ones at the end."""
        return [line.rstrip() for line in self.text(path).rstrip().splitlines()]

    def mode(self, path: str) -> int:
        """The permissions; -1 if there is nothing."""
        return int(self.tree[path][1]) if path in self.tree else -1

    def files(self, below: str = "") -> list[str]:
        """Paths of all files below a folder."""
        return [path for path in self.tree if path.startswith(below) and self.kind(path) in ("file", "bytes")]

    def run(self, command: str, **files: list[Any]) -> tuple[int | None, str]:
        """What a command gives in a copy of the place, with these files besides: exit code and output.

        The expected output is compared out here: it is never where a command could read it.
        """
        done = execute(command, {**self.tree, **files}, limits=CHECK_LIMITS)
        return done.exit_code, done.output.rstrip()


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of problem; a seed makes one of its many instances."""

    name: str
    level: Level
    prepare: Callable[[RandomSource], tuple[Tree, Facts]]
    """Draws an instance: the directory to begin with, and the facts about it."""
    instruction: str
    """What is to be done; `{name}` stands for the fact of that name."""
    checks: Callable[[Facts, Place], list[Check]]
    """Each counts alike."""

    def __reduce__(self) -> tuple[Callable[[str], Task], tuple[str]]:
        """Pickled by name: its functions stay where they are."""
        return named, (self.name,)


TASKS: dict[str, Task] = {}


def add(task: Task) -> None:
    """Make a task known."""
    TASKS[task.name] = task


def named(name: str) -> Task:
    """The task of this name."""
    return TASKS[name]


def of_level(level: Level) -> list[Task]:
    """The tasks of one difficulty, in the order in which they were added."""
    return [task for task in TASKS.values() if task.level == level]


# ------------------------------------------------------------------ trees


def tree_of(files: Mapping[str, str | bytes], modes: Mapping[str, int] | None = None) -> Tree:
    """A tree with these files and the folders that they need; other modes than usual are in `modes`."""
    modes = modes or {}
    made: Tree = {}
    for path, content in files.items():
        parts = path.split("/")
        for end in range(1, len(parts)):
            above = "/".join(parts[:end])
            made.setdefault(above, ["folder", modes.get(above, 0o755), "", EPOCH])
        mode = modes.get(path, 0o644)
        if isinstance(content, bytes):
            made[path] = ["bytes", mode, base64.b64encode(content).decode(), EPOCH]
        else:
            made[path] = ["file", mode, content, EPOCH]
    return {path: made[path] for path in sorted(made)}


def same_numbers(found: list[str], wanted: list[str]) -> bool:
    """Whether two lists of lines agree, numbers compared as numbers: 7.50 is 7.5."""
    return [_cells(line) for line in found] == [_cells(line) for line in wanted]


def _cells(line: str) -> list[str | float]:
    return [_cell(part.strip()) for part in line.split(",")]


def _cell(text: str) -> str | float:
    try:
        return round(float(text), 6)
    except ValueError:
        return text
