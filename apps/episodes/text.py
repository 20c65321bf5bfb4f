"""Prepare text for Postgres, which cannot store NUL characters or lone surrogates."""

from __future__ import annotations

import math
import re
from typing import Any

MAX_ACTION_BYTES = 64 * 1024
MAX_OBSERVATION_CHARS = 1024 * 1024

NUL_PICTURE = "\u2400"
REPLACEMENT = "\ufffd"


def storable(text: str) -> str:
    """`text` with NUL replaced by its symbol and lone surrogates by the replacement character."""
    if "\0" in text:
        text = text.replace("\0", NUL_PICTURE)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = "".join(REPLACEMENT if "\ud800" <= character <= "\udfff" else character for character in text)
    return text


def storable_json(value: Any) -> Any:
    """`value` with all strings made `storable`. What JSON cannot hold (NaN, a set, an array) becomes a string."""
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, dict):
        return {storable(str(key)): storable_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable_json(item) for item in value]
    return storable(str(value))


def shortened(text: str, limit: int = MAX_OBSERVATION_CHARS) -> str:
    """The first `limit` characters of `text`, with a note about how many are missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n[{len(text) - limit:,} more characters were not kept]"


def what_was_replaced(text: str) -> str:
    """A sentence that says which characters `storable` replaces in `text`; empty if none."""
    nuls = text.count("\0")
    halves = sum("\ud800" <= character <= "\udfff" for character in text)
    parts = []
    if nuls:
        parts.append(f"{nuls} NUL {_characters(nuls)} became {NUL_PICTURE}")
    if halves:
        parts.append(f"{halves} incomplete {_characters(halves)} became {REPLACEMENT}")
    if not parts:
        return ""
    return f"{' and '.join(parts)}, because they cannot be stored. The rest was sent as written."


def _characters(count: int) -> str:
    return "character" if count == 1 else "characters"


_BOXED = re.compile(r"(\\boxed\{[^{}.…\n]{1,60}\})")
_EXAMPLE = re.compile(r"example,?\s+" + _BOXED.pattern)


_TAGS = re.compile(r"<([a-z_]{1,20})> and </\1>")
_TAGS_OF_ANSWERS = {"information"}
"""Tags in which a tool answers; nobody writes them."""
ANY_BOX = "\\boxed{…}"


def example_in(rules: str) -> str:
    r"""The example action in an environment's instructions, or the first action in them: `\boxed{reveal 3 4}`.

    Where actions stand between tags, it is the tags: `<search>…</search> or <answer>…</answer>`.
    """
    shown = _EXAMPLE.search(rules) or _BOXED.search(rules)
    if shown:
        return shown[1]
    tags = [tag for tag in dict.fromkeys(_TAGS.findall(rules)) if tag not in _TAGS_OF_ANSWERS]
    forms = [f"<{tag}>…</{tag}>" for tag in tags]
    if not forms or "\\boxed{}" in rules:
        forms.append(ANY_BOX)
    return " or ".join(forms)
