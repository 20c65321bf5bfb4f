"""Observations that carry the history: what an agent without memory needs to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gem.core import Env, EnvWrapper, Info, State, Step
from gem.errors import InvalidArgument


class ChatTokenizer(Protocol):
    """What is asked of a tokenizer; those of Hugging Face's transformers have it."""

    def apply_chat_template(
        self, conversation: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool
    ) -> Any:
        """The conversation as one text."""
        ...


class ObservationWrapper(EnvWrapper):
    """Each observation holds all earlier ones, one below the other, and ends with `info["suffix"]`.

    With a chat template each observation is the prompt of a chat model: observations are the user's messages (a
    tool's where `info["use_tool"]` says so), actions the assistant's, and the suffix ends the last message.

    Args:
        include_action: put each action between the observations around it.
        max_history_length: keep only so many turns of history; the instructions, which come first, always stay.
        include_chat_template: make each observation a chat; actions are then always part of it.
        apply_chat_template_on_reset: make only the first observation a chat, and go on with plain text after it.
        tokenizer: has the template, as `apply_chat_template` of a Hugging Face tokenizer.

    Raises:
        InvalidArgument: if `max_history_length` is below 1, or a chat is asked for without a tokenizer or twice.
    """

    def __init__(
        self,
        env: Env,
        include_action: bool = False,
        max_history_length: int | None = None,
        include_chat_template: bool = False,
        apply_chat_template_on_reset: bool = False,
        tokenizer: ChatTokenizer | None = None,
    ) -> None:
        super().__init__(env)
        if include_chat_template and apply_chat_template_on_reset:
            raise InvalidArgument("Choose one: a chat template on every observation, or only on the first.")
        if (include_chat_template or apply_chat_template_on_reset) and tokenizer is None:
            raise InvalidArgument("A chat template comes from a tokenizer: get_wrapper_fns(names, tokenizer=...).")
        self.include_chat_template = include_chat_template
        self.apply_chat_template_on_reset = apply_chat_template_on_reset
        self.tokenizer = tokenizer
        if max_history_length is not None and max_history_length < 1:
            raise InvalidArgument(f"max_history_length must be at least 1, not {max_history_length}.")
        self.include_action = include_action
        self.max_history_length = max_history_length
        self._instructions = ""
        self._turns: list[list[Any]] = []  # [action, observation, whether a tool said it] of each turn kept

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`."""
        self._instructions, info = self.env.reset(seed=seed)
        self._turns = []
        return self._history(info), info

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._turns.append([info.get("parsed_action", action), observation, bool(info.get("use_tool", False))])
        if self.max_history_length is not None:
            del self._turns[: -self.max_history_length]
        return self._history(info), reward, terminated, truncated, info

    def _history(self, info: Info) -> str:
        if self.include_chat_template:
            return self._chat(info)
        parts = [self._instructions]
        if self.apply_chat_template_on_reset:
            if not self._turns:
                return self._templated([("user", self._ended(self._instructions, info))])
            parts = [self._templated([("user", self._instructions)])]
        for action, observation, _ in self._turns:
            if self.include_action:
                parts.append(action)
            parts.append(observation)
        lines = "".join(part if part.endswith("\n") else f"{part}\n" for part in parts if part)
        return f"{info.get('prefix', '')}{lines}{info.get('suffix', '')}"

    def _chat(self, info: Info) -> str:
        messages = [("user", self._instructions)]
        for action, observation, use_tool in self._turns:
            messages += [("assistant", action), ("tool" if use_tool else "user", observation)]
        role, last = messages.pop()
        return self._templated([*messages, (role, self._ended(last, info))])

    def _templated(self, messages: Sequence[tuple[str, str]]) -> str:
        assert self.tokenizer is not None
        chat = [{"role": role, "content": content} for role, content in messages]
        prompt: str = self.tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        return prompt

    @staticmethod
    def _ended(text: str, info: Info) -> str:
        """A message with what belongs before and after it now."""
        parts = (info.get("prefix", ""), text, info.get("suffix", ""))
        return "\n".join(str(part).rstrip("\n") for part in parts if part)

    def _arguments(self) -> dict[str, Any]:
        return {
            "include_action": self.include_action,
            "max_history_length": self.max_history_length,
            "include_chat_template": self.include_chat_template,
            "apply_chat_template_on_reset": self.apply_chat_template_on_reset,
            "tokenizer": self.tokenizer,
        }

    def _get_own_state(self) -> State:
        return {"instructions": self._instructions, "turns": [list(turn) for turn in self._turns]}

    def _set_own_state(self, state: State) -> None:
        self._instructions = state["instructions"]
        self._turns = [list(turn) for turn in state["turns"]]
