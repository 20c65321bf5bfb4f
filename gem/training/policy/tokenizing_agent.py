"""A policy as an agent that keeps, as tokens, what it has read and written in each episode."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from gem.agents.agent import Decision, Request
from gem.rng import RandomSource
from gem.training.policy.contexts import ContextWriter, EpisodeContext, ResponseSpan, TokenSequence, turns_before
from gem.training.policy.sampler import Sampler

CUT_OFF_ACTION = "(The response was too long.)"
"""The text that an environment gets instead of a response that reached `max_tokens`; it contains no action."""
Place = tuple[int, int]
"""An episode, by its index in the batch or by the environment's id where there is no batch, and a seat of it."""


class TokenizingAgent:
    """Acts with a policy. In an environment with several seats, each seat has a context of its own.

    Args:
        writer: encodes what the policy reads.
        sampler: writes the responses.
        make_rng: makes the random number generator of a turn.
        capacity: how many contexts are remembered at the same time.
    """

    def __init__(
        self,
        writer: ContextWriter,
        sampler: Sampler,
        *,
        temperature: float,
        make_rng: Callable[[Request], RandomSource],
        capacity: int,
        name: str = "policy",
    ) -> None:
        self.name = name
        self.writer, self.sampler = writer, sampler
        self.temperature = temperature
        self.contexts: OrderedDict[Place, EpisodeContext] = OrderedDict()
        """Contexts by episode and seat, the least recently used first."""
        self._make_rng = make_rng
        self._free_slots = list(range(capacity))[::-1]

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """Decide for each request (see `Agent.act`)."""
        contexts = [self._find_context(request) for request in requests]
        self.writer.append(requests, contexts)
        responses = self.sampler.respond(
            [context.sequences[-1].tokens for context in contexts],
            [context.slot for context in contexts],
            [self._make_rng(request) for request in requests],
            self.temperature,
        )
        texts = self.writer.prompt_format.decode([response.tokens for response in responses])
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

    def resume(self, place: Place, turns: int, tokens: Sequence[int], first_prompt: Sequence[int]) -> None:
        """Go on in an episode from tokens that were read and written in another one, instead of encoding its texts.

        Args:
            turns: how many turns the tokens have; the last of them is the end of the last response.
            first_prompt: see `EpisodeContext.first_prompt`.
        """
        context = EpisodeContext(self._free_slots.pop(), [TokenSequence(list(tokens))], turns, list(first_prompt))
        self.contexts[place] = context

    def forget(self) -> None:
        """Forget every episode, because a batch begins or the policy has other weights now."""
        self._free_slots += [context.slot for context in self.contexts.values()]
        self._free_slots.sort(reverse=True)
        self.contexts.clear()
        self.sampler.refresh()

    def _find_context(self, request: Request) -> EpisodeContext:
        """The context of the request's episode and seat: the remembered one if the turn follows it, else a new one."""
        place = (request.episode if request.episode >= 0 else id(request.env), request.seat)
        context = self.contexts.pop(place, None)
        if context is not None and context.turns != turns_before(request):
            self._free_slots.append(context.slot)
            context = None
        if context is None:
            if not self._free_slots:
                self._free_slots.append(self.contexts.popitem(last=False)[1].slot)
            context = self.writer.begin(request, self._free_slots.pop())
        self.contexts[place] = context
        return context
