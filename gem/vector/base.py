"""What every vector of environments offers, wherever its environments live."""

from __future__ import annotations

import asyncio
import enum
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self

from gem.core import Info, State, Step, check_seed
from gem.errors import InvalidArgument, UsageError


class Flags(list[bool]):
    """Yes or no for each slot: a list that is combined slot by slot, as scripts do with arrays.

    `terminated | truncated`, `terminated & mask` and `~done` give flags again; the other side may be any sequence of
    the same length, an array of NumPy's too.
    """

    def __or__(self, other: Sequence[bool]) -> Flags:
        return Flags(bool(own or its) for own, its in zip(self, other, strict=True))

    __ror__ = __or__

    def __and__(self, other: Sequence[bool]) -> Flags:
        return Flags(bool(own and its) for own, its in zip(self, other, strict=True))

    __rand__ = __and__

    def __invert__(self) -> Flags:
        return Flags(not own for own in self)

    def any(self) -> bool:
        """Whether one of them is true."""
        return any(self)

    def all(self) -> bool:
        """Whether all of them are true."""
        return all(self)


VectorStep = tuple[list[str], list[float], Flags, Flags, list[Info]]
Actions = Sequence[str | None] | Mapping[int, str]
"""One action for each slot (None leaves a slot as it is), or some slots' actions by index."""


class AutoresetMode(enum.Enum):
    """What a vector does with an environment whose episode has ended."""

    SAME_STEP = "SameStep"
    """Reset it in the same step: the observation is the new episode's, `final_observation` and `final_info` in the
    info are the ended one's. If it breaks in that reset, the next step ignores the action for it and tries again."""
    NEXT_STEP = "NextStep"
    """Return the last observation; the next step ignores the action for it and resets it, with reward 0."""
    DISABLED = "Disabled"
    """Leave it: the caller resets it, with `reset(mask=...)` or `reset_one`."""


IDLE: Step = ("", 0.0, False, False, {})
"""What a slot without an action gives."""
CLOSED = "The vector is closed; make another one."


class VectorEnv(ABC):
    """A number of slots with an environment each, stepped together.

    The same environments, seeds and actions give the same turns in every kind of vector, for any number of slots.
    An environment that raises is reported in its slot: observation "", reward 0, truncated, and the reason in
    `info["failure"]`; it is made anew before its next episode, and the others go on. Misuse of the engine
    (`UsageError`) is raised.
    """

    autoreset_mode: AutoresetMode
    _under_way = False

    @property
    @abstractmethod
    def num_envs(self) -> int:
        """How many slots there are."""

    @abstractmethod
    def reset_some(self, seeds: Mapping[int, int | None]) -> dict[int, tuple[str, Info]]:
        """Begin an episode in the slots named, each with its seed; if an environment breaks, "" and `failure`."""

    @abstractmethod
    def step_each(self, actions: Actions) -> list[Step]:
        """As `step`, with one tuple for each slot."""

    @abstractmethod
    def get_states(self) -> list[State]:
        """The state of every environment, as plain JSON."""

    @abstractmethod
    def set_states(self, states: Sequence[State]) -> None:
        """Continue from what `get_states` returned."""

    @abstractmethod
    def close(self) -> None:
        """Release what the environments hold; safe to call twice."""

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
            self._check_length("flags in the mask", mask)
        begun = self.reset_some({i: seeds[i] for i in range(self.num_envs) if mask is None or mask[i]})
        nothing: tuple[str, Info] = ("", {})
        results = [begun.get(i, nothing) for i in range(self.num_envs)]
        return [result[0] for result in results], [result[1] for result in results]

    def step(self, actions: Actions) -> VectorStep:
        """Take a turn in every slot: lists of observations, rewards, terminated, truncated, infos.

        Args:
            actions: one for each slot; a slot with None stays as it is and gives "", 0, False, False, {}. Or a
                dictionary from slot to action: only these slots take a turn, and the lists have theirs alone, in
                the dictionary's order.

        Raises:
            InvalidArgument: if there are not as many actions as slots, or an index is none of a slot's.
            EpisodeOver: before `reset`, or after the end of an episode when autoreset is disabled.
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
        """As `step`, without blocking the event loop.

        A turn that has begun is taken: where this is cancelled, it waits for the turn to end and gives up its result.
        Cancelled once more it does not wait either, and until that end no other step begins.

        Raises:
            UsageError: if another `step_async` is under way.
        """
        if self._under_way:
            raise UsageError("A step of this vector is under way; await it before the next one.")
        self._under_way = True
        taking = asyncio.ensure_future(asyncio.to_thread(self.step, actions))
        taking.add_done_callback(self._taken)
        try:
            return await asyncio.shield(taking)
        finally:
            if not taking.done():
                await asyncio.wait([taking])

    def _taken(self, _: object) -> None:
        self._under_way = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _listed(self, actions: Actions) -> Sequence[str | None]:
        """The actions as one for each slot."""
        if isinstance(actions, Mapping):
            unknown = [i for i in actions if not (hasattr(i, "__index__") and 0 <= i < self.num_envs)]
            if unknown:
                raise InvalidArgument(f"There is no slot {unknown[0]!r}; the slots are 0 to {self.num_envs - 1}.")
            return [actions.get(i) for i in range(self.num_envs)]
        self._check_length("actions", actions)
        return actions

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int) or not hasattr(seed, "__len__"):  # integers of NumPy's too
            first = check_seed(seed)
            return [first + i for i in range(self.num_envs)]
        self._check_length("seeds", seed)
        return seed

    def _check_length(self, what: str, given: Sequence[object]) -> None:
        if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
            raise InvalidArgument(f"{self.num_envs} environments need a list of {what}, not {reprlib.repr(given)}.")
        if len(given) != self.num_envs:
            raise InvalidArgument(f"{self.num_envs} environments need as many {what}, not {len(given)}.")

    @staticmethod
    def _mode(mode: AutoresetMode | str) -> AutoresetMode:
        """The mode of this name.

        Raises:
            InvalidArgument: if there is none.
        """
        try:
            return AutoresetMode(mode)
        except ValueError:
            names = ", ".join(repr(one.value) for one in AutoresetMode)
            raise InvalidArgument(f"autoreset_mode is one of {names}, not {mode!r}.") from None
