"""Files of trainers: which there are, and what they say."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from gem.curves.entries import LoggedEntry
from gem.curves.tensorboard import EventFile
from gem.errors import InvalidData, UsageError

EVENTS = "*tfevents*"
STEPS = ("step", "_step", "global_step", "update", "iteration", "train/global_step")
TIMES = ("time", "_timestamp", "timestamp", "wall_time", "_time")
KEYS = ("id", "log_id")
MAX_STEP = 2**53


class LogFile(Protocol):
    """A file that can be read while it grows."""

    path: Path

    def read(self) -> list[LoggedEntry]:
        """What was written since the last call.

        Raises:
            InvalidData: if the file cannot be read as what it is.
        """
        ...


def find_logs(path: Path) -> dict[Path, list[Path]]:
    """The files of each training at a path: a file, or a folder with event files or files of JSON lines in it.

    Raises:
        UsageError: if there are none.
    """
    if path.is_file():
        return {path: [path]}
    found: dict[Path, list[Path]] = {}
    for file in sorted(path.rglob(EVENTS)):
        found.setdefault(file.parent, []).append(file)
    for file in sorted(path.rglob("*.jsonl")):
        found.setdefault(file, []).append(file)
    if not found:
        raise UsageError(f"{path} has neither event files of TensorBoard nor files that end with .jsonl.")
    return found


def open_log(path: Path) -> LogFile:
    """Open a file by its name: an event file, a file of JSON lines, or one JSON document."""
    if "tfevents" in path.name:
        return EventFile(path)
    return JsonDocument(path) if path.suffix == ".json" else JsonLines(path)


class JsonLines:
    """Reads a file with one JSON object on each line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._number = 0

    def read(self) -> list[LoggedEntry]:
        """See `LogFile.read`. A line without its end waits for the next call."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            content = file.read()
        lines, _, _ = content.rpartition(b"\n")
        if not lines:
            return []
        self._offset += len(lines) + 1
        entries = []
        for line in lines.split(b"\n"):
            self._number += 1
            if line.strip():
                entries.append(_entry(_parsed(line, self.path, self._number), self.path))
        return entries


class JsonDocument:
    """Reads one JSON document: a list of entries, or an object with such a list, as `trainer_state.json` has."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0

    def read(self) -> list[LoggedEntry]:
        """See `LogFile.read`."""
        value = _parsed(self.path.read_bytes(), self.path, 1)
        if isinstance(value, dict):
            value = next((each for name, each in value.items() if name in ("log_history", "entries", "logs")), [value])
        if not isinstance(value, list):
            raise InvalidData(f"{self.path} has to be a list of entries.")
        new, self._read = value[self._read :], len(value)
        return [_entry(each, self.path) for each in new]


def _parsed(text: bytes, path: Path, number: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidData(f"{path}, line {number} is not JSON: {error}.") from error


def _entry(value: Any, path: Path) -> LoggedEntry:
    """An entry of a JSON file: its step, time and id, and all else as metrics."""
    if not isinstance(value, Mapping):
        raise InvalidData(f"{path}: an entry has to be an object with metrics, not {type(value).__name__}.")
    step, time, key = (next((name for name in names if name in value), "") for names in (STEPS, TIMES, KEYS))
    metrics = {name: each for name, each in value.items() if name not in {step, time, key}}
    found = value.get(step)
    is_step = isinstance(found, int | float) and not isinstance(found, bool) and abs(found) <= MAX_STEP
    when = value.get(time)
    return LoggedEntry(
        metrics=metrics,
        step=int(found) if is_step and found is not None else None,
        time=float(when) if isinstance(when, int | float) and not isinstance(when, bool) else None,
        key=str(value.get(key) or ""),
    )
