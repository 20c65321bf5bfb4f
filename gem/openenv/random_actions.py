"""Random actions for a server of OpenEnv, drawn from what it says of its actions and from what there is to read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gem.rng import RandomSource, choice, randint

WORDS = ("yes", "no", "1", "2", "a", "left")
"""Texts where nothing is known of what to say."""
SMALL, LARGE = 0, 9
"""Numbers are drawn from here to there, where the schema gives no bounds."""
WIDEST = 1000
"""Numbers between two that are read are drawn if they are no further apart."""
BOX, TAGS = "\\boxed{", "<answer>"


def text_field_of(schema: Mapping[str, Any]) -> str:
    """The only required field of an action, if it is a text; else empty."""
    required, fields = schema.get("required"), schema.get("properties")
    if not isinstance(required, list) or len(required) != 1 or not isinstance(fields, dict):
        return ""
    described = fields.get(required[0])
    is_text = isinstance(described, dict) and described.get("type") == "string"
    return str(required[0]) if is_text else ""


def draw_fields(rng: RandomSource, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The required fields of a schema of actions with values that fit; all of its fields if none is required."""
    fields = schema.get("properties")
    fields = fields if isinstance(fields, dict) else {}
    required = schema.get("required")
    names = [name for name in required if name in fields] if isinstance(required, list) else list(fields)
    return {name: _draw(rng, fields[name]) for name in names if name != "metadata"}


def draw_action_text(rng: RandomSource, schema: Mapping[str, Any], instructions: str, latest: str) -> str:
    """A text for the only field of an action: one that the schema names, or else one of `draw_text`."""
    field = text_field_of(schema)
    if field and {"enum", "const"} & set(schema["properties"][field]):
        return str(draw_fields(rng, schema)[field])
    return draw_text(rng, instructions, latest)


def draw_text(rng: RandomSource, instructions: str, latest: str) -> str:
    """A word or a number of what there is to read, in a box or in tags if the instructions ask for that.

    Args:
        instructions: the first observation.
        latest: the newest observation.
    """
    numbers = sorted({int(digits) for digits in re.findall(r"\d{1,6}", f"{instructions} {latest}")})
    words = latest.split() or WORDS
    if numbers and randint(rng, 0, 1):
        is_range = numbers[-1] - numbers[0] <= WIDEST
        content = str(randint(rng, numbers[0], numbers[-1]) if is_range else choice(rng, numbers))
    else:
        content = choice(rng, words)
    if BOX in instructions:
        return f"{BOX}{content}}}"
    return f"{TAGS}{content}</answer>" if TAGS in instructions else content


def _draw(rng: RandomSource, described: Any) -> Any:
    """A value that fits a JSON schema, as far as it is a simple one."""
    described = described if isinstance(described, dict) else {}
    if isinstance(described.get("enum"), list) and described["enum"]:
        return choice(rng, described["enum"])
    if "const" in described:
        return described["const"]
    kind = described.get("type")
    if kind in ("integer", "number"):
        low = int(described.get("minimum", SMALL))
        high = int(described.get("maximum", max(low, LARGE)))
        return randint(rng, low, max(low, high))
    simple = {"boolean": bool(randint(rng, 0, 1)), "array": [], "object": {}, "null": None}
    return simple[kind] if kind in simple else choice(rng, WORDS)
