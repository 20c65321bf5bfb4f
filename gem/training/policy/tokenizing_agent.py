"""A policy as an agent: it keeps what it has read and written in each episode, as tokens."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gem.agents.agent import Decision, Exchange, Request
from gem.rng import RandomSource
from gem.training.policy.prompts import Prompts, board, reading
from gem.training.policy.sampler import Sampler

CUT_OFF = "(The response was too long.)"
"""What an environment gets instead of a response that did not end; it finds no action in it."""
InputMode = Literal["transcript", "markov"]


@dataclass(slots=True)
class ResponseSpan:
    """A response inside a sequence."""

    start: int
    """Where its first token stands."""
    length: int
    turn: int
    """Of the episode, from 0."""
    value: float = 0.0
    """What the critic said before it."""


@dataclass(slots=True)
class TokenSequence:
    """Prompts and responses, one after the other."""

    tokens: list[int] = field(default_factory=list)
    responses: list[ResponseSpan] = field(default_factory=list)
    logps: list[float] = field(default_factory=list)
    """Of the tokens of all responses, in order."""
    shortened: bool = False
    """Whether something that came before, or the prompt itself, was too long for it."""


@dataclass(slots=True)
class Memory:
    """What was read and written in one episode."""

    slot: int
    sequences: list[TokenSequence] = field(default_factory=list)
    turns: int = 0
    opening: list[int] = field(default_factory=list)
    """The first prompt, which stays when old turns have to go."""


class TokenizingAgent:
    """Acts with a policy.

    Args:
        sampler: writes the responses.
        input_mode: `transcript` reads the whole episode, as one sequence; `markov` only the present board, each turn
            a sequence of its own.
        max_tokens: of a response.
        max_length: of a sequence; where the next turn does not fit, a new one begins with the first prompt and that
            turn.
        draws: the stream of chance for a turn.
        capacity: how many episodes are remembered at the same time.
    """

    def __init__(
        self,
        prompts: Prompts,
        sampler: Sampler,
        *,
        input_mode: InputMode,
        max_tokens: int,
        max_length: int,
        temperature: float,
        draws: Callable[[Request], RandomSource],
        capacity: int,
        name: str = "policy",
    ) -> None:
        self.name = name
        self.prompts, self.sampler = prompts, sampler
        self.input_mode, self.max_tokens, self.max_length = input_mode, max_tokens, max_length
        self.temperature = temperature
        self.memories: OrderedDict[int, Memory] = OrderedDict()
        """By the episode's place in the batch, or else by its environment; the least recent first."""
        self._draws = draws
        self._free = list(range(capacity))[::-1]

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """As `Agent.act`."""
        memories = [self._memory(request) for request in requests]
        for memory, tokens in zip(memories, self._prompts(requests, memories), strict=True):
            self._read(memory, tokens)
        responses = self.sampler.respond(
            [memory.sequences[-1].tokens for memory in memories],
            [memory.slot for memory in memories],
            [self._draws(request) for request in requests],
            self.temperature,
        )
        texts = self.prompts.text([response.tokens for response in responses])
        decisions = []
        for memory, response, text in zip(memories, responses, texts, strict=True):
            sequence = memory.sequences[-1]
            place = ResponseSpan(len(sequence.tokens), len(response.tokens), memory.turns, response.value)
            sequence.responses.append(place)
            sequence.tokens += response.tokens
            sequence.logps += response.logps
            memory.turns += 1
            decisions.append(Decision(text if response.ended else CUT_OFF))
        return decisions

    def forget(self) -> None:
        """Forget every episode; the policy has other weights now."""
        self._free += [memory.slot for memory in self.memories.values()]
        self._free.sort(reverse=True)
        self.memories.clear()
        self.sampler.refresh()

    def _memory(self, request: Request) -> Memory:
        key = request.episode if request.episode >= 0 else id(request.env)
        memory = self.memories.pop(key, None)
        if memory is not None and memory.turns + 1 != request.turn:
            self._free.append(memory.slot)
            memory = None
        if memory is None:
            if not self._free:
                self._free.append(self.memories.popitem(last=False)[1].slot)
            memory = Memory(self._free.pop(), turns=request.turn - 1)
            if self.input_mode == "transcript":
                self._recall(memory, request.past)
        self.memories[key] = memory
        return memory

    def _recall(self, memory: Memory, past: Sequence[Exchange]) -> None:
        """Read again what was said and done before, where whoever asks has kept it."""
        for turn, earlier in enumerate(past):
            text = reading(earlier.observation, dict(earlier.info))
            (tokens,) = self.prompts.later([text]) if turn else self.prompts.first([text])
            self._read(memory, tokens)
            memory.sequences[-1].tokens += self.prompts.response(earlier.action)

    def _prompts(self, requests: Sequence[Request], memories: Sequence[Memory]) -> list[list[int]]:
        """What each sequence goes on with."""
        if self.input_mode == "markov":
            boards = []
            for request in requests:
                spec = request.env.unwrapped.spec
                family = spec.family if spec is not None else type(request.env.unwrapped).__name__
                boards.append(board(family, request.observation, request.info, request.env.view(request.seat)))
            return self.prompts.first(boards)
        texts = [reading(request.observation, request.info) for request in requests]
        begins = [not memory.sequences for memory in memories]
        first = iter(self.prompts.first([text for text, new in zip(texts, begins, strict=True) if new]))
        later = iter(self.prompts.later([text for text, new in zip(texts, begins, strict=True) if not new]))
        return [next(first) if new else next(later) for new in begins]

    def _read(self, memory: Memory, tokens: list[int]) -> None:
        """Let the sequence go on with these tokens. A response that was cut off, or ended with another token than those
        that are read again, is closed first."""
        room = self.max_length - self.max_tokens
        if not memory.sequences or self.input_mode == "markov":
            memory.sequences.append(TokenSequence(tokens[-room:], shortened=len(tokens) > room))
            memory.opening = tokens
            return
        held = memory.sequences[-1].tokens
        closing = [] if held[-1] == self.prompts.end else [self.prompts.end]
        if len(held) + len(closing) + len(tokens) <= room:
            held += [*closing, *tokens]
            return
        opening = memory.opening[: max(0, room - 1 - len(tokens))]
        closing = [self.prompts.end] if opening else []
        memory.sequences.append(TokenSequence([*opening, *closing, *tokens[-room:]], shortened=True))
