r"""What all games share: the boxed action, the turn counter, the turn limit and the guard at the end.

A game defines `pattern` and the six methods that raise here or say "override"; `GuessTheNumber` is the shortest
example, and `docs/add-an-environment.md` walks through one.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any, ClassVar, Literal

from gem.core import Env, Info, State, Step, check_action, reading_state
from gem.errors import EpisodeOver
from gem.rng import SplitMix64, pack_generator, unpack_generator

FORMAT_PENALTY = -0.1
"""The reward of an action that cannot be parsed; it also ends the episode."""


class LanguageGameReward:
    """GEM's rewards by name, for games written for it; a game may earn something in between."""

    success_reward = 1.0
    internal_step_reward = 0.0
    fail_reward = 0.0
    invalid_action_reward = 0.0
    format_error_reward = FORMAT_PENALTY


Played = tuple[str, float, Literal["rule"] | None]
"""What happened in words, the reward, and whether the action was against the rules."""


class BoxedEnv(Env):
    r"""An environment whose actions are written `\boxed{...}`: its arguments, generator, turn counter and state.

    Subclasses keep their arguments in `self.config` (a frozen dataclass whose fields are the constructor's
    arguments) and draw the episode in `_draw`. `Game` has one seat, `gem.envs.multiagent.MultiAgentEnv` several.
    """

    pattern: ClassVar[re.Pattern[str]]
    """Finds the actions in a text; the last one counts, as `findall` returns it."""
    config: Any

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.turn = 0
        self.over = True
        self._asked = 0  # random actions asked for at this turn, so that two questions get two answers

    @property
    def to_act(self) -> tuple[int, ...]:
        """As `Env.to_act`; nobody after the end."""
        return () if self.over else (0,)

    @abstractmethod
    def _draw(self) -> None:
        """Draw a new episode from `self.rng`; set `self.max_turns`."""

    @abstractmethod
    def _instructions(self) -> str:
        """The rules and the action format, as the first observation."""

    @abstractmethod
    def _format_help(self) -> str:
        """What to say to an action that cannot be parsed."""

    @abstractmethod
    def _random_action(self, rng: SplitMix64) -> str:
        """A valid action, drawn from `rng`."""

    @abstractmethod
    def _get_own_state(self) -> State:
        """What the environment remembers, as plain JSON, parameters drawn at reset included."""

    @abstractmethod
    def _set_own_state(self, state: State) -> None:
        """Take back what `_get_own_state` returned."""

    def _common_state(self) -> State:
        """What an environment of this kind remembers besides."""
        return {}

    def _set_common_state(self, state: State) -> None:
        """Take back what `_common_state` returned."""

    def get_state(self) -> State:
        """As `Env.get_state`."""
        return {
            "seed": self.seed,
            "rng": pack_generator(self.rng),
            "turn": self.turn,
            "over": self.over,
            **self._common_state(),
            "max_turns": self.max_turns,
            **self._get_own_state(),
        }

    def set_state(self, state: State) -> None:
        """As `Env.set_state`."""
        with reading_state(self):
            self.seed = state["seed"]
            self._next_seed = None  # the constructor's was for the first episode, and this one is under way
            self.rng = unpack_generator(state["rng"])
            self.turn = state["turn"]
            self.over = state["over"]
            self.max_turns = state["max_turns"]
            self._asked = 0
            self._set_common_state(state)
            self._set_own_state(state)

    def sample_random_action(self) -> str:
        """As `Env.sample_random_action`: follows from the seed, the turn and how often this turn was asked."""
        self._expect_begun()
        assert self.seed is not None
        self._asked += 1
        return self._random_action(SplitMix64(self.seed, self.turn, self._asked))

    def _expect_begun(self) -> None:
        """Refuse what only makes sense in an episode, before the first one."""
        if self.seed is None:
            raise self._no_episode()

    def _no_episode(self) -> EpisodeOver:
        if self.seed is None:
            return EpisodeOver("There is no episode yet; call reset() first.")
        return EpisodeOver("The episode is over; call reset() to begin another one.")


class Game(BoxedEnv):
    r"""A turn-limited game for one seat.

    Subclasses set `self.over` and `self.solved` in `_play`.
    """

    prompt: ClassVar[str] = ""
    """The question with which `_suffix` ends; nobody is asked it after the end of the episode."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.solved = False

    @abstractmethod
    def _play(self, match: Any) -> Played:
        """Take the parsed action; set `self.over` and `self.solved` if it ends the episode."""

    @abstractmethod
    def _suffix(self) -> str:
        """The board and, at its end, `prompt`."""

    def _reward_at_limit(self, reward: float) -> float:
        """The last reward of an episode that the turn limit ends; games with partial credit override it."""
        return reward

    def _start(self) -> tuple[str, Info]:
        self.turn = 0
        self.over = self.solved = False
        self._asked = 0
        self._draw()
        return self._instructions(), {"suffix": self._suffix()}

    def step(self, action: str) -> Step:
        """As `Env.step`. An action without a match ends the episode with `FORMAT_PENALTY`."""
        already_over = self.over
        if already_over:
            raise self._no_episode()
        try:
            matches = self.pattern.findall(action)
        except TypeError:
            check_action(action)
            raise
        self.turn += 1
        self._asked = 0
        truncated = False
        fault: Literal["format", "rule"] | None
        if matches:
            text, reward, fault = self._play(matches[-1])
            terminated = self.over
            if self.turn >= self.max_turns and not terminated:
                self.over = truncated = True
                reward = self._reward_at_limit(reward)
                text = f"{text} That was turn {self.turn} of {self.max_turns}: the turn limit ends the episode."
        else:
            self.over = terminated = True
            text, reward, fault = self._format_help(), FORMAT_PENALTY, "format"
        info: Info = {"suffix": self._suffix()}
        if fault is not None:
            info["error"] = fault
        if terminated or truncated:
            info["success"] = self.solved
            info["suffix"] = info["suffix"].removesuffix(self.prompt).rstrip("\n")
        return text, reward, terminated, truncated, info

    def _common_state(self) -> State:
        return {"solved": self.solved}

    def _set_common_state(self, state: State) -> None:
        self.solved = state["solved"]
