"""Observations that carry the history: what an agent without memory needs to read."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from gem.core import Env, EnvWrapper, Info, State, Step
from gem.errors import InvalidArgument
from gem.seats import perceived


@dataclass(slots=True)
class _History:
    """What one seat has read."""

    instructions: str
    turns: list[list[str]] = field(default_factory=list)
    """Action and observation of each of its turns that is kept; the last observation grows until it acts again."""

    def take(self, reading: str, length: int | None) -> None:
        """Note what there is to read now."""
        if self.turns:
            self.turns[-1][1] = reading
        else:
            self.instructions = reading
        if length is not None:
            del self.turns[:-length]

    def text(self, info: Info, include_action: bool) -> str:
        """All of it, with what the info puts around it."""
        parts = [self.instructions]
        for action, reading in self.turns:
            if include_action:
                parts.append(action)
            parts.append(reading)
        lines = "".join(part if part.endswith("\n") else f"{part}\n" for part in parts if part)
        return f"{info.get('prefix', '')}{lines}{info.get('suffix', '')}"


class ObservationWrapper(EnvWrapper):
    """Each observation holds all earlier ones, one below the other, and ends with `info["suffix"]`.

    Args:
        include_action: put each action between the observations around it.
        max_history_length: keep only so many turns of history; the instructions, which come first, always stay.

    Where there are several seats, each has a history of its own, in `info["seats"]`; the public observation stays as
    it is.

    Raises:
        InvalidArgument: if `max_history_length` is below 1.
    """

    def __init__(self, env: Env, include_action: bool = False, max_history_length: int | None = None) -> None:
        super().__init__(env)
        if max_history_length is not None and max_history_length < 1:
            raise InvalidArgument(f"max_history_length must be at least 1, not {max_history_length}.")
        self.include_action = include_action
        self.max_history_length = max_history_length
        self._histories: list[_History] = []

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`."""
        observation, info = self.env.reset(seed=seed)
        readings = [perceived(seat, observation, info)[0] for seat in range(self.env.seats)]
        self._histories = [_History(reading) for reading in readings]
        return self._with_histories(observation, info)

    def step(self, action: str) -> Step:
        """As `Env.step`."""
        actor = self.env.to_act[0] if self.env.to_act else 0
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._histories[actor].turns.append([info.get("parsed_action", action), ""])
        for seat, one in enumerate(self._histories):
            one.take(perceived(seat, observation, info)[0], self.max_history_length)
        observation, info = self._with_histories(observation, info)
        return observation, reward, terminated, truncated, info

    def _with_histories(self, observation: str, info: Info) -> tuple[str, Info]:
        if "seats" not in info:
            return self._histories[0].text(info, self.include_action), info
        pairs = zip(info["seats"], self._histories, strict=True)
        told = [{**own, "observation": one.text(own, self.include_action)} for own, one in pairs]
        return observation, {**info, "seats": told}

    def _arguments(self) -> dict[str, Any]:
        return {"include_action": self.include_action, "max_history_length": self.max_history_length}

    def _get_own_state(self) -> State:
        return {"histories": [asdict(one) for one in self._histories]}

    def _set_own_state(self, state: State) -> None:
        self._histories = [
            _History(one["instructions"], [list(turn) for turn in one["turns"]]) for one in state["histories"]
        ]
