"""Episodes in files, with one JSON object on each line.

The objects have the fields of the documents that the web application offers for download. Both forms of these documents
can be read as well: one JSON document, or JSON lines with the episode first and then each turn.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gem import seats
from gem.errors import UsageError
from gem.records.episode import EpisodeRecord, Identity, StoredEpisode, TurnRecord
from gem.validation.values import plain_value
from gem.version import __version__

LINE_PREFIX = b'{"env_id": '
"""The beginning of every line that `episode_line` returns."""
NOT_JSON = (ValueError, RecursionError)
"""The exceptions that `json.loads` raises."""


class UnreadableEpisode(UsageError):
    """A file has no episodes, or damaged ones; the message names the place in the file."""


def episode_line(
    record: EpisodeRecord,
    agent: str,
    opponent: str = "",
    set_up: Mapping[str, Any] | None = None,
    *,
    engine_version: str = __version__,
    **proof: Any,
) -> str:
    """Return the episode as one line of a file, including the newline.

    NumPy's scalars and arrays are written as numbers and lists. An episode with an info that JSON cannot hold
    otherwise is written as failed at that turn.

    Args:
        opponent: the agent in all seats but that of the record.
        set_up: the settings of the agent, if its name does not imply them.
        engine_version: the engine that played it.
        proof: `digest` and `inclusion`, if the episode belongs to a row (see `gem.verification.digests`).
    """
    return line_and_record(record, agent, opponent, set_up, engine_version=engine_version, **proof)[0]


def line_and_record(
    record: EpisodeRecord,
    agent: str,
    opponent: str = "",
    set_up: Mapping[str, Any] | None = None,
    *,
    engine_version: str = __version__,
    **proof: Any,
) -> tuple[str, EpisodeRecord]:
    """Return the line of an episode, and the record that is in it, which is another one if this one cannot be written.

    Args: see `episode_line`.
    """
    options = {"engine_version": engine_version, **proof}
    try:
        return _line(record, agent, opponent, set_up, **options), record
    except (TypeError, *NOT_JSON):
        failed = _failed_where_unwritable(record)
        if failed is None:
            raise
    return _line(failed, agent, opponent, set_up, **options), failed


def _failed_where_unwritable(record: EpisodeRecord) -> EpisodeRecord | None:
    """The episode as failed at the first info that cannot be written as JSON; None if all can."""
    for number, info in enumerate(record.infos):
        try:
            json.dumps(info, default=plain_value)
        except (TypeError, *NOT_JSON) as error:
            label = f"Turn {number}" if number else "reset()"
            failed = replace(
                record,
                turns=record.turns[: max(number - 1, 0)],
                terminated=False,
                truncated=False,
                success=None,
                cut="",
                failure=f"{label} has an info that cannot be written as JSON: {error}.",
                failed_by="environment",
            )
            return failed if number else replace(failed, first_observation="", first_info={})
    return None


def _line(
    record: EpisodeRecord,
    agent: str,
    opponent: str,
    set_up: Mapping[str, Any] | None,
    *,
    engine_version: str,
    **proof: Any,
) -> str:
    data = {
        **asdict(record.identity),
        "agent": agent,
        "opponent": opponent,
        **({} if set_up is None else {"agent_set_up": dict(set_up)}),
        "seat": record.seat,
        "index": record.index,
        **({"repeat": record.repeat} if record.repeat else {}),
        "engine_version": engine_version,
        "python_version": platform.python_version(),
        "terminated": record.terminated,
        "truncated": record.truncated,
        **({"cut": record.cut} if record.cut else {}),
        "success": record.success,
        "failure": record.failure,
        "failed_by": record.failed_by,
        "total_reward": record.total_reward,
        "total_rewards": record.total_rewards,
        "turn_count": record.turn_count,
        "max_turns": record.max_turns,
        "first_observation": record.first_observation,
        "first_info": record.first_info,
        **proof,
        "turns": [{"turn": number, **asdict(turn)} for number, turn in enumerate(record.turns, start=1)],
    }
    line = json.dumps(data, ensure_ascii=False, default=plain_value)
    try:
        line.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 has not, and an escape has
        line = json.dumps(data, default=plain_value)
    return line + "\n"


def read(path: Path | str) -> Iterator[StoredEpisode]:
    """Yield the episodes of a file, which may have any of the three layouts.

    Raises:
        UnreadableEpisode: if the file cannot be read or has other content.
    """
    path = Path(path)
    episode: dict[str, Any] | None = None
    name = ""
    for place, data in _iter_objects(path):
        if episode is not None and "env_id" not in data and "action" in data:
            episode.setdefault("turns", []).append(data)
            continue
        if episode is not None:
            yield _parse_episode(path, name, episode)
        episode, name = data, place
    if episode is None:
        raise UnreadableEpisode(f"{path} is empty.")
    yield _parse_episode(path, name, episode)


def parse_line(text: bytes, place: str) -> StoredEpisode:
    """Read an episode from one line, as `episode_line` writes it.

    Args:
        place: what messages call the line, such as "line 3".

    Raises:
        UnreadableEpisode: if the line is something else.
    """
    try:
        data = json.loads(text)
    except NOT_JSON as error:
        raise UnreadableEpisode(f"The file, {place} is not JSON: {error}.") from error
    return _parse_episode(Path("The file"), place, _check_object(Path("The file"), place, data))


def repair_last_line(path: Path) -> None:
    """Remove an incomplete last line, which a killed writer leaves behind, or add the newline that it lacks.

    Files whose last line does not begin like an episode stay as they are.
    """
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    last_line = content[end:]
    if not last_line:
        return
    if not last_line.startswith(LINE_PREFIX[: len(last_line)]):
        return
    try:
        json.loads(last_line)
    except NOT_JSON:
        with path.open("r+b") as file:
            file.truncate(end)
    else:
        with path.open("ab") as file:
            file.write(b"\n")


# ------------------------------------------------------------------ the content of a file


class _Turn(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)

    action: str
    observation: str
    reward: float
    info: dict[str, Any]
    seat: int | None = Field(default=None, ge=0)
    extra: dict[str, Any] | None = None


class _Episode(BaseModel):
    """The fields of an episode that are read. Further fields, such as its owner and its date, are ignored."""

    model_config = ConfigDict(strict=True, frozen=True)

    env_id: str
    env_version: int
    seed: int = Field(ge=0)
    first_observation: str
    first_info: dict[str, Any] = {}
    turns: list[_Turn] = []
    env_kwargs: dict[str, Any] = {}
    data_hash: str = ""
    wrappers: list[dict[str, Any]] = []
    id: str = ""
    agent: str = ""
    opponent: str = ""
    agent_set_up: dict[str, Any] | None = None
    engine_version: str = ""
    seat: int = Field(default=0, ge=0)
    seats: list[dict[str, Any]] = []
    index: int = 0
    repeat: int = Field(default=0, ge=0)
    terminated: bool
    truncated: bool
    cut: Literal["", "tokens", "money"] = ""
    success: bool | None = None
    failure: str = ""
    failed_by: Literal["", "environment", "agent"] = ""
    turn_count: int | None = None
    max_turns: int = 0
    digest: str = ""
    inclusion: dict[str, Any] | None = None


def _parse_episode(path: Path, place: str, data: dict[str, Any]) -> StoredEpisode:
    try:
        episode = _Episode.model_validate(data)
    except ValidationError as error:
        detail = error.errors()[0]
        field_path = ".".join(map(str, detail["loc"]))
        raise UnreadableEpisode(f"{path}, {place} is not an episode: {field_path}: {detail['msg'].lower()}.") from error
    turn_count = len(episode.turns)
    if episode.turn_count not in (None, turn_count):
        raise UnreadableEpisode(
            f"{path}, {place}: the episode has {episode.turn_count} turns, the file {turn_count} of it."
        )
    if any(episode.seat >= len(seats.rewards(turn.reward, turn.info)) for turn in episode.turns):
        raise UnreadableEpisode(
            f"{path}, {place}: the episode is said to be of seat {episode.seat}, which it does not have."
        )
    identity = Identity(
        episode.env_id, episode.env_version, episode.seed, episode.env_kwargs, episode.data_hash, episode.wrappers
    )
    record = EpisodeRecord(
        index=episode.index,
        identity=identity,
        first_observation=episode.first_observation,
        first_info=episode.first_info,
        turns=[
            TurnRecord(turn.action, turn.observation, turn.reward, turn.info, turn.seat, turn.extra or {})
            for turn in episode.turns
        ],
        terminated=episode.terminated,
        truncated=episode.truncated,
        cut=episode.cut,
        success=episode.success,
        failure=episode.failure,
        failed_by=episode.failed_by or ("environment" if episode.failure else ""),
        max_turns=episode.max_turns,
        seat=episode.seat,
        repeat=episode.repeat,
    )
    agents = [str(seat.get("agent", "")) for seat in episode.seats]
    names, opponent = ", ".join(agents), episode.opponent
    if "seat" in data and episode.seat < len(agents):  # otherwise the file does not say whose episode it is
        names = agents.pop(episode.seat)
        opponent = opponent or ", ".join(dict.fromkeys(agents))
    return StoredEpisode(
        episode.id or place,
        episode.agent or names,
        record,
        opponent,
        episode.agent_set_up,
        episode.engine_version,
        episode.digest,
        episode.inclusion,
    )


def _iter_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and content of every JSON object: each line if the first line is one, else the whole file."""
    try:
        with path.open(encoding="utf-8") as file:
            number = 0
            for number, text in enumerate(file, start=1):
                if not text.strip():
                    continue
                try:
                    data = json.loads(text)
                except NOT_JSON as error:
                    if number > 1 and not text.endswith("\n"):
                        raise UnreadableEpisode(
                            f"{path} ends in the middle of line {number}, as if its writer had been killed. Remove the "
                            "line, or run the evaluation that wrote the file again: it continues after the last "
                            "complete line."
                        ) from error
                    if number > 1:
                        raise UnreadableEpisode(f"{path}, line {number} is not JSON: {error}.") from error
                    break
                if number == 1 and isinstance(data, list):
                    break
                yield f"line {number}", _check_object(path, f"line {number}", data)
            else:
                return
            for place, data in _iter_documents(path, text + file.read()):  # a pipe cannot be read from its start again
                yield place, _check_object(path, place, data)
    except OSError as error:
        raise UnreadableEpisode(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UnreadableEpisode(f"{path} is not a text file in UTF-8.") from error


def _iter_documents(path: Path, text: str) -> Iterator[tuple[str, Any]]:
    try:
        data = json.loads(text)
    except NOT_JSON as error:
        raise UnreadableEpisode(f"{path} is not JSON: {error}.") from error
    documents = data if isinstance(data, list) else [data]
    for number, document in enumerate(documents, start=1):
        yield f"episode {number}", document


def _check_object(path: Path, place: str, data: Any) -> dict[str, Any]:
    if not isinstance(data, dict) or not {"env_id", "action"} & data.keys():
        raise UnreadableEpisode(f"{path}, {place} is neither an episode nor a turn.")
    return data
