"""The folder of a run: what a training writes for whoever watches it, and how it is told to stop.

    spec.json                 what was asked for
    state.json                running, paused, finished, cancelled, interrupted or failed, and why
    metrics.jsonl             one object for each update
    episodes/000120.jsonl     some episodes of an update, as `gem.records.episode_files` writes them
    exams/000120.jsonl        seeds 0, 1, ... played with the weights after an update that has a checkpoint
    checkpoints/000120/       weights and what goes on from them
    pause, cancel             files that somebody puts there

Everything is JSON or safetensors; nothing that is read can run. This module needs no torch.
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
from gem.training.spec import OF_THE_MACHINE, TrainingSpec, read_spec

if TYPE_CHECKING:
    from gem.training.collector import PlayedEpisode

FAILED_BATCH = "failed-batch"
"""The name of the batch from which nothing could be learned, among the episodes; its update is the one that failed."""
RENAMED_METRICS = {"flat": "zero_advantage_share"}
"""Metrics by the names that earlier versions wrote, and their names now."""
State = Literal["running", "paused", "finished", "cancelled", "interrupted", "failed"]


class RunFolder:
    """One run's files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self._metrics = path / "metrics.jsonl"

    def begin(self, spec: TrainingSpec) -> None:
        """Make the folder for a specification, or find it there already.

        Raises:
            UsageError: if another training is in it.
        """
        for folder in (self.path, self.checkpoints, self.path / "episodes", self.path / "exams"):
            folder.mkdir(parents=True, exist_ok=True)
        stored = self.spec()
        if stored is None:
            write_whole(self.path / "spec.json", spec.model_dump_json(indent=2) + "\n")
        elif stored != spec:
            raise UsageError(f"{self.path} holds another training: go on with its own spec.json, or name a new folder.")

    def spec(self) -> TrainingSpec | None:
        """What was asked for, None in an empty folder.

        Raises:
            UsageError: if the file cannot be read or its content is refused.
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
        """Have the training go on for as many updates, and with the settings of the machine, as the specification says.

        Raises:
            UsageError: if it changes anything else, or has fewer updates, or somebody trains here now.
        """
        with self.alone():
            stored = self.spec()
            if (
                stored is None
                or spec.updates < stored.updates
                or spec
                != stored.model_copy(update={name: getattr(spec, name) for name in ("updates", *OF_THE_MACHINE)})
            ):
                raise UsageError(
                    "A training goes on as it began: only more updates may be asked for, as --set updates=200, and "
                    f"settings of the machine: {', '.join(OF_THE_MACHINE)}. For others begin one in a new folder."
                )
            write_whole(self.path / "spec.json", spec.model_dump_json(indent=2) + "\n")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Within, nobody else trains in this folder.

        Raises:
            UsageError: if somebody does.
        """
        with (self.path / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise UsageError(f"Another process trains in {self.path}.") from error
            yield

    def set_state(self, state: State, update: int, reason: str = "") -> None:
        """Write down how the training is."""
        said = {"state": state, "update": update, "reason": reason, "time": time.time(), "pid": os.getpid()}
        write_whole(self.path / "state.json", json.dumps(said) + "\n")

    def state(self) -> dict[str, Any]:
        """What `set_state` wrote last; empty before."""
        with suppress(FileNotFoundError):
            return dict(json.loads((self.path / "state.json").read_text(encoding="utf-8")))
        return {}

    def asks(self, what: Literal["pause", "cancel"]) -> bool:
        """Whether somebody put a file of this name into the folder."""
        return (self.path / what).exists()

    def add_metrics(self, row: Mapping[str, float]) -> None:
        """Add the point of one update."""
        with self._metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def metrics(self) -> list[dict[str, Any]]:
        """The points so far, under the names that metrics have now; a line that was not finished is left out."""
        rows = []
        with suppress(FileNotFoundError):
            for line in self._metrics.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):
                    row: dict[str, Any] = json.loads(line)
                    rows.append({RENAMED_METRICS.get(name, name): value for name, value in row.items()})
        return rows

    def cut_after(self, update: int) -> None:
        """Remove what was written about later updates, which will be made again."""
        kept = [row for row in self.metrics() if row["update"] <= update]
        write_whole(self._metrics, "".join(json.dumps(row) + "\n" for row in kept))
        (self.path / "episodes" / f"{FAILED_BATCH}.jsonl").unlink(missing_ok=True)
        for path in self.path.glob("e*s/*.jsonl"):
            if path.stem.isdecimal() and int(path.stem) > update:
                path.unlink()

    def write_episodes(
        self, update: int, episodes: Iterable[PlayedEpisode], agent: str, name: str = "", folder: str = "episodes"
    ) -> Path:
        """Write episodes of an update; episodes of one group have one seed, and their `group` says which."""
        path = self.path / folder / f"{name or number(update)}.jsonl"
        with whole_file(path) as file:
            for episode in episodes:
                record = episode.record
                data = json.loads(episode_files.episode_line(record, agent))
                data |= {"update": update, "group": episode.group, "group_seed": record.identity.seed}
                file.write((json.dumps(data, ensure_ascii=False) + "\n").encode())
        return path


def number(update: int) -> str:
    """An update in the name of a file, so that names sort as numbers."""
    return f"{update:06d}"


def write_whole(path: Path, text: str) -> None:
    """Write a file so that there is always a whole one under its name."""
    with whole_file(path) as file:
        file.write(text.encode())


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that gets its name when it is complete and on the disk."""
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
