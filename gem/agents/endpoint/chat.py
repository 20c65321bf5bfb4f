"""From a request for a decision to the messages that a server reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gem.agents.agent import Exchange, Request
from gem.agents.endpoint.functions import calls_of, functions_of
from gem.agents.endpoint.spec import EndpointSpec

Message = dict[str, Any]
NO_ANSWER = "(no answer)"
"""Stands for an empty action: some servers refuse an empty message."""


def body(spec: EndpointSpec, request: Request) -> dict[str, Any]:
    """The JSON of a chat completion for this turn."""
    asked = plain_body(spec, messages(spec, request))
    if spec.style == "tools":
        asked |= {"tools": functions_of(request.env), "tool_choice": "required"}
    return asked


def plain_body(spec: EndpointSpec, said: Sequence[Message]) -> dict[str, Any]:
    """The JSON of a chat completion with these messages and the agent's sampling."""
    sampling: dict[str, Any] = {
        "temperature": spec.temperature,
        "top_p": spec.top_p,
        spec.max_tokens_field: spec.max_tokens,
        "seed": spec.seed,
        "stop": list(spec.stop) or None,
    }
    asked: dict[str, Any] = {"model": spec.model, "messages": list(said)}
    asked |= {name: value for name, value in sampling.items() if value is not None}
    if spec.stream:
        asked |= {"stream": True, "stream_options": {"include_usage": True}}
    return asked | spec.more


def messages(spec: EndpointSpec, request: Request) -> list[Message]:
    """System message, the earlier turns that it reads again, and what it reads now."""
    kept, lead = _kept(spec, request)
    first = len(request.past) - len(kept) + 1
    now = Exchange(request.observation, request.info, "")
    read = [_filled(spec, request, one, turn) for turn, one in enumerate([*kept, now], start=first)]
    read[0] = lead + read[0]
    pictures = request.info.get("images") if spec.images else None
    said: list[Message] = [{"role": "system", "content": spec.system}] if spec.system else []
    said.append({"role": "user", "content": read[0]})
    for number, (exchange, answer) in enumerate(zip(kept, read[1:], strict=True), start=first):
        said += _called(exchange, answer, number) if spec.style == "tools" else _written(exchange, answer)
    if pictures and said[-1]["role"] == "user":
        said[-1]["content"] = _with_pictures(str(said[-1]["content"]), pictures)
    elif pictures:
        said.append({"role": "user", "content": _with_pictures("What you see now:", pictures)})
    return said


def _written(exchange: Exchange, answer: str) -> list[Message]:
    """An earlier action and what came back, as text."""
    return [{"role": "assistant", "content": exchange.action or NO_ANSWER}, {"role": "user", "content": answer}]


def _called(exchange: Exchange, answer: str, number: int) -> list[Message]:
    """An earlier action as calls of functions, and what came back as their result."""
    calls = [
        {"id": f"turn{number}call{place}", "type": "function", "function": function}
        for place, function in enumerate(calls_of(exchange.action), start=1)
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "Answered together."} for call in calls]
    results[-1]["content"] = answer
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


def _kept(spec: EndpointSpec, request: Request) -> tuple[Sequence[Exchange], str]:
    """The earlier turns that are read again, and what stands before them if some were left out: the rules."""
    past = request.past
    if spec.history is None or len(past) <= spec.history:
        return past, ""
    left_out = len(past) - spec.history
    turns = "One turn is" if left_out == 1 else f"{left_out} turns are"
    lead = f"{past[0].observation}\n\n[{turns} left out here.]\n\n"
    return past[left_out:], lead


def _filled(spec: EndpointSpec, request: Request, exchange: Exchange, turn: int) -> str:
    """The template with what the seat read; one pass, so that nothing in an observation is taken for a name."""
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


def _with_pictures(text: str, pictures: Sequence[str]) -> list[dict[str, Any]]:
    shown = [{"type": "image_url", "image_url": {"url": picture}} for picture in pictures]
    return [{"type": "text", "text": text}, *shown]
