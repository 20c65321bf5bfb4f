"""Environments stepped one after the other in this process."""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable, Sequence

from gem.core import Env, Info, Step
from gem.errors import EpisodeOver, InvalidArgument, UsageError

logger = logging.getLogger(__name__)

VectorStep = tuple[list[str], list[float], list[bool], list[bool], list[Info]]


class AutoresetMode(enum.Enum):
    """What a vector does with an environment whose episode has ended."""

    SAME_STEP = "SameStep"
    """Reset it in the same step: the observation is the new episode's, `final_observation` and `final_info` in the
    info are the ended one's."""
    NEXT_STEP = "NextStep"
    """Return the last observation; the next step ignores the action for it and resets it, with reward 0."""
    DISABLED = "Disabled"
    """Leave it: the caller resets it, with `reset(mask=...)` or `reset_one`."""


class SyncVectorEnv:
    """A fixed number of slots with an environment each.

    An environment that raises is reported in its slot: observation "", reward 0, truncated, and the reason in
    `info["failure"]`; it is made anew before its next episode, and the others go on. Misuse of the engine
    (`UsageError`) is raised.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    ) -> None:
        self.env_fns = list(env_fns)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self._envs: list[Env | None] = [env_fn() for env_fn in self.env_fns]
        self._ended = [False] * len(self.env_fns)

    @property
    def num_envs(self) -> int:
        """How many slots there are."""
        return len(self.env_fns)

    @property
    def envs(self) -> list[Env]:
        """The environments; one that broke is made anew."""
        return [self.env(i) for i in range(self.num_envs)]

    def reset(
        self, seed: int | Sequence[int | None] | None = None, mask: Sequence[bool] | None = None
    ) -> tuple[list[str], list[Info]]:
        """Begin an episode in every slot, or in those that `mask` names (the others give "" and an empty info).

        Args:
            seed: one for each slot, or a number to which the slot's index is added.

        Raises:
            InvalidArgument: if `seed` or `mask` has another length than there are slots.
        """
        seeds = self._seeds(seed)
        if mask is not None:
            self._check_length("mask", mask)
        observations, infos = [], []
        for i in range(self.num_envs):
            chosen = mask is None or mask[i]
            observation, info = self.reset_one(i, seeds[i]) if chosen else ("", {})
            observations.append(observation)
            infos.append(info)
        return observations, infos

    def step(self, actions: Sequence[str | None]) -> VectorStep:
        """Take a turn in every slot: lists of observations, rewards, terminated, truncated, infos.

        Args:
            actions: one for each slot; None leaves a slot as it is (and gives "", 0, False, False, {}).

        Raises:
            InvalidArgument: if there are not as many actions as slots.
            EpisodeOver: before `reset`, or after the end of an episode when autoreset is disabled.
        """
        steps = self.step_each(actions)
        return (
            [step[0] for step in steps],
            [step[1] for step in steps],
            [step[2] for step in steps],
            [step[3] for step in steps],
            [step[4] for step in steps],
        )

    def step_each(self, actions: Sequence[str | None]) -> list[Step]:
        """As `step`, with one tuple for each slot."""
        self._check_length("actions", actions)
        return [_IDLE if action is None else self._step_one(i, action) for i, action in enumerate(actions)]

    def reset_one(self, i: int, seed: int | None = None) -> tuple[str, Info]:
        """Begin an episode in slot `i`; if its environment breaks, "" and an info with `failure`."""
        try:
            observation, info = self.env(i).reset(seed=seed)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever one environment raises, the others go on)
            return "", self._fail(i, error)
        self._ended[i] = False
        return observation, info

    def add(self, env_fn: Callable[[], Env]) -> int:
        """Add a slot and return its index; its environment is made by the first reset."""
        self.env_fns.append(env_fn)
        self._envs.append(None)
        self._ended.append(True)
        return self.num_envs - 1

    def replace(self, i: int, env_fn: Callable[[], Env]) -> None:
        """Close the environment in slot `i`; the next reset makes another one with `env_fn`."""
        self._close_one(i)
        self.env_fns[i] = env_fn

    def close(self) -> None:
        """Release what the environments hold; safe to call twice."""
        for i in range(self.num_envs):
            self._close_one(i)

    def _step_one(self, i: int, action: str) -> Step:
        if self._ended[i] and self.autoreset_mode is AutoresetMode.NEXT_STEP:
            observation, info = self.reset_one(i)
            return observation, 0.0, False, self._ended[i], info
        env = self._envs[i]
        if env is None:
            raise EpisodeOver(f"The environment in slot {i} has no episode; reset it first.")
        try:
            step = env.step(action)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever one environment raises, the others go on)
            step = "", 0.0, False, True, self._fail(i, error)
        observation, reward, terminated, truncated, info = step
        if not (terminated or truncated):
            return step
        self._ended[i] = True
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            return step
        first_observation, first_info = self.reset_one(i)
        first_info = {**first_info, "final_observation": observation, "final_info": info}
        return first_observation, reward, terminated, truncated, first_info

    def env(self, i: int) -> Env:
        """The environment in slot `i`, made if it has to be."""
        env = self._envs[i]
        if env is None:
            env = self._envs[i] = self.env_fns[i]()
        return env

    def _fail(self, i: int, error: Exception) -> Info:
        logger.warning("The environment in slot %d failed", i, exc_info=error)
        self._close_one(i)
        self._ended[i] = True
        return {"failure": f"{type(error).__name__}: {error}"}

    def _close_one(self, i: int) -> None:
        env, self._envs[i] = self._envs[i], None
        if env is None:
            return
        try:
            env.close()
        except Exception:
            logger.warning("The environment in slot %d could not be closed", i, exc_info=True)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int):
            return [seed + i for i in range(self.num_envs)]
        self._check_length("seeds", seed)
        return seed

    def _check_length(self, what: str, given: Sequence[object]) -> None:
        if len(given) != self.num_envs:
            raise InvalidArgument(f"{self.num_envs} environments need as many {what}, not {len(given)}.")


_IDLE: Step = ("", 0.0, False, False, {})
