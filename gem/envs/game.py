r"""The base of every game: the boxed action, the turn counter, the turn limit and the end of an episode.

`Env` says what an environment is; the two classes here do the part that all games have in common. `BoxedEnv` handles
arguments, generator and state for any number of seats; `Game` adds the turns of a game for one seat. A new game
derives from `Game`, sets `pattern` and `prompt`, and defines the abstract methods of both classes. `GuessTheNumber`
is the shortest example, and `docs/add-an-environment.md` walks through another one.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any, ClassVar, Literal

from gem.core import AgentFault, Env, Info, State, Step, reading_state
from gem.envs.sampling import sample_before_reset
from gem.errors import EpisodeOver
from gem.rng import SplitMix64, pack_generator, unpack_generator
from gem.validation.values import check_action

FORMAT_PENALTY = -0.1
"""The reward for an action that cannot be parsed. Such an action also ends the episode."""


class LanguageGameReward:
    """The names that GEM's games use for their rewards, for games written for GEM; other values are allowed too."""

    success_reward = 1.0
    internal_step_reward = 0.0
    fail_reward = 0.0
    invalid_action_reward = 0.0
    format_error_reward = FORMAT_PENALTY


PlayResult = tuple[str, float, Literal["rule"] | None]
"""What a turn of a game leads to: the observation, the reward, and "rule" if the rules forbid the action."""


class BoxedEnv(Env):
    r"""An environment whose actions are written `\boxed{...}`, for one seat or several.

    A subclass keeps its arguments in `self.config`, a frozen dataclass whose fields are the constructor's arguments,
    and draws each episode in `_draw`. Derive from `Game` for one seat, from `gem.envs.multiagent.MultiAgentEnv` for
    several.
    """

    pattern: ClassVar[re.Pattern[str]]
    """Finds actions in the agent's text. The last match counts; `_play` gets it in the form that `findall` returns."""
    config: Any

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.turn = 0
        """Turns taken in this episode."""
        self.over = True
        """Whether no episode is running: before the first `reset` and after the end of an episode."""
        self._num_random_actions = 0
        """Random actions drawn in this turn, so that each call of `sample_random_action` gives another one."""

    @property
    def to_act(self) -> tuple[int, ...]:
        """See `Env.to_act`; empty when the episode is over."""
        return () if self.over else (0,)

    @abstractmethod
    def _draw(self) -> None:
        """Draw a new episode from `self.rng`, and `self.max_turns` if the constructor did not set it."""

    @abstractmethod
    def _instructions(self) -> str:
        """The first observation: the rules and how to write an action."""

    @abstractmethod
    def _format_help(self) -> str:
        """The observation after an action that cannot be parsed."""

    @abstractmethod
    def _random_action(self, rng: SplitMix64) -> str:
        """A valid action, drawn from `rng`."""

    @abstractmethod
    def _get_own_state(self) -> State:
        """The state of the subclass as plain JSON, including parameters that were drawn at reset."""

    @abstractmethod
    def _set_own_state(self, state: State) -> None:
        """Restore what `_get_own_state` returned."""

    def _common_state(self) -> State:
        """The state that a base class for a kind of environments, such as `Game`, adds to the one kept here."""
        return {}

    def _set_common_state(self, state: State) -> None:
        """Restore what `_common_state` returned."""

    def get_state(self) -> State:
        """See `Env.get_state`."""
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
        """See `Env.set_state`."""
        with reading_state(self):
            self.seed = state["seed"]
            self._next_seed = None  # the constructor's seed was for the first episode; this one has begun already
            self.rng = unpack_generator(state["rng"])
            self.turn = state["turn"]
            self.over = state["over"]
            self.max_turns = state["max_turns"]
            self._num_random_actions = 0
            self._set_common_state(state)
            self._set_own_state(state)

    def sample_random_action(self) -> str:
        """See `Env.sample_random_action`. The action depends on the seed, the turn and the number of earlier calls."""
        self._num_random_actions += 1
        if self.seed is None:
            return sample_before_reset(self, self._num_random_actions)
        if self.draw_key:
            return self._random_action(SplitMix64(self.draw_key, self.seed, self.turn, self._num_random_actions))
        return self._random_action(SplitMix64(self.seed, self.turn, self._num_random_actions))

    def skip_random_actions(self, number: int) -> None:
        """See `Env.skip_random_actions`."""
        if type(self).sample_random_action is BoxedEnv.sample_random_action:
            self._num_random_actions += number  # each draw is made from it
        else:
            super().skip_random_actions(number)

    def _require_reset(self) -> None:
        """Raise `EpisodeOver` if there has been no `reset` yet."""
        if self.seed is None:
            raise self._episode_over_error()

    def _episode_over_error(self) -> EpisodeOver:
        """The exception to raise when an episode is needed and none is running."""
        if self.seed is None:
            return EpisodeOver("There is no episode yet; call reset() first.")
        return EpisodeOver("The episode is over; call reset() to begin another one.")


class Game(BoxedEnv):
    """A game for one seat with a turn limit.

    `step` parses the action, counts the turn and ends the episode at the turn limit. A subclass plays the parsed
    action in `_play`, and sets `self.over`, and if need be `self.solved`, when it ends the episode.
    """

    prompt: ClassVar[str] = ""
    """The question at the end of `_suffix`. `step` removes it when the episode is over."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(seed)
        self.solved = False
        """Whether the episode ended in success."""

    @abstractmethod
    def _play(self, match: Any) -> PlayResult:
        """Play a parsed action; set `self.over` and `self.solved` if it ends the episode."""

    @abstractmethod
    def _suffix(self) -> str:
        """What the agent reads after the observation: the board, and `prompt` at its end."""

    def _reward_at_limit(self, reward: float) -> float:
        """The reward of the last turn when the turn limit ends the episode; override it to give partial credit."""
        return reward

    def _start(self) -> tuple[str, Info]:
        self.turn = 0
        self.over = self.solved = False
        self._num_random_actions = 0
        self._draw()
        return self._instructions(), {"suffix": self._suffix()}

    def step(self, action: str) -> Step:
        """See `Env.step`. An action that `pattern` does not match earns `FORMAT_PENALTY` and ends the episode."""
        is_over = self.over  # read into a local, or mypy takes `self.over` for False in the rest of the method
        if is_over:
            raise self._episode_over_error()
        try:
            matches = self.pattern.findall(action)
        except TypeError:  # checking the action only now saves time in every turn
            check_action(action)
            raise
        self.turn += 1
        self._num_random_actions = 0
        truncated = False
        fault: AgentFault | None
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
