"""Observations that carry the history: what an agent without memory needs to read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from gem.core import Env, EnvWrapper, Info, State, Step
from gem.errors import InvalidArgument
from gem.seats import observation_for_seat


class ChatTokenizer(Protocol):
    """The methods that a tokenizer needs; those of Hugging Face's transformers have them."""

    def apply_chat_template(
        self, conversation: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool
    ) -> Any:
        """The conversation as one text."""
        ...


def as_message(text: str, info: Info) -> str:
    """A message to an agent: `text` with what `info` puts before it (`prefix`) and after it (`suffix`)."""
    parts = (info.get("prefix", ""), text, info.get("suffix", ""))
    if not parts[0] and not parts[2]:
        return text
    return "\n".join(str(part).rstrip("\n") for part in parts if part)


def maybe_add_new_line(text: str) -> str:
    """`text` with a newline at its end; an empty text stays as it is."""
    return text if not text or text.endswith("\n") else f"{text}\n"


@dataclass(slots=True)
class _History:
    """The observations that one seat has read."""

    instructions: str
    turns: list[list[Any]] = field(default_factory=list)
    """Action, observation and whether a tool said it, of each turn kept; the last observation grows until the seat
    acts again."""

    def take(self, reading: str, length: int | None) -> None:
        """Note what there is to read now."""
        if self.turns:
            self.turns[-1][1] = reading
        else:
            self.instructions = reading
        if length is not None:
            del self.turns[:-length]


class ObservationWrapper(EnvWrapper):
    """Each observation holds all earlier ones, one below the other, and ends with `info["suffix"]`.

    With a chat template each observation is the prompt of a chat model: observations are the user's messages (a
    tool's where `info["use_tool"]` says so), actions the assistant's, and the suffix ends the last message.

    Where there are several seats, each has a history of its own, in `info["seats"]`; the public observation stays as
    it is.

    Args:
        include_action: put each action between the observations around it.
        max_history_length: keep only so many turns of history; the instructions, which come first, always stay.
        include_chat_template: make each observation a chat; actions are then always part of it.
        apply_chat_template_on_reset: make only the first observation a chat, and continue with plain text after it.
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
        self._histories: list[_History] = []

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`."""
        observation, info = self.env.reset(seed=seed)
        self._histories = [_History(observation_for_seat(seat, observation, info)[0]) for seat in range(self.env.seats)]
        return self._with_histories(observation, info)

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        actor = self.env.to_act[0] if self.env.to_act else 0
        observation, reward, terminated, truncated, info = self.env.step(action)
        own = observation_for_seat(actor, observation, info)[1]
        turn = [own.get("parsed_action", action), "", bool(own.get("use_tool", False))]
        self._histories[actor].turns.append(turn)
        for seat, history in enumerate(self._histories):
            history.take(observation_for_seat(seat, observation, info)[0], self.max_history_length)
        observation, info = self._with_histories(observation, info)
        return observation, reward, terminated, truncated, info

    def _with_histories(self, observation: str, info: Info) -> tuple[str, Info]:
        if "seats" not in info:
            return self._history(self._histories[0], info), info
        pairs = zip(info["seats"], self._histories, strict=True)
        told = [{**own, "observation": self._history(history, own)} for own, history in pairs]
        return observation, {**info, "seats": told}

    def _history(self, history: _History, info: Info) -> str:
        if self.include_chat_template:
            return self._chat(history, info)
        parts = [history.instructions]
        if self.apply_chat_template_on_reset:
            if not history.turns:
                return self._templated([("user", as_message(history.instructions, info))])
            parts = [self._templated([("user", history.instructions)])]
        for action, observation, _ in history.turns:
            if self.include_action:
                parts.append(action)
            parts.append(observation)
        lines = "".join(part if part.endswith("\n") else f"{part}\n" for part in parts if part)
        return f"{info.get('prefix', '')}{lines}{info.get('suffix', '')}"

    def _chat(self, history: _History, info: Info) -> str:
        messages = [("user", history.instructions)]
        for action, observation, use_tool in history.turns:
            messages += [("assistant", action), ("tool" if use_tool else "user", observation)]
        role, last = messages.pop()
        return self._templated([*messages, (role, as_message(last, info))])

    def _templated(self, messages: Sequence[tuple[str, str]]) -> str:
        assert self.tokenizer is not None
        chat = [{"role": role, "content": content} for role, content in messages]
        prompt: str = self.tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        return prompt

    def _arguments(self) -> dict[str, Any]:
        return {
            "include_action": self.include_action,
            "max_history_length": self.max_history_length,
            "include_chat_template": self.include_chat_template,
            "apply_chat_template_on_reset": self.apply_chat_template_on_reset,
            "tokenizer": self.tokenizer,
        }

    def _get_own_state(self) -> State:
        return {"histories": [asdict(history) for history in self._histories]}

    def _set_own_state(self, state: State) -> None:
        self._histories = [
            _History(one["instructions"], [list(turn) for turn in one["turns"]]) for one in state["histories"]
        ]
