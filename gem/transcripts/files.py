"""Files with transcripts, told apart by what is in them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from gem.core import Info
from gem.errors import GemError, InvalidData
from gem.records.episode_files import parse_line
from gem.seats import observation_for_seat
from gem.transcripts import inspect_log
from gem.transcripts.samples import digest_of, of_sample
from gem.transcripts.transcript import Message, Transcript, extra_of, text_of

SETTINGS = ("task_version", "task_args", "dataset", "config")
"""What is kept of the header of a log of Inspect."""
MAX_LINE_BYTES = 64 * 2**20
OF_VERIFIERS = {"sample_id", "example_id", "rollout_number", "stop_condition", "is_completed", "trajectory"}
"""Fields that rows of verifiers have, and those of others have not."""
SAID = {"messages", "prompt", "completion", "trajectory"}
"""Fields with what was said. A line with none of them is no transcript."""


class Header(BaseModel):
    """What a file says of the whole evaluation."""

    source: Literal["inspect", "verifiers", "gem", "file"]
    """The program that wrote it; `file` for JSON lines of any other."""
    name: str = ""
    """What the file calls the evaluation; empty if it does not say."""
    model: str = ""
    key: str = ""
    """What the program calls the evaluation."""
    metrics: dict[str, float] = {}
    """Results as the program has computed them."""
    config: dict[str, Any] = {}


def read(path: Path) -> tuple[Header, Iterator[Transcript]]:
    """The evaluation in a file, and its episodes one after the other.

    Raises:
        InvalidData: if the file is none of those that are known. Reading on can raise it too.
    """
    if zipfile.is_zipfile(path) or _begins_with_object(path, "eval"):
        return _inspect_header(inspect_log.header_of(path)), inspect_log.transcripts(path)
    first = next(_lines(path), None)
    if first is None:
        raise InvalidData(f"{path.name} has no lines.")
    if "identity" in first or "first_observation" in first or "engine" in first:
        return Header(source="gem", model=str(first.get("agent", ""))), _episodes(path)
    source: Literal["verifiers", "file"] = "verifiers" if OF_VERIFIERS & first.keys() else "file"
    return Header(source=source), _rows(path)


def _begins_with_object(path: Path, name: str) -> bool:
    """Whether a file is one JSON document with this entry near its beginning, and not JSON lines."""
    with path.open("rb") as file:
        start = file.read(4096)
    return f'"{name}"'.encode() in start and start.lstrip()[:1] == b"{" and b'"version"' in start


def _inspect_header(log: Mapping[str, Any]) -> Header:
    about = log["eval"]
    results = log.get("results") or {}
    metrics: dict[str, float] = {}
    for score in results.get("scores") or []:
        for name, metric in (score.get("metrics") or {}).items():
            if isinstance(metric, Mapping) and isinstance(metric.get("value"), int | float):
                metrics[f"{score.get('name')}/{name}"[:120]] = float(metric["value"])
    return Header(
        source="inspect",
        name=str(about.get("task", ""))[:120],
        model=str(about.get("model", ""))[:120],
        key=str(about.get("eval_id") or about.get("run_id") or "")[:80],
        metrics=metrics,
        config=extra_of({name: about.get(name) for name in SETTINGS}),
    )


def _episodes(path: Path) -> Iterator[Transcript]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _of_episode(line, f"{path.name}, line {number}")


def _of_episode(line: bytes, place: str) -> Transcript:
    """An episode of the engine as a conversation: what the agent's seat reads is what the user says."""
    try:
        stored = parse_line(line, place)
    except GemError as error:
        raise InvalidData(str(error)) from error
    record = stored.record
    messages, observation, info = list[Message](), record.first_observation, record.first_info
    for turn in record.turns:
        if turn.seat in (None, record.seat):
            messages.append(_read_by(record.seat, observation, info))
            reasoning = text_of(turn.extra.get("reasoning"))
            messages.append(Message(role="assistant", content=text_of(turn.action), reasoning=reasoning))
        observation, info = turn.observation, turn.info
    messages.append(_read_by(record.seat, observation, info))
    return Transcript(
        key=stored.digest or digest_of(line.decode("utf-8", "replace")),
        example=f"seed {record.identity.seed}",
        env_id=record.identity.env_id,
        messages=messages[:400],
        left_out=max(0, len(messages) - 400),
        reward=record.total_reward,
        solved=record.success,
        error=record.failure,
    )


def _read_by(seat: int, observation: str, info: Info) -> Message:
    return Message(role="user", content=text_of(observation_for_seat(seat, observation, info)[0]))


def _rows(path: Path) -> Iterator[Transcript]:
    for number, line in enumerate(_lines(path), start=1):
        if not SAID & line.keys():
            raise InvalidData(
                f"{path.name}, row {number} is no transcript: it has neither messages nor a prompt and a completion."
            )
        yield of_sample(line)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if not line.strip():
                continue
            try:
                value = json.loads(line) if len(line) <= MAX_LINE_BYTES else None
            except (ValueError, RecursionError) as error:
                raise InvalidData(f"{path.name}, line {number} is not JSON: {str(error)[:200]}.") from error
            if not isinstance(value, dict):
                raise InvalidData(f"{path.name}, line {number} is no object, or it is too long.")
            yield value
