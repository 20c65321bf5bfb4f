"""The folder of a run: the files that a training writes for those who watch it, and that others write to pause or
cancel it.

    spec.json                 the specification
    state.json                running, paused, finished, stopped, cancelled, interrupted or failed, and why
    metrics.jsonl             one object for each update
    episodes/000120.jsonl     some episodes of an update, as `gem.records.episode_files` writes them
    exams/000120.jsonl        episodes on seeds 0, 1, ... played at a checkpoint, or before the first update
    checkpoints/000120/       weights, and what is needed to resume from them
    pause, cancel             files that somebody else creates to request it

Everything is JSON or safetensors, so that reading the folder cannot run a program. This module needs no torch.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from gem.errors import UsageError
from gem.records import episode_files
from gem.training.spec import MACHINE_SETTINGS, TrainingSpec, read_spec

if TYPE_CHECKING:
    from gem.training.collecting.batch import PlayedEpisode

FAILED_BATCH = "failed-batch"
"""The name, among the episodes, of the batch whose gradient was not finite; its update is the one that failed."""
RENAMED_METRICS = {"flat": "zero_advantage_share"}
"""Present names of metrics by the names that earlier versions wrote."""
ADDED_METRICS = {"retried_success": 0.0, "replaced": 0.0, "continuations": 0.0, "forks_differ": 0.0}
"""Metrics that earlier versions did not write, with the values that they would have had."""
State = Literal["running", "paused", "finished", "stopped", "cancelled", "interrupted", "failed"]


class RunFolder:
    """Reads and writes the files of one run."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.checkpoints = self.path / "checkpoints"
        self._metrics = self.path / "metrics.jsonl"

    def begin(self, spec: TrainingSpec) -> None:
        """Make the folder for a specification, unless it exists.

        Raises:
            UsageError: if it holds another training.
        """
        for folder in (self.path, self.checkpoints, self.path / "episodes", self.path / "exams"):
            folder.mkdir(parents=True, exist_ok=True)
        stored = self.spec()
        if stored is None:
            write_atomically(self.path / "spec.json", spec.model_dump_json(indent=2) + "\n")
        elif stored != spec:
            raise UsageError(f"{self.path} holds another training: go on with its own spec.json, or name a new folder.")

    def spec(self) -> TrainingSpec | None:
        """The stored specification, None in an empty folder.

        Raises:
            UsageError: if the file cannot be read or its content is invalid.
        """
        path = self.path / "spec.json"
        try:
            return read_spec(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError(f"{path} cannot be read: {error}.") from error

    def extend(self, spec: TrainingSpec) -> None:
        """Store a specification with more updates or other settings of the machine, before the training resumes.

        Raises:
            UsageError: if it changes any other setting, or has fewer updates, or another process trains here now.
        """
        with self.lock():
            stored = self.spec()
            changes = {name: getattr(spec, name) for name in ("updates", *MACHINE_SETTINGS)}
            if stored is None or spec.updates < stored.updates or spec != stored.model_copy(update=changes):
                raise UsageError(
                    "A training goes on as it began: only more updates may be asked for, as --set updates=200, and "
                    f"settings of the machine: {', '.join(MACHINE_SETTINGS)}. For others begin one in a new folder."
                )
            write_atomically(self.path / "spec.json", spec.model_dump_json(indent=2) + "\n")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from training in this folder within the context.

        Raises:
            UsageError: if another process trains in it.
        """
        with (self.path / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UsageError(f"Another process trains in {self.path}.") from error
            yield

    def set_state(self, state: State, update: int, reason: str = "") -> None:
        """Write the state of the training to `state.json`.

        Args:
            update: number of updates made.
            reason: why the training failed or stopped by itself, in a sentence.
        """
        content = {"state": state, "update": update, "reason": reason, "time": time.time(), "pid": os.getpid()}
        write_atomically(self.path / "state.json", json.dumps(content) + "\n")

    def state(self) -> dict[str, Any]:
        """The content of `state.json`; empty before the first call of `set_state`."""
        with suppress(FileNotFoundError):
            return dict(json.loads((self.path / "state.json").read_text(encoding="utf-8")))
        return {}

    def has_request(self, name: Literal["pause", "cancel"]) -> bool:
        """Whether somebody created a file of this name in the folder."""
        return (self.path / name).exists()

    def add_metrics(self, row: Mapping[str, float]) -> None:
        """Append the metrics of one update."""
        with self._metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """The metrics of all updates, under their present names; a line that was not written to its end is left out."""
        rows = []
        with suppress(FileNotFoundError):
            for line in self._metrics.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):
                    row: dict[str, Any] = json.loads(line)
                    rows.append(ADDED_METRICS | {RENAMED_METRICS.get(name, name): value for name, value in row.items()})
        return rows

    def discard_after(self, update: int) -> None:
        """Remove what was written about later updates, which will be made again."""
        rows = [row for row in self.metrics() if row["update"] <= update]
        write_atomically(self._metrics, "".join(json.dumps(row) + "\n" for row in rows))
        (self.path / "episodes" / f"{FAILED_BATCH}.jsonl").unlink(missing_ok=True)
        for path in self.path.glob("e*s/*.jsonl"):
            if path.stem.isdecimal() and int(path.stem) > update:
                path.unlink()

    def has_exam(self, update: int) -> bool:
        """Whether the exam was played after this update; 0 is before the first."""
        return (self.path / "exams" / f"{update_name(update)}.jsonl").exists()

    def write_episodes(
        self, update: int, episodes: Iterable[PlayedEpisode], agent: str, name: str = "", folder: str = "episodes"
    ) -> Path:
        """Write episodes of an update, each with its group and the group's seed; return the file's path.

        Args:
            agent: the agent's name in the records.
            name: the file's name without its ending; the default is the update's number.
        """
        path = self.path / folder / f"{name or update_name(update)}.jsonl"
        with atomic_file(path) as file:
            for episode in episodes:
                record = episode.record
                data = json.loads(episode_files.episode_line(record, agent))
                data |= {"update": update, "group": episode.group, "group_seed": record.identity.seed}
                file.write((json.dumps(data, ensure_ascii=False) + "\n").encode())
        return path


def update_name(update: int) -> str:
    """The number of an update in names of files, padded so that names sort as numbers."""
    return f"{update:06d}"


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader finds either the old content or the new, never a part of it."""
    with atomic_file(path) as file:
        file.write(text.encode())


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which gets its name at the end of the context, when its content is on the disk."""
    draft = path.with_name(f".{path.name}.new")
    try:
        with draft.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
