"""The interface of vectors of environments."""

from __future__ import annotations

import asyncio
import enum
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self

from gem.core import Info, State, Step
from gem.errors import EpisodeOver, InvalidArgument, UsageError
from gem.validation.values import check_action, check_seed


class Flags(list[bool]):
    """A list with a boolean for each slot, with the element-wise operators of a NumPy array.

    `terminated | truncated`, `terminated & mask` and `~done` return flags. The other operand may be any sequence of
    the same length, for example a NumPy array.
    """

    def __or__(self, other: Sequence[bool]) -> Flags:
        return Flags(bool(left or right) for left, right in zip(self, other, strict=True))

    __ror__ = __or__

    def __and__(self, other: Sequence[bool]) -> Flags:
        return Flags(bool(left and right) for left, right in zip(self, other, strict=True))

    __rand__ = __and__

    def __invert__(self) -> Flags:
        return Flags(not flag for flag in self)

    def any(self) -> bool:
        """Whether at least one of them is true."""
        return any(self)

    def all(self) -> bool:
        """Whether all of them are true."""
        return all(self)


VectorStep = tuple[list[str], list[float], Flags, Flags, list[Info]]
Actions = Sequence[str | None] | Mapping[int, str]
"""One action for each slot (None for a slot that takes no turn), or a mapping from slots to actions."""


class AutoresetMode(enum.Enum):
    """How a vector treats an environment whose episode has ended."""

    SAME_STEP = "SameStep"
    """Reset it in the same step. The observation is that of the new episode, and the info has the `final_observation`
    and `final_info` of the ended one; if the environment failed in its step, both infos have `failure`. If the reset
    fails, the info has that `failure`, and the next step ignores the action and tries again."""
    NEXT_STEP = "NextStep"
    """Return the last observation. The next step ignores the action and resets the environment, with reward 0."""
    DISABLED = "Disabled"
    """Leave it. The caller resets it with `reset(mask=...)` or `reset_one`."""


_ACTION_TYPES = {str, type(None)}
IDLE_STEP: Step = ("", 0.0, False, False, {})
"""The step of a slot without an action."""
CLOSED_MESSAGE = "The vector is closed; make another one."


class VectorEnv(ABC):
    """A number of slots with one environment each, which are stepped together.

    The same environments, seeds and actions give the same turns in every kind of vector and for any number of slots.
    If an environment raises an exception, the step of its slot has the observation "", the reward 0, `truncated`, and
    the reason in `info["failure"]`. The environment is made again before its next episode; the others continue. Only
    misuse of the engine (`UsageError`) is raised to the caller.
    """

    autoreset_mode: AutoresetMode
    _is_stepping = False
    _awaits_reset: list[bool]
    """Whether each slot has no episode that a step could continue or replace: it has had none yet, or its episode has
    ended and autoreset is disabled."""

    @property
    @abstractmethod
    def num_envs(self) -> int:
        """The number of slots."""

    @abstractmethod
    def reset_some(self, seeds: Mapping[int, int | None]) -> dict[int, tuple[str, Info]]:
        """Begin an episode in each of the given slots with its seed.

        If an environment fails, its observation is "" and its info has `failure`.
        """

    @abstractmethod
    def step_each(self, actions: Actions) -> list[Step]:
        """Take a turn in every slot like `step`, and return one tuple for each slot."""

    @abstractmethod
    def get_states(self) -> list[State]:
        """Return the state of every environment, as plain JSON."""

    @abstractmethod
    def set_states(self, states: Sequence[State]) -> None:
        """Continue from states that `get_states` returned.

        Raises:
            InvalidArgument: if they are not one such state for each slot. If one has not even the form of a state, no
                slot has changed.
        """

    @abstractmethod
    def close(self) -> None:
        """Close all environments; it may be called twice."""

    def reset(
        self, seed: int | Sequence[int | None] | None = None, mask: Sequence[bool] | None = None
    ) -> tuple[list[str], list[Info]]:
        """Begin an episode in every slot.

        Args:
            seed: one for each slot, or a number to which the index of the slot is added.
            mask: the slots to reset; the others get "" and an empty info.

        Raises:
            InvalidArgument: if the length of `seed` or `mask` is not the number of slots, or one of the seeds is none.
                Then no slot has been reset.
        """
        seeds = self._seeds_by_slot(seed)
        if mask is not None:
            self._check_length("flags in the mask", mask)
        results = self.reset_some({i: seeds[i] for i in range(self.num_envs) if mask is None or mask[i]})
        no_result: tuple[str, Info] = ("", {})
        slot_results = [results.get(i, no_result) for i in range(self.num_envs)]
        return [result[0] for result in slot_results], [result[1] for result in slot_results]

    def step(self, actions: Actions) -> VectorStep:
        """Take a turn in every slot; return lists of observations, rewards, terminated, truncated and infos.

        Args:
            actions: one for each slot; a slot with None takes no turn and gets `IDLE_STEP`. Or a dictionary from slot
                to action: then only these slots take a turn, and the lists have only their results, in the order of
                the dictionary.

        Raises:
            InvalidArgument: if the number of actions is not that of the slots, a slot does not exist, or an action is
                not a string. Then no slot has taken a turn.
            EpisodeOver: before `reset`, or after the end of an episode if autoreset is disabled. Then no slot has taken
                a turn.
        """
        steps = self.step_each(actions)
        if isinstance(actions, Mapping):
            steps = [steps[slot] for slot in actions]
        return (
            [step[0] for step in steps],
            [step[1] for step in steps],
            Flags(step[2] for step in steps),
            Flags(step[3] for step in steps),
            [step[4] for step in steps],
        )

    async def step_async(self, actions: Actions) -> VectorStep:
        """Take a turn like `step`, without blocking the event loop.

        A turn that has begun cannot be undone: if this call is cancelled, it waits for the end of the turn and discards
        the result. If it is cancelled a second time, it returns at once, and no other step can begin before the end.

        Raises:
            UsageError: if another `step_async` is running.
        """
        if self._is_stepping:
            raise UsageError("A step of this vector is under way; await it before the next one.")
        self._is_stepping = True
        step = asyncio.ensure_future(asyncio.to_thread(self.step, actions))
        step.add_done_callback(self._end_step)
        try:
            return await asyncio.shield(step)
        finally:
            if not step.done():
                await asyncio.wait([step])

    def _end_step(self, _: object) -> None:
        self._is_stepping = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _actions_by_slot(self, actions: Actions) -> Sequence[str | None]:
        """Return one action, or None, for each slot, after checking that every slot can take its turn.

        Raises:
            InvalidArgument: if the actions do not fit the slots, or one of them is not a string.
            EpisodeOver: if a slot with an action has to be reset first.
        """
        action_list: Sequence[str | None]
        if isinstance(actions, Mapping):
            unknown = [i for i in actions if not (hasattr(i, "__index__") and 0 <= i < self.num_envs)]
            if unknown:
                raise InvalidArgument(f"There is no slot {unknown[0]!r}; the slots are 0 to {self.num_envs - 1}.")
            action_list = [actions.get(i) for i in range(self.num_envs)]
        else:
            self._check_length("actions", actions)
            action_list = actions
        if True not in self._awaits_reset and set(map(type, action_list)) <= _ACTION_TYPES:  # the usual, fast case
            return action_list
        for i, action in enumerate(action_list):
            if action is None:
                continue
            check_action(action)
            if self._awaits_reset[i]:
                raise EpisodeOver(f"The environment in slot {i} has no episode under way; reset it first.")
        return action_list

    def _seeds_by_slot(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        """Return one seed, or None, for each slot.

        Raises:
            InvalidArgument: if the seeds do not fit the slots, or one of them is none.
        """
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int) or not hasattr(seed, "__len__"):  # NumPy's integers are not instances of int
            first_seed = check_seed(seed)
            return [check_seed(first_seed + i) for i in range(self.num_envs)]
        self._check_length("seeds", seed)
        return [None if one is None else check_seed(one) for one in seed]

    def _check_states(self, states: Sequence[object]) -> None:
        self._check_length("states", states)
        for i, state in enumerate(states):
            if not isinstance(state, Mapping) or not state.keys() >= {"env", "ended"}:
                raise InvalidArgument(f"For slot {i}, this is not a state of get_states(): {reprlib.repr(state)}.")

    def _check_length(self, noun: str, values: Sequence[object]) -> None:
        if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
            raise InvalidArgument(f"{self.num_envs} environments need a list of {noun}, not {reprlib.repr(values)}.")
        if len(values) != self.num_envs:
            raise InvalidArgument(f"{self.num_envs} environments need as many {noun}, not {len(values)}.")

    @staticmethod
    def _parse_mode(mode: AutoresetMode | str) -> AutoresetMode:
        """Return the mode with this name or value, which may be that of another enum, such as Gymnasium's.

        Raises:
            InvalidArgument: if there is none.
        """
        named = AutoresetMode.__members__.get(mode) if isinstance(mode, str) else None
        try:
            return named or AutoresetMode(getattr(mode, "value", mode))
        except ValueError:
            names = ", ".join(f"AutoresetMode.{member.name} ({member.value!r})" for member in AutoresetMode)
            raise InvalidArgument(f"autoreset_mode is one of {names}, not {mode!r}.") from None
