"""What requests use: tokens and money, at most before they are sent, and as the server counted them afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import ROUND_UP, Decimal
from typing import Any, NamedTuple

from gem.agents.endpoint.completion import Usage
from gem.agents.endpoint.spec import EndpointSpec, Prices
from gem.errors import UsageError

ANSWER_LIMITS = ("max_tokens", "max_completion_tokens")
"""The fields of a request that limit the tokens of the answer, the reasoning included."""
ASSUMED_TOKENS_OUT = 4096
"""What an answer is taken to have at most if its agent sets no limit. With a budget or a limit, agents have to."""
TEMPLATE_TOKENS, TEMPLATE_TOKENS_WITH_TOOLS = 256, 768
"""What the chat template of a model may add to a request: its own system message, the date, how to call tools."""
MESSAGE_TOKENS = 16
"""What a chat template may add to each message: its role and its ends."""
PICTURE_TOKENS = 16_384
"""What a picture may have at most if it has fewer bytes."""
BILLIONTH = Decimal("0.000000001")
_MILLION = 1_000_000


class Amount(NamedTuple):
    """Tokens, and what they cost in the currency of the prices."""

    tokens_in: int = 0
    tokens_out: int = 0
    money: Decimal = Decimal(0)

    @property
    def tokens(self) -> int:
        """Tokens of the prompt and the answer together."""
        return self.tokens_in + self.tokens_out

    def plus(self, other: Amount) -> Amount:
        """Return the sum of both."""
        return Amount(self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out, self.money + other.money)


NOTHING = Amount()


def amount_of(usage: Usage, prices: Prices | None) -> Amount:
    """Return the tokens of a request with their cost, rounded up to a billionth; without prices the cost is 0."""
    if prices is None:
        return Amount(usage.tokens_in, usage.tokens_out)
    cost = usage.tokens_in * Decimal(str(prices.tokens_in)) + usage.tokens_out * Decimal(str(prices.tokens_out))
    return Amount(usage.tokens_in, usage.tokens_out, (cost / _MILLION).quantize(BILLIONTH, ROUND_UP))


def bound_of(body: Mapping[str, Any]) -> Usage:
    """Return the most tokens that a request can use, the request given as the body that is sent.

    The prompt has at most one token for each byte of its texts in UTF-8, and some that the chat template adds. This
    holds for tokenizers that split texts into pieces of at least one byte, which are those of nearly all models
    (byte-level BPE, and SentencePiece with fallback to bytes), and for templates that add no more than the constants of
    this module. The answer has at most the tokens that the request allows, if the server obeys that, and
    `ASSUMED_TOKENS_OUT` if the request sets no limit.
    """
    tokens_in = TEMPLATE_TOKENS
    if body.get("tools"):
        tokens_in = TEMPLATE_TOKENS_WITH_TOOLS + _bytes(body["tools"])
    for message in body["messages"]:
        tokens_in += MESSAGE_TOKENS + sum(_content_bytes(value) for value in message.values())
    return Usage(tokens_in, answer_limit(body) or ASSUMED_TOKENS_OUT)


def check_limits(spec: EndpointSpec, *, limits_money: bool, name: str = "") -> None:
    """Check that a budget of tokens or money can be kept with these settings of an agent.

    Args:
        limits_money: whether the budget is one of money.
        name: the name of the agent in the message; by default its model.

    Raises:
        UsageError: if its answers have no limit, or nothing says what its tokens cost.
    """
    name = name or spec.model
    if answer_limit({spec.max_tokens_field: spec.max_tokens} | spec.more) is None:
        raise UsageError(
            f"{name} sets no limit for the tokens of an answer (max_tokens), so that no budget can be kept. Set it, or "
            "leave the limits of tokens and money out."
        )
    if limits_money and spec.prices is None:
        raise UsageError(
            f"{name} has no prices, so that a money budget cannot be kept. Set its prices, or leave it out."
        )


def answer_limit(fields: Mapping[str, Any]) -> int | None:
    """Return the most tokens that these fields of a request allow an answer; None if they set no limit."""
    limits: list[int] = [fields[name] for name in ANSWER_LIMITS if _is_limit(fields.get(name))]
    return max(limits, default=None)


def _is_limit(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _content_bytes(content: object) -> int:
    """Return the bytes of a part of a message; a picture counts `PICTURE_TOKENS` at least."""
    if isinstance(content, str):
        return len(content.encode("utf-8", "surrogatepass"))
    if isinstance(content, list):
        pictures: int = sum(isinstance(part, dict) and part.get("type") == "image_url" for part in content)
        return _bytes(content) + pictures * PICTURE_TOKENS
    return 0 if content is None else _bytes(content)


def _bytes(data: object) -> int:
    return len(json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass"))
