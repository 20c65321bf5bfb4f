"""A policy as an agent that keeps, as tokens, what it has read and written in each episode."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gem.agents.agent import Decision, Exchange, Request
from gem.rng import RandomSource
from gem.training.policy.prompts import PromptFormat, board_text, observation_text
from gem.training.policy.sampler import Sampler

CUT_OFF_ACTION = "(The response was too long.)"
"""What an environment gets instead of a response that reached `max_tokens`; it finds no action in it."""
InputMode = Literal["transcript", "markov"]


@dataclass(slots=True)
class ResponseSpan:
    """Where a response stands in a sequence."""

    start: int
    """Index of its first token."""
    length: int
    """Number of its tokens."""
    turn: int
    """Index of its turn in the episode, from 0."""
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
    """What was read and written in one episode."""

    slot: int
    """The sampler's slot that this episode occupies."""
    sequences: list[TokenSequence] = field(default_factory=list)
    turns: int = 0
    """Number of turns so far."""
    first_prompt: list[int] = field(default_factory=list)
    """The first prompt, which is repeated where a new sequence begins because earlier turns do not fit."""


class TokenizingAgent:
    """Acts with a policy.

    Args:
        prompt_format: encodes observations and decodes responses.
        sampler: writes the responses.
        input_mode: `transcript` reads the whole episode as one sequence; `markov` reads the present board only, and
            each turn is a sequence of its own.
        max_tokens: the most tokens of a response.
        max_length: the most tokens of a sequence; where the next turn does not fit, a new sequence begins with the
            first prompt and that turn.
        make_rng: makes the random number generator of a turn.
        capacity: how many episodes are remembered at the same time.
    """

    def __init__(
        self,
        prompt_format: PromptFormat,
        sampler: Sampler,
        *,
        input_mode: InputMode,
        max_tokens: int,
        max_length: int,
        temperature: float,
        make_rng: Callable[[Request], RandomSource],
        capacity: int,
        name: str = "policy",
    ) -> None:
        self.name = name
        self.prompt_format, self.sampler = prompt_format, sampler
        self.input_mode, self.max_tokens, self.max_length = input_mode, max_tokens, max_length
        self.temperature = temperature
        self.contexts: OrderedDict[int, EpisodeContext] = OrderedDict()
        """Contexts by the episode's index in the batch, or by the environment's id where there is no batch; the least
        recently used first."""
        self._make_rng = make_rng
        self._free_slots = list(range(capacity))[::-1]

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """Decide for each request (see `Agent.act`)."""
        contexts = [self._find_context(request) for request in requests]
        for context, tokens in zip(contexts, self._encode_prompts(requests, contexts), strict=True):
            self._append_prompt(context, tokens)
        responses = self.sampler.respond(
            [context.sequences[-1].tokens for context in contexts],
            [context.slot for context in contexts],
            [self._make_rng(request) for request in requests],
            self.temperature,
        )
        texts = self.prompt_format.decode([response.tokens for response in responses])
        decisions = []
        for context, response, text in zip(contexts, responses, texts, strict=True):
            sequence = context.sequences[-1]
            span = ResponseSpan(len(sequence.tokens), len(response.tokens), context.turns, response.values)
            sequence.responses.append(span)
            sequence.tokens += response.tokens
            sequence.logps += response.logps
            context.turns += 1
            decisions.append(Decision(text if response.is_complete else CUT_OFF_ACTION))
        return decisions

    def forget(self) -> None:
        """Forget every episode, because a batch begins or the policy has other weights now."""
        self._free_slots += [context.slot for context in self.contexts.values()]
        self._free_slots.sort(reverse=True)
        self.contexts.clear()
        self.sampler.refresh()

    def _find_context(self, request: Request) -> EpisodeContext:
        """The context of the request's episode: the remembered one if the turn follows it, else a new one."""
        key = request.episode if request.episode >= 0 else id(request.env)
        context = self.contexts.pop(key, None)
        if context is not None and context.turns + 1 != request.turn:
            self._free_slots.append(context.slot)
            context = None
        if context is None:
            if not self._free_slots:
                self._free_slots.append(self.contexts.popitem(last=False)[1].slot)
            context = EpisodeContext(self._free_slots.pop(), turns=request.turn - 1)
            if self.input_mode == "transcript":
                self._append_past(context, request.past)
        self.contexts[key] = context
        return context

    def _append_past(self, context: EpisodeContext, past: Sequence[Exchange]) -> None:
        """Encode the earlier turns of an episode, as far as the request has them."""
        for turn, exchange in enumerate(past):
            text = observation_text(exchange.observation, dict(exchange.info))
            encode = self.prompt_format.encode_later if turn else self.prompt_format.encode_first
            (tokens,) = encode([text])
            self._append_prompt(context, tokens)
            context.sequences[-1].tokens += self.prompt_format.encode_response(exchange.action)

    def _encode_prompts(self, requests: Sequence[Request], contexts: Sequence[EpisodeContext]) -> list[list[int]]:
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
        """Append a prompt to the episode's sequence, or begin a new sequence with it.

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
