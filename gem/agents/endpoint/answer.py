"""What a server said: the text, the reasoning apart from it, tool calls, tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MOST_TOKENS = 2**31
THINK, UNTHINK = "<think>", "</think>"


class Usage(NamedTuple):
    """Tokens as the server counted them; 0 where it did not."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0

    def plus(self, other: Usage) -> Usage:
        """Both together."""
        return Usage(*(one + another for one, another in zip(self, other, strict=True)))


@dataclass(slots=True)
class Call:
    """One function that the model calls; the arguments come in pieces while streaming."""

    name: str = ""
    arguments: str = ""

    def parsed(self) -> dict[str, Any]:
        """The arguments; what is no JSON object becomes the value of `action`, as it stands."""
        try:
            found = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return {"action": self.arguments}
        return found if isinstance(found, dict) else {"action": self.arguments}


@dataclass(slots=True)
class Answer:
    """An answer, whole or as far as it has come."""

    text: str = ""
    reasoning: str = ""
    calls: dict[int, Call] = field(default_factory=dict)
    finish: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    choices: int = 0
    """How many pieces with a choice have come; without one it is no answer."""

    def add(self, data: Mapping[str, Any]) -> bool:
        """Take in a chat completion or a chunk of one; whether it brought text, reasoning or a call.

        Raises:
            ValueError: if it is neither.
        """
        if isinstance(data.get("model"), str):
            self.model = clean(data["model"])[:200]
        if isinstance(data.get("usage"), dict):
            self.usage = _usage(data["usage"])
        choices = data.get("choices")
        if not isinstance(choices, list):
            raise ValueError("no choices")
        if not choices:
            return False
        choice = choices[0]
        said = choice.get("message", choice.get("delta")) if isinstance(choice, dict) else None
        if not isinstance(said, dict):
            raise ValueError("no message")
        self.choices += 1
        if isinstance(choice.get("finish_reason"), str):
            self.finish = choice["finish_reason"][:40]
        return self._take(said)

    def _take(self, said: Mapping[str, Any]) -> bool:
        text = _text(said.get("content"))
        reasoning = _text(said.get("reasoning_content") or said.get("reasoning"))
        self.text += text
        self.reasoning += reasoning
        calls = said.get("tool_calls") or []
        if not isinstance(calls, list):
            raise ValueError("no tool calls")
        for place, call in enumerate(calls):
            self._call(place, call)
        return bool(text or reasoning or calls)

    def _call(self, place: int, said: Any) -> None:
        function = said.get("function") if isinstance(said, dict) else None
        if not isinstance(function, dict):
            raise ValueError("no function")
        index = said.get("index", place)
        call = self.calls.setdefault(index if isinstance(index, int) else place, Call())
        call.name += _text(function.get("name"))
        arguments = function.get("arguments")
        call.arguments += json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments)

    def parted(self) -> tuple[str, str]:
        """The text without its reasoning, and all reasoning: from fields of its own, and from `<think>` in the text.

        A template may have opened the block already, so an end without a beginning counts. A block without an end
        was cut off: nothing follows it.
        """
        text, thought = self.text, ""
        if UNTHINK in text:
            thought, _, text = text.rpartition(UNTHINK)
        elif text.lstrip().startswith(THINK):
            thought, text = text, ""
        thought = thought.replace(THINK, "").replace(UNTHINK, "").strip()
        reasoning = "\n\n".join(part for part in (self.reasoning.strip(), thought) if part)
        return clean(text.strip()), clean(reasoning)


def clean(text: str) -> str:
    """Without what no record can hold: NUL becomes its picture, half a character the replacement character."""
    text = text.replace("\0", "\u2400")
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _text(value: Any) -> str:
    """A message's content: text, or parts of which the texts count."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(part["text"] for part in value if isinstance(part, dict) and isinstance(part.get("text"), str))
    return ""


def _usage(data: Mapping[str, Any]) -> Usage:
    details = data.get("completion_tokens_details")
    reasoning = details.get("reasoning_tokens") if isinstance(details, dict) else 0
    return Usage(_count(data.get("prompt_tokens")), _count(data.get("completion_tokens")), _count(reasoning))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS else 0
