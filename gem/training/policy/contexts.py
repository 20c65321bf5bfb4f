"""The text that a policy has read and written in an episode, as tokens, to which the next prompt is appended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from gem.agents.agent import Exchange, Request
from gem.training.policy.prompts import PromptFormat, board_text, observation_text

InputMode = Literal["transcript", "markov"]


@dataclass(slots=True)
class ResponseSpan:
    """Where a response stands in a sequence."""

    start: int
    """Index of its first token."""
    length: int
    """Number of its tokens."""
    turn: int
    """Index of its turn among those of its seat, from 0."""
    values: list[float] = field(default_factory=list)
    """The critic's estimate before each of its tokens; empty without a critic."""

    @property
    def value(self) -> float:
        """The critic's estimate before the response; 0 without a critic."""
        return self.values[0] if self.values else 0.0


@dataclass(slots=True)
class TokenSequence:
    """Prompts and responses, one after the other."""

    tokens: list[int] = field(default_factory=list)
    responses: list[ResponseSpan] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)
    """Log-probabilities of the tokens of all responses, in order."""
    is_truncated: bool = False
    """Whether earlier turns, or a part of the prompt itself, were dropped because they did not fit."""


@dataclass(slots=True)
class EpisodeContext:
    """The text that was read and written in one seat of an episode."""

    slot: int
    """The sampler's slot that it occupies; -1 if it has none."""
    sequences: list[TokenSequence] = field(default_factory=list)
    turns: int = 0
    """Number of turns of the seat so far."""
    first_prompt: list[int] = field(default_factory=list)
    """The first prompt, which is repeated where a new sequence begins because earlier turns do not fit."""


class ContextWriter:
    """Appends prompts to contexts.

    Args:
        prompt_format: encodes observations.
        input_mode: `transcript` reads the whole episode as one sequence; `markov` reads the present board only, and
            each turn is a sequence of its own.
        max_tokens: the most tokens of a response.
        max_length: the most tokens of a sequence; where the next turn does not fit, a new sequence begins with the
            first prompt and that turn.
    """

    def __init__(self, prompt_format: PromptFormat, *, input_mode: InputMode, max_tokens: int, max_length: int) -> None:
        self.prompt_format = prompt_format
        self.input_mode, self.max_tokens, self.max_length = input_mode, max_tokens, max_length

    def begin(self, request: Request, slot: int = -1) -> EpisodeContext:
        """A context with the earlier turns that the request has, without the prompt of its own turn."""
        context = EpisodeContext(slot, turns=turns_before(request))
        if self.input_mode == "transcript":
            self._append_past(context, request.past)
        return context

    def prompt(self, request: Request) -> list[int]:
        """The tokens that the policy reads before it responds, encoded from the texts of the request."""
        context = self.begin(request)
        self.append([request], [context])
        return context.sequences[-1].tokens

    def append(self, requests: Sequence[Request], contexts: Sequence[EpisodeContext]) -> None:
        """Append the prompt of each request to its context."""
        for context, tokens in zip(contexts, self._encode(requests, contexts), strict=True):
            self._append_prompt(context, tokens)

    def _append_past(self, context: EpisodeContext, past: Sequence[Exchange]) -> None:
        """Encode the earlier turns of an episode."""
        for turn, exchange in enumerate(past):
            text = observation_text(exchange.observation, dict(exchange.info))
            encode = self.prompt_format.encode_later if turn else self.prompt_format.encode_first
            (tokens,) = encode([text])
            self._append_prompt(context, tokens)
            context.sequences[-1].tokens += self.prompt_format.encode_response(exchange.action)

    def _encode(self, requests: Sequence[Request], contexts: Sequence[EpisodeContext]) -> list[list[int]]:
        """The tokens of each request's prompt."""
        if self.input_mode == "markov":
            boards = []
            for request in requests:
                spec = request.env.unwrapped.spec
                family = spec.family if spec is not None else type(request.env.unwrapped).__name__
                boards.append(board_text(family, request.observation, request.info, request.env.view(request.seat)))
            return self.prompt_format.encode_first(boards)
        texts = [observation_text(request.observation, request.info) for request in requests]
        is_first = [not context.sequences for context in contexts]
        first_texts = [text for text, first in zip(texts, is_first, strict=True) if first]
        later_texts = [text for text, first in zip(texts, is_first, strict=True) if not first]
        first_prompts = iter(self.prompt_format.encode_first(first_texts))
        later_prompts = iter(self.prompt_format.encode_later(later_texts))
        return [next(first_prompts if first else later_prompts) for first in is_first]

    def _append_prompt(self, context: EpisodeContext, tokens: list[int]) -> None:
        """Append a prompt to the sequence, or begin a new sequence with it.

        A response that was cut off, or that ended with another stop token, is first closed with the token that ends
        responses in prompts.
        """
        room = self.max_length - self.max_tokens
        if not context.sequences or self.input_mode == "markov":
            context.sequences.append(TokenSequence(tokens[-room:], is_truncated=len(tokens) > room))
            context.first_prompt = tokens
            return
        sequence_tokens = context.sequences[-1].tokens
        end = self.prompt_format.end_token
        closing = [] if sequence_tokens[-1] == end else [end]
        if len(sequence_tokens) + len(closing) + len(tokens) <= room:
            sequence_tokens += [*closing, *tokens]
            return
        first_prompt = context.first_prompt[: max(0, room - 1 - len(tokens))]
        closing = [end] if first_prompt else []
        context.sequences.append(TokenSequence([*first_prompt, *closing, *tokens[-room:]], is_truncated=True))


def turns_before(request: Request) -> int:
    """How many turns the seat has taken before; where others act as well, they are counted in `past`."""
    return len(request.past) if request.env.seats > 1 else request.turn - 1
