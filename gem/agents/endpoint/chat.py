"""Building the request to a server, with its chat messages, from a request for a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gem.agents.agent import Exchange, Request
from gem.agents.endpoint.functions import calls_of, functions_of
from gem.agents.endpoint.spec import EndpointSpec

ChatMessage = dict[str, Any]
NO_ANSWER = "(no answer)"
"""The content that stands for an empty action, because some servers reject empty messages."""


def request_body(spec: EndpointSpec, request: Request) -> dict[str, Any]:
    """Return the JSON body of a chat completion request for this turn."""
    fields = plain_body(spec, build_messages(spec, request))
    if spec.style == "tools":
        fields |= {"tools": functions_of(request.env), "tool_choice": "required"}
    return fields


def plain_body(spec: EndpointSpec, messages: Sequence[ChatMessage]) -> dict[str, Any]:
    """Return the JSON body of a chat completion request with these messages and the agent's sampling settings."""
    sampling: dict[str, Any] = {
        "temperature": spec.temperature,
        "top_p": spec.top_p,
        spec.max_tokens_field: spec.max_tokens,
        "seed": spec.seed,
        "stop": list(spec.stop) or None,
    }
    fields: dict[str, Any] = {"model": spec.model, "messages": list(messages)}
    fields |= {name: value for name, value in sampling.items() if value is not None}
    if spec.stream:
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    return fields | spec.more


def build_messages(spec: EndpointSpec, request: Request) -> list[ChatMessage]:
    """Return the system message, the earlier turns that `EndpointSpec.history` allows, and the present observation."""
    history, lead = _recent_history(spec, request)
    first = len(request.past) - len(history) + 1
    now = Exchange(request.observation, request.info, "")
    texts = [
        _fill_template(spec, request, exchange, turn) for turn, exchange in enumerate([*history, now], start=first)
    ]
    texts[0] = lead + texts[0]
    pictures = request.info.get("images") if spec.images else None
    messages: list[ChatMessage] = [{"role": "system", "content": spec.system}] if spec.system else []
    messages.append({"role": "user", "content": texts[0]})
    for number, (exchange, text) in enumerate(zip(history, texts[1:], strict=True), start=first):
        messages += _call_messages(exchange, text, number) if spec.style == "tools" else _text_messages(exchange, text)
    if pictures and messages[-1]["role"] == "user":
        messages[-1]["content"] = _add_pictures(str(messages[-1]["content"]), pictures)
    elif pictures:
        messages.append({"role": "user", "content": _add_pictures("What you see now:", pictures)})
    return messages


def _text_messages(exchange: Exchange, observation: str) -> list[ChatMessage]:
    """Return an earlier action and the observation after it as messages with text."""
    return [{"role": "assistant", "content": exchange.action or NO_ANSWER}, {"role": "user", "content": observation}]


def _call_messages(exchange: Exchange, observation: str, number: int) -> list[ChatMessage]:
    """Return an earlier action as function calls, and the observation after it as their result."""
    calls = [
        {"id": f"turn{number}call{place}", "type": "function", "function": function}
        for place, function in enumerate(calls_of(exchange.action), start=1)
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "Answered together."} for call in calls]
    results[-1]["content"] = observation
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


def _recent_history(spec: EndpointSpec, request: Request) -> tuple[Sequence[Exchange], str]:
    """Return the most recent turns, and the text before them if turns are omitted: the rules and a remark."""
    past = request.past
    if spec.history is None or len(past) <= spec.history:
        return past, ""
    omitted = len(past) - spec.history
    omission = "One turn is" if omitted == 1 else f"{omitted} turns are"
    lead = f"{past[0].observation}\n\n[{omission} left out here.]\n\n"
    return past[omitted:], lead


def _fill_template(spec: EndpointSpec, request: Request, exchange: Exchange, turn: int) -> str:
    """Fill the template in one pass, so that a placeholder inside an observation is left alone."""
    suffix = str(exchange.info.get("suffix") or "")
    values: Mapping[str, str] = {
        "{observation}": "\n\n".join(part for part in (exchange.observation, suffix) if part),
        "{turn}": str(turn),
        "{max_turns}": str(request.env.max_turns or "no limit"),
        "{env_id}": request.env.spec.id if request.env.spec else "",
    }
    filled, rest = "", spec.template
    while True:
        place, name = min(((rest.find(name), name) for name in values if name in rest), default=(-1, ""))
        if place < 0:
            return filled + rest
        filled += rest[:place] + values[name]
        rest = rest[place + len(name) :]


def _add_pictures(text: str, pictures: Sequence[str]) -> list[dict[str, Any]]:
    parts = [{"type": "image_url", "image_url": {"url": picture}} for picture in pictures]
    return [{"type": "text", "text": text}, *parts]
