"""One conversation between an agent and whatever it was evaluated on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, Field

MAX_MESSAGES, MAX_TEXT, MAX_EXTRA = 400, 64_000, 20_000
"""Messages of a transcript, characters of each text, and characters of everything else in it."""


class Message(BaseModel):
    """Something that was said."""

    role: str
    """`assistant` is the agent; others are `system`, `user` and `tool`."""
    content: str = ""
    reasoning: str = ""
    """What the agent thought and did not say."""
    calls: str = ""
    """The tools that it called, as JSON."""


class Transcript(BaseModel):
    """An episode as another program tells it."""

    key: str
    """The same for the same episode."""
    example: str = ""
    """The problem that was played, as that program names it."""
    env_id: str = ""
    messages: list[Message] = Field(max_length=MAX_MESSAGES)
    left_out: int = 0
    """Messages that were not kept."""
    reward: float | None = None
    solved: bool | None = None
    error: str = ""
    extra: dict[str, Any] = {}
    """Metrics, tokens and the like."""


def messages_of(values: Iterable[Any]) -> tuple[list[Message], int]:
    """The messages of a conversation in OpenAI's form, and how many were not kept."""
    found = [_message(value) for value in values if isinstance(value, Mapping)]
    return found[:MAX_MESSAGES], max(0, len(found) - MAX_MESSAGES)


def _message(value: Mapping[str, Any]) -> Message:
    reasoning = value.get("reasoning_content") or value.get("reasoning") or _reasoning(value.get("content"))
    return Message(
        role=str(value.get("role") or "")[:40],
        content=text_of(value.get("content")),
        reasoning=text_of(reasoning),
        calls=text_of(value.get("tool_calls") or None),
    )


def _reasoning(content: Any) -> str:
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part["reasoning"]) for part in parts if isinstance(part, Mapping) and "reasoning" in part)


def text_of(value: Any) -> str:
    """A value as text: the texts of a message's parts joined, and everything else as JSON."""
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(part, Mapping) and "type" in part for part in value):
        is_said = all(part["type"] != "function" for part in value)
        said = [part for part in value if "reasoning" not in part]
        texts = [str(part["text"]) if "text" in part else f"[{part['type']}]" for part in said]
        value = "\n".join(texts) if is_said else value
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False, default=str)
    return value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}\n[{len(value) - MAX_TEXT:,} more characters]"


def extra_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of everything else: entries that are set, while there is room."""
    kept: dict[str, Any] = {}
    room = MAX_EXTRA
    for name, value in values.items():
        if value is None or value in ({}, []):
            continue
        room -= len(name) + len(json.dumps(value, default=str))
        if room < 0:
            break
        kept[name] = value
    return kept
