"""Texts and values for the text format of COPY, many at a time: an evaluation stores thousands of turns a second."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from apps.episodes.text import MAX_OBSERVATION_CHARS, shortened, storable, storable_json

NULL = r"\N"
_BETWEEN_TEXTS = "\x1e"
"""Separates texts while they are escaped together. If one of them has it too, they are escaped one by one."""
_BETWEEN_VALUES = "~ next ~"
_QUOTED = f',"{_BETWEEN_VALUES}",'
"""The same for values in JSON."""
_MAY_BE_UNSTORABLE = re.compile(r"\\u(?:0000|d[89a-f])")
"""What JSON has where a string may hold characters that Postgres cannot store."""


def texts(values: Sequence[str]) -> list[str]:
    """Escape texts."""
    joined = _BETWEEN_TEXTS.join(values)
    is_plain = "\0" not in joined and joined.count(_BETWEEN_TEXTS) == len(values) - 1
    if not is_plain or max(map(len, values)) > MAX_OBSERVATION_CHARS or not _is_unicode(joined):
        return [text(value) for value in values]
    return _escape(joined).split(_BETWEEN_TEXTS)


def text(value: str) -> str:
    """Escape a text. What Postgres cannot store is replaced, and what is very long is cut off."""
    if len(value) > MAX_OBSERVATION_CHARS:
        value = shortened(value)
    return _escape(storable(value))


def json_values(values: Sequence[Any]) -> list[str]:
    """Write values as JSON, and escape it."""
    between = [_BETWEEN_VALUES] * (2 * len(values) - 1)
    between[::2] = values
    try:
        joined = _dumps(between)
    except (TypeError, ValueError):  # a value that JSON cannot hold
        return [json_value(value) for value in values]
    parts = joined[1:-1].replace("\\", "\\\\").split(_QUOTED)
    if len(parts) != len(values) or _MAY_BE_UNSTORABLE.search(joined):
        return [json_value(value) for value in values]
    return parts


def json_value(value: Any) -> str:
    """Write a value as JSON, and escape it. What JSON cannot hold becomes a string."""
    if not value:
        return "[]" if isinstance(value, list | tuple) else "{}"
    try:
        written = _dumps(value)
    except (TypeError, ValueError):
        written = _dumps(storable_json(value))
    if _MAY_BE_UNSTORABLE.search(written):
        written = _dumps(storable_json(value))
    return written.replace("\\", "\\\\")


def _is_unicode(value: str) -> bool:
    """Whether a text has no lone surrogates, which no encoding has."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escape(value: str) -> str:
    value = value.replace("\\", "\\\\")
    return value.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
