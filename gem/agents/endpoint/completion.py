"""Chat completions as a server sends them: the text, the reasoning, tool calls and tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MAX_TOKENS = 2**31
"""Token counts from here on are taken for nonsense and read as 0."""
THINK_START, THINK_END = "<think>", "</think>"


class Usage(NamedTuple):
    """Tokens as the server counted them, 0 where it did not."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0

    def plus(self, other: Usage) -> Usage:
        """Return the sum of both."""
        return Usage(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


@dataclass(slots=True)
class FunctionCall:
    """A function call of the model."""

    name: str = ""
    arguments: str = ""
    """The arguments as JSON, as far as they have arrived while streaming."""
    id: str = ""
    """The server's id of the call; empty if it gives none."""

    def parse_arguments(self) -> dict[str, Any]:
        """Return the arguments. If they are not a JSON object, the whole string becomes the argument `action`."""
        try:
            arguments = json.loads(self.arguments)
        except (ValueError, RecursionError):
            return {"action": self.arguments}
        return arguments if isinstance(arguments, dict) else {"action": self.arguments}


@dataclass(slots=True)
class Completion:
    """A chat completion, whole or as far as it has arrived."""

    text: str = ""
    reasoning: str = ""
    calls: dict[int, FunctionCall] = field(default_factory=dict)
    call_keys: dict[int, int] = field(default_factory=dict)
    """For each index of the server, the key in `calls` of the last call with it."""
    finish_reason: str = ""
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    is_counted: bool = False
    """Whether the server has counted the tokens of the prompt and of the answer."""
    choice_count: int = 0
    """The number of chunks with a choice; a response without any is unusable."""

    def add(self, data: Mapping[str, Any]) -> bool:
        """Add a chat completion or a chunk of one; return whether it contains text, reasoning or a call.

        Raises:
            ValueError: if `data` is neither.
        """
        if isinstance(data.get("model"), str):
            self.model = clean(data["model"])[:200]
        if isinstance(data.get("usage"), dict):
            self.usage = _usage(data["usage"])
            counts = (data["usage"].get(name) for name in ("prompt_tokens", "completion_tokens"))
            self.is_counted = all(_is_count(count) for count in counts) and self.usage.tokens_in > 0
        choices = data.get("choices")
        if choices is None and ("choices" in data or isinstance(data.get("usage"), dict)):
            return False  # some servers count the tokens in a chunk without choices
        if not isinstance(choices, list):
            raise ValueError("no choices")
        if not choices:
            return False
        choice = choices[0]
        message = choice.get("message", choice.get("delta")) if isinstance(choice, dict) else None
        if message is None and isinstance(choice, dict) and "delta" in choice:
            message = {}  # of the last chunk from Azure
        if not isinstance(message, dict):
            raise ValueError("no message")
        self.choice_count += 1
        if isinstance(choice.get("finish_reason"), str):
            self.finish_reason = choice["finish_reason"][:40]
        return self._add_message(message)

    def _add_message(self, message: Mapping[str, Any]) -> bool:
        text = _text(message.get("content"))
        reasoning = _text(message.get("reasoning_content") or message.get("reasoning"))
        self.text += text
        self.reasoning += reasoning
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list):
            raise ValueError("no tool calls")
        for place, call in enumerate(calls):
            self._add_call(place, call)
        return bool(text or reasoning or calls)

    def _add_call(self, place: int, item: Any) -> None:
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(function, dict):
            raise ValueError("no function")
        index, name, call_id = item.get("index", place), _text(function.get("name")), _text(item.get("id"))
        call = self._call_at(index if isinstance(index, int) else place, call_id, begins=bool(name))
        call.name += name
        arguments = function.get("arguments")
        call.arguments += json.dumps(arguments) if isinstance(arguments, dict) else _text(arguments)

    def _call_at(self, index: int, call_id: str, *, begins: bool) -> FunctionCall:
        """Return the call with this index, which is another one if it begins with another id.

        Ollama and some gateways to Gemini stream all calls of a completion with the index 0.
        """
        key = self.call_keys.get(index)
        if key is None or (begins and call_id and self.calls[key].id not in ("", call_id)):
            key = self.call_keys[index] = index if index not in self.calls else max(self.calls) + 1
            self.calls[key] = FunctionCall(id=call_id)
        return self.calls[key]

    def split_reasoning(self) -> tuple[str, str]:
        """Return the text without reasoning, and the reasoning, from its own field or a `<think>` block in the text.

        A block may have an end tag only, because some chat templates write the start tag themselves. If the end tag is
        missing, the response was cut off during the reasoning, and there is no text.
        """
        text, thought = self.text, ""
        if THINK_END in text:
            thought, _, text = text.rpartition(THINK_END)
        elif text.lstrip().startswith(THINK_START):
            thought, text = text, ""
        thought = thought.replace(THINK_START, "").replace(THINK_END, "").strip()
        reasoning = "\n\n".join(part for part in (self.reasoning.strip(), thought) if part)
        return clean(text.strip()), clean(reasoning)


def clean(text: str) -> str:
    """Replace what a record cannot store: NUL by its symbol, lone surrogates by the replacement character."""
    text = text.replace("\0", "\u2400")
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def _text(value: Any) -> str:
    """Return the content of a message as a string: either it is one, or a list whose text parts are joined."""
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
    return int(value) if _is_count(value) else 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MAX_TOKENS
