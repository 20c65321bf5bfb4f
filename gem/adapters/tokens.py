"""Episodes as the tokens that trainers learn from.

    episode = TokenEpisode(gem.make("game:GuessTheNumber-v0-easy"), tokenizer)
    episode.reset(seed=7)
    while not episode.done:
        episode.step(sample(episode.ids))
    episode.prompt_ids, episode.response_ids, episode.response_mask, episode.reward

An episode is one sequence of tokens. It begins with the prompt, which is the first message of the environment. Then the
replies of the policy (mask 1) alternate with messages of the environment (mask 0), which the chat template of the
tokenizer formats. A reply keeps exactly the tokens that were sampled: it is never decoded and encoded again, because a
text often has several encodings, and the policy has to learn from the sampled one. For the same reason every message
keeps its board (`info["suffix"]`), unlike with the wrapper `concat_chat`, which builds each prompt anew and shows only
the last board.

A trainer that keeps the tokens itself and only needs texts uses `opening` and `follow_up`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gem.core import Env, Info
from gem.errors import EpisodeOver, InvalidArgument
from gem.wrappers.observation_wrapper import ChatTokenizer, as_message

REPLY_PLACEHOLDER = "<<the reply stands here>>"
MAX_OVERLAP = 8
"""The maximum number of tokens at the end of a reply that the template repeats; templates end a message with one or
two."""


class Tokenizer(ChatTokenizer, Protocol):
    """The interface of a tokenizer; those of Hugging Face's transformers have it."""

    eos_token: Any

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Return the tokens of a text."""
        ...

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool) -> Any:
        """Return the text of tokens."""
        ...


def opening(tokenizer: ChatTokenizer, observation: str, info: Info) -> str:
    """Return the prompt of an episode: the first message of the environment in the chat template."""
    chat = [{"role": "user", "content": as_message(observation, info)}]
    prompt: str = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    return prompt


def follow_up(tokenizer: ChatTokenizer, observation: str, info: Info, reply: str = "") -> str:
    """Return the text between two replies: the end of the first, the environment's message, the start of the second.

    Args:
        reply: the text of the first reply; if it ends with the end-of-sequence token, this token is not repeated.

    Raises:
        InvalidArgument: if the chat template leaves out the messages of the assistant.
    """
    role = "tool" if info.get("use_tool", False) else "user"
    chat = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": REPLY_PLACEHOLDER},
        {"role": role, "content": as_message(observation, info)},
    ]
    text: str = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    _, separator, rest = text.partition(REPLY_PLACEHOLDER)
    if not separator:
        raise InvalidArgument("The tokenizer's chat template leaves out what the assistant said before; use another.")
    end = getattr(tokenizer, "eos_token", None)
    if end and reply.endswith(end) and rest.startswith(end):
        rest = rest.removeprefix(end)
    return rest


@dataclass(slots=True)
class TokenEpisode:
    """An episode of `env` as tokens.

    With `max_tokens`, the episode ends, with `done` and `out_of_room`, when the next message would leave no tokens for
    another reply.
    """

    env: Env
    tokenizer: Tokenizer
    max_tokens: int | None = None
    """The maximum number of tokens after the prompt, with replies and messages; None means no limit."""

    prompt_ids: list[int] = field(default_factory=list)
    """The tokens of the prompt."""
    response_ids: list[int] = field(default_factory=list)
    """The tokens of all replies and messages after the prompt."""
    response_mask: list[int] = field(default_factory=list)
    """1 for each token of a reply, 0 for each token of a message; as long as `response_ids`."""
    logprobs: list[float] = field(default_factory=list)
    """The log-probabilities that were passed with the replies, 0 for all other tokens; as long as `response_ids`."""
    rewards: list[float] = field(default_factory=list)
    """The reward of each turn."""
    turn_ends: list[int] = field(default_factory=list)
    """The index in `response_ids` of the last token of each reply, to which a trainer assigns the reward."""
    done: bool = True
    """Whether the episode is over."""
    out_of_room: bool = False
    """Whether it ended because of `max_tokens`."""
    info: Info = field(default_factory=dict)
    """The last info of the environment; at the end it has `success`."""

    def __post_init__(self) -> None:
        if self.env.seats > 1:
            raise InvalidArgument("A policy has one seat: fill the others with gem.make(env_id, opponent='expert').")

    @property
    def ids(self) -> list[int]:
        """All tokens so far, from which the policy continues."""
        return self.prompt_ids + self.response_ids

    @property
    def reward(self) -> float:
        """The sum of the rewards so far."""
        return sum(self.rewards)

    @property
    def room(self) -> int | None:
        """The maximum number of tokens of the next reply; None means no limit."""
        return None if self.max_tokens is None else max(0, self.max_tokens - len(self.response_ids))

    def reset(self, seed: int | None = None) -> list[int]:
        """Begin an episode and return the tokens of its prompt."""
        observation, self.info = self.env.reset(seed=seed)
        self.prompt_ids = self._encode(opening(self.tokenizer, observation, self.info))
        self.response_ids, self.response_mask, self.logprobs = [], [], []
        self.rewards, self.turn_ends = [], []
        self.done = self.out_of_room = False
        return self.prompt_ids

    def step(self, reply_ids: Sequence[int], logprobs: Sequence[float] | None = None) -> float:
        """Take a turn and return its reward.

        Args:
            reply_ids: the tokens of the reply, including the end-of-sequence token if it was sampled.
            logprobs: the log-probability of each of these tokens, if it is known.

        Raises:
            EpisodeOver: if the episode is over.
            InvalidArgument: if there are no tokens, or the number of `logprobs` differs from that of the tokens.
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
            self._append_message(observation, list(reply_ids))
        return reward

    def _append_message(self, observation: str, reply_ids: list[int]) -> None:
        """Append the message of the environment, or end the episode if it leaves no tokens for a reply."""
        message_ids = self._encode(follow_up(self.tokenizer, observation, self.info))
        overlap = min(MAX_OVERLAP, len(reply_ids), len(message_ids))
        while overlap and reply_ids[-overlap:] != message_ids[:overlap]:
            overlap -= 1
        message_ids = message_ids[overlap:]
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
