"""Episodes into a file as they end: one line each, which `gemweb replay FILE` executes again and compares."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any, BinaryIO

from gem.core import Env, EnvWrapper, Info, State, Step
from gem.errors import InvalidArgument, UsageError
from gem.records import EpisodeRecord, Identity, TurnRecord
from gem.validation.values import plain_value
from gem.wrappers.describe import describe


class RecordEpisodes(EnvWrapper):
    """Adds every episode that ends to a file, as `gem.records.episode_files` writes them.

    What is recorded is what passes through this place: put it outside the wrappers that belong to the episode.
    An episode that is left before its end is not written. Several environments may write to the same file; what a
    killed one has left of a line is removed before the next.

    Args:
        path: the file; it is made with the first episode.
        agent: the name of the agent that plays, for readers of the file.

    Raises:
        InvalidArgument: if the environment was not made by `gem.make`, or of plain data, or a wrapper inside has no
            name, so that nobody could make the same again.
    """

    def __init__(self, env: Env, path: str | Path, agent: str = "") -> None:
        super().__init__(env)
        self.path, self.agent = Path(path), agent
        if env.unwrapped.spec is None:
            raise InvalidArgument("Only an environment made by gem.make can be recorded: its id names it.")
        self._wrappers = describe(env)
        try:
            json.dumps(env.unwrapped.env_kwargs, default=plain_value)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(
                f"{env.unwrapped.spec.id} cannot be recorded, because an argument of it is no plain data: {error}. "
                "Give a path as text and a tool by its registered name."
            ) from error
        self._first: tuple[str, Info] | None = None
        self._turns: list[tuple[str, str, float, Info]] = []
        self.episodes = 0
        """How many this wrapper has written."""

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`."""
        self._first = self.env.reset(seed=seed)
        self._turns = []
        return self._first

    def step(self, action: str) -> Step:
        """As `Env.step`; the last turn is on disk when it returns.

        Raises:
            UsageError: if the file cannot be written.
        """
        try:
            step = self.env.step(action)
        except UsageError:
            raise
        except Exception as error:  # whatever an environment raises is part of its record, and goes on
            self._write(failure=f"{type(error).__name__}: {error}")
            raise
        observation, reward, terminated, truncated, info = step
        self._turns.append((action, observation, reward, info))
        if terminated or truncated:
            self._write(terminated=terminated, truncated=truncated, success=bool(info.get("success", False)))
        return step

    def _write(self, **ended: Any) -> None:
        from gem.records import episode_files  # noqa: PLC0415 (Pydantic takes long to import)

        if self._first is None:
            return
        record = EpisodeRecord(
            index=self.episodes,
            identity=self._identity(),
            first_observation=self._first[0],
            first_info=self._first[1],
            turns=[TurnRecord(*turn) for turn in self._turns],
            max_turns=self.env.max_turns,
            **ended,
        )
        line = episode_files.episode_line(record, self.agent)
        try:
            with self.path.open("ab") as file:
                _lock(file)
                if not _ends_with_a_line(self.path):
                    episode_files.repair_last_line(self.path)
                file.write(line.encode())
        except OSError as error:
            raise UsageError(f"{self.path} cannot be written: {error.strerror}.") from error
        self.episodes += 1
        self._first = None

    def _identity(self) -> Identity:
        inside = self.env.unwrapped
        assert inside.spec is not None
        assert inside.seed is not None
        spec = inside.spec
        return Identity(spec.id, spec.version, inside.seed, inside.env_kwargs, inside.data_hash, self._wrappers)

    def _arguments(self) -> dict[str, Any]:
        return {"path": str(self.path), "agent": self.agent}

    def _get_own_state(self) -> State:
        kept = {"first": self._first, "turns": self._turns, "episodes": self.episodes}
        state: State = json.loads(json.dumps(kept, default=plain_value))
        return state

    def _set_own_state(self, state: State) -> None:
        first = state["first"]
        self._first = None if first is None else (first[0], first[1])
        self._turns = [(turn[0], turn[1], turn[2], turn[3]) for turn in state["turns"]]
        self.episodes = state["episodes"]


def _lock(file: BinaryIO) -> None:
    """Let nobody else write to a file until it is closed, where the system and the file system can."""
    try:
        import fcntl  # noqa: PLC0415 (not on Windows)
    except ImportError:
        return
    with contextlib.suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX)


def _ends_with_a_line(path: Path) -> bool:
    """Whether a file is empty or ends with a line break; true of what is no file, such as a pipe."""
    if not path.is_file() or not path.stat().st_size:
        return True
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"
