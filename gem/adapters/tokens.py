"""Episodes as the tokens that trainers learn from.

    episode = TokenEpisode(gem.make("game:GuessTheNumber-v0-easy"), tokenizer)
    episode.reset(seed=7)
    while not episode.done:
        episode.step(sample(episode.ids))
    episode.prompt_ids, episode.response_ids, episode.response_mask, episode.reward

An episode is one sequence. It begins with the environment's first message, which is the prompt; then come the policy's
replies (mask 1) and the environment's messages between them (mask 0), each in the form that the tokenizer's chat
template gives it. The replies stay the very tokens that were sampled: nothing is decoded and encoded again, so what is
learned from is what was said (a text often has several encodings, and the sampled one need not be the usual one). For
the same reason a board (`info["suffix"]`) stays in every message, where the wrapper `concat_chat`, which writes each
prompt anew, shows only the last.

A trainer that keeps the tokens itself and asks for texts takes `opening` and `follow_up` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gem.core import Env, Info
from gem.errors import EpisodeOver, InvalidArgument
from gem.wrappers.observation_wrapper import ChatTokenizer, as_message

REPLY = "<<the reply stands here>>"
MOST_SHARED = 8
"""Tokens that may end a reply and begin what the template puts after it; templates end a message with one or two."""


class Tokenizer(ChatTokenizer, Protocol):
    """What is asked of a tokenizer; those of Hugging Face's transformers have it."""

    eos_token: Any

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """The tokens of a text."""
        ...

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool) -> Any:
        """The text of tokens."""
        ...


def opening(tokenizer: ChatTokenizer, observation: str, info: Info) -> str:
    """The prompt of an episode: the environment's first message as a chat, ready for the first reply."""
    chat = [{"role": "user", "content": as_message(observation, info)}]
    prompt: str = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    return prompt


def follow_up(tokenizer: ChatTokenizer, observation: str, info: Info, reply: str = "") -> str:
    """The text between a reply and the next one: the reply's end, the environment's message, the next one's beginning.

    Args:
        reply: the text of the reply; where it says itself that it has ended, the end is not repeated.

    Raises:
        InvalidArgument: if the chat template does not show what the assistant said.
    """
    role = "tool" if info.get("use_tool", False) else "user"
    chat = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": REPLY},
        {"role": role, "content": as_message(observation, info)},
    ]
    text: str = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    _, found, rest = text.partition(REPLY)
    if not found:
        raise InvalidArgument("The tokenizer's chat template leaves out what the assistant said before; use another.")
    end = getattr(tokenizer, "eos_token", None)
    if end and reply.endswith(end) and rest.startswith(end):
        rest = rest.removeprefix(end)
    return rest


@dataclass(slots=True)
class TokenEpisode:
    """One episode of `env` as tokens, one reply after the other.

    With `max_tokens`, an episode ends (`done`, and `out_of_room`) when the next message would leave no place for
    another reply among so many tokens after the prompt.
    """

    env: Env
    tokenizer: Tokenizer
    max_tokens: int | None = None
    """How many tokens may follow the prompt, replies and messages together; None means no limit."""

    prompt_ids: list[int] = field(default_factory=list)
    response_ids: list[int] = field(default_factory=list)
    """Everything after the prompt."""
    response_mask: list[int] = field(default_factory=list)
    """1 for each token of a reply, 0 for each of a message; as long as `response_ids`."""
    logprobs: list[float] = field(default_factory=list)
    """As they were given with the replies, 0 where none were and for messages; as long as `response_ids`."""
    rewards: list[float] = field(default_factory=list)
    """One for each turn."""
    turn_ends: list[int] = field(default_factory=list)
    """Where in `response_ids` the last token of each reply is: where a trainer puts the reward of the turn."""
    done: bool = True
    out_of_room: bool = False
    info: Info = field(default_factory=dict)
    """The last info of the environment; at the end it has `success`."""

    def __post_init__(self) -> None:
        if self.env.seats > 1:
            raise InvalidArgument("A policy has one seat: fill the others with gem.make(env_id, opponent='expert').")

    @property
    def ids(self) -> list[int]:
        """The sequence so far: what the policy goes on from."""
        return self.prompt_ids + self.response_ids

    @property
    def reward(self) -> float:
        """The sum over all turns so far."""
        return sum(self.rewards)

    @property
    def room(self) -> int | None:
        """How many tokens the next reply may have; None means no limit."""
        return None if self.max_tokens is None else max(0, self.max_tokens - len(self.response_ids))

    def reset(self, seed: int | None = None) -> list[int]:
        """Begin an episode; returns its prompt."""
        observation, self.info = self.env.reset(seed=seed)
        self.prompt_ids = self._encode(opening(self.tokenizer, observation, self.info))
        self.response_ids, self.response_mask, self.logprobs = [], [], []
        self.rewards, self.turn_ends = [], []
        self.done = self.out_of_room = False
        return self.prompt_ids

    def step(self, reply_ids: Sequence[int], logprobs: Sequence[float] | None = None) -> float:
        """Take a turn with a reply, the token that ends it included if there is one; returns the turn's reward.

        Raises:
            EpisodeOver: if the episode is over.
            InvalidArgument: if there are no tokens, or not as many `logprobs`.
        """
        if self.done:
            raise EpisodeOver("The episode is over; reset begins another.")
        if not reply_ids or (logprobs is not None and len(logprobs) != len(reply_ids)):
            raise InvalidArgument("A reply has at least one token, and as many logprobs as tokens.")
        action: str = self.tokenizer.decode(list(reply_ids), skip_special_tokens=True)
        observation, reward, terminated, truncated, self.info = self.env.step(action)
        self._extend(reply_ids, 1, [0.0] * len(reply_ids) if logprobs is None else logprobs)
        self.rewards.append(reward)
        self.turn_ends.append(len(self.response_ids) - 1)
        self.done = terminated or truncated
        if not self.done:
            self._hear(observation, list(reply_ids))
        return reward

    def _hear(self, observation: str, reply_ids: list[int]) -> None:
        """Append the environment's message, or end the episode if it leaves no place for a reply."""
        message_ids = self._encode(follow_up(self.tokenizer, observation, self.info))
        shared = min(MOST_SHARED, len(reply_ids), len(message_ids))
        while shared and reply_ids[-shared:] != message_ids[:shared]:
            shared -= 1
        message_ids = message_ids[shared:]
        if self.room is not None and len(message_ids) >= self.room:
            self.done = self.out_of_room = True
        else:
            self._extend(message_ids, 0, [0.0] * len(message_ids))

    def _extend(self, ids: Sequence[int], mask: int, logprobs: Sequence[float]) -> None:
        self.response_ids.extend(ids)
        self.response_mask.extend([mask] * len(ids))
        self.logprobs.extend(logprobs)

    def _encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))
