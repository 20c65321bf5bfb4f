"""What doors pass on, cleaned: numbers by name, conversations and tables, and what is not kept."""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apps.curves.models import MAX_METRIC, Transcript
from apps.episodes.text import shortened, storable, storable_json

MAX_STEP = 2**53
MAX_DEPTH = 4
MAX_MESSAGES, MAX_MESSAGE, MAX_ROWS, MAX_CELL = 200, 20_000, 200, 4_000
"""Messages of a conversation, characters of each, rows of a table, and characters of each cell."""
NOT_NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf, "nan": math.nan, "inf": math.inf}
TRACE, TABLE = "trackio.trace", "trackio.table"
MEDIA, TEXTS, LONG_NAMES = "media", "texts", "long names"
NO_MEDIA = "Images, files, histograms and hardware usage were sent too; only numbers and transcripts are stored."
NO_TEXTS = "Some metrics were texts; they are not drawn."
SHORTENED = f"Names of metrics have at most {MAX_METRIC} characters; the ends of longer ones were replaced by a digest."


@dataclass(frozen=True, slots=True)
class Sent:
    """An entry as a door has read it."""

    metrics: Mapping[str, Any]
    step: int | None = None
    """None for the step after the last one."""
    key: str = ""
    """What its program calls it; if empty, equal entries are one."""
    time: float | None = None
    """Seconds since 1970; None for now."""


@dataclass(slots=True)
class Kept:
    """A conversation or a table."""

    kind: Transcript.Kind
    name: str
    data: dict[str, Any]


@dataclass(slots=True)
class Cleaned:
    """What of an entry is kept."""

    numbers: dict[str, float] = field(default_factory=dict)
    kept: list[Kept] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)


def key_of(sent: Sent) -> uuid.UUID:
    """What is the same for an entry that is sent again."""
    if len(sent.key) == 32:  # what trackio sends
        try:
            return uuid.UUID(sent.key)
        except ValueError:
            pass
    text = sent.key or json.dumps([sent.step, sent.time, sent.metrics], sort_keys=True, default=str)
    digest = hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).digest()
    return uuid.UUID(bytes=digest)


def clean(metrics: Mapping[str, Any], step: int) -> Cleaned:
    """The numbers of an entry, with the names of nested ones joined by slashes, and its transcripts."""
    found = Cleaned()
    _collect(metrics.items(), "", step, found, MAX_DEPTH)
    return found


def _collect(items: Iterable[tuple[Any, Any]], before: str, step: int, found: Cleaned, depth: int) -> None:
    for key, value in items:
        name = storable(f"{before}{key}")
        if len(name) > MAX_METRIC:
            name, found.notes[LONG_NAMES] = _shortened(name), SHORTENED
        if isinstance(value, int | float):
            _add_number(name, value, step, found)
        elif isinstance(value, str):
            if value in NOT_NUMBERS:
                _add_number(name, NOT_NUMBERS[value], step, found)
            else:
                found.notes[TEXTS] = NO_TEXTS
        elif isinstance(value, Mapping):
            _collect_object(name, value, step, found, depth)
        elif value is not None:
            found.notes[MEDIA] = NO_MEDIA


def _shortened(name: str) -> str:
    """The name of a metric at its greatest length; names that begin alike stay different."""
    digest = hashlib.blake2b(name.encode("utf-8", "backslashreplace"), digest_size=4).hexdigest()
    return f"{name[: MAX_METRIC - len(digest) - 1]}…{digest}"


def _add_number(name: str, value: float, step: int, found: Cleaned) -> None:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isfinite(number):
        found.numbers[name] = number
    else:
        found.notes[name] = f"{name} was not a finite number ({number}) at step {step:,}."


def _collect_object(name: str, value: Mapping[str, Any], step: int, found: Cleaned, depth: int) -> None:
    kind = value.get("_type")
    if kind == TRACE and isinstance(value.get("messages"), list):
        found.kept.append(Kept(Transcript.Kind.TRACE, name, _conversation(value)))
    elif kind == TABLE and isinstance(value.get("_value"), list):
        found.kept.append(Kept(Transcript.Kind.TABLE, name, _table(value["_value"])))
    elif kind is not None or not depth:
        found.notes[MEDIA] = NO_MEDIA
    else:
        _collect(value.items(), f"{name}/", step, found, depth - 1)


def _conversation(value: Mapping[str, Any]) -> dict[str, Any]:
    messages = [message for message in value["messages"] if isinstance(message, Mapping)]
    metadata = value.get("metadata")
    return {
        "messages": [_message(message) for message in messages[:MAX_MESSAGES]],
        "left_out": max(0, len(messages) - MAX_MESSAGES),
        "metadata": _cells(metadata) if isinstance(metadata, Mapping) else {},
    }


def _message(message: Mapping[str, Any]) -> dict[str, str]:
    return {
        "role": storable(str(message.get("role", "")))[:40],
        "content": _text(message.get("content"), MAX_MESSAGE),
        "reasoning": _text(message.get("reasoning_content") or message.get("reasoning"), MAX_MESSAGE),
        "calls": _text(message.get("tool_calls"), MAX_MESSAGE),
    }


def _table(rows: list[Any]) -> dict[str, Any]:
    shown = [_cells(row) for row in rows[:MAX_ROWS] if isinstance(row, Mapping)]
    columns = list(dict.fromkeys(name for row in shown for name in row))
    cells = [[row.get(name, "") for name in columns] for row in shown]
    return {"columns": columns, "rows": cells, "left_out": max(0, len(rows) - len(shown))}


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    items = list(row.items())[:MAX_ROWS]
    return {storable(str(name))[:MAX_METRIC]: _text(value, MAX_CELL) for name, value in items}


def _text(value: Any, limit: int) -> str:
    """A value as text that can be stored. The parts of a message that are texts are joined."""
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(part, Mapping) and "text" in part for part in value):
        value = "\n".join(str(part["text"]) for part in value)
    if not isinstance(value, str):
        value = json.dumps(storable_json(value), ensure_ascii=False)
    return shortened(storable(value), limit)
