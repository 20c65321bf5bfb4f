"""Episodes as records, and their re-execution: the same identity and actions give the same turns.

env = restore(identity, actions)            # go on after the last action
for frame in frames(identity, actions): ... # look at every turn
verify(identity, turns) is None             # the record holds

What came from outside (the outputs of tools) is in the recorded infos and is taken from there: nothing outside is asked
again, except that `verify` asks those tools again that always give the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, Literal

from gem import registry
from gem.core import Env, Info
from gem.errors import EpisodeOver, VersionChanged
from gem.seats import rewards
from gem.views import View
from gem.wrappers.wrapper_factory import TOOL_WRAPPERS, wrap

OF_THE_MACHINE = frozenset({"sandbox", "test_results"})
"""Entries of infos that may differ from machine to machine: how a program was confined, and the texts of its errors."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What, together with the actions, an episode follows from."""

    env_id: str
    env_version: int
    seed: int
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    data_hash: str = ""
    wrappers: Sequence[Mapping[str, Any]] = ()
    """Plain data, innermost first: `{"name": "time_limit", "max_turns": 20}`."""

    @property
    def taped(self) -> bool:
        """Whether turns may also follow from what came from outside, which their recorded infos have."""
        wrapped_in_tools = any(wrapper.get("name") in TOOL_WRAPPERS for wrapper in self.wrappers)
        return wrapped_in_tools or "tools" in self.env_kwargs or registry.spec(self.env_id).replay != "exact"


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One exchange: the action taken and what the environment answered."""

    action: str
    observation: str
    reward: float
    info: Info
    seat: int | None = None
    """Who acted; None where the record does not say."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What the agent gave besides the action: its `note`, and what is in `Decision.extra`."""


@dataclass(slots=True)
class EpisodeRecord:
    """One run of an environment from reset to its end."""

    index: int
    """Its place in the batch."""
    identity: Identity
    first_observation: str
    first_info: Info
    turns: list[TurnRecord] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False
    success: bool | None = None
    """Whether it was one for `seat`; None if the environment failed."""
    failure: str = ""
    """Why it broke off, empty if it did not: the episode is not counted."""
    failed_by: Literal["", "environment", "agent"] = ""
    """Whose failure it was: the environment raised something, or the agent's server gave no answer."""
    max_turns: int = 0
    seat: int = 0
    """Where the agent sat whose episode it is, if there were several seats."""

    @property
    def total_reward(self) -> float:
        """The return: the sum of the rewards of `seat`."""
        return sum(rewards(turn.reward, turn.info)[self.seat] for turn in self.turns)

    @property
    def total_rewards(self) -> list[float]:
        """The return of every seat."""
        earned = [rewards(turn.reward, turn.info) for turn in self.turns]
        return [sum(column) for column in zip(*earned, strict=True)]

    @property
    def turn_count(self) -> int:
        """How many turns were taken."""
        return len(self.turns)

    @property
    def infos(self) -> list[Info]:
        """All infos, that of the reset first."""
        return [self.first_info, *(turn.info for turn in self.turns)]

    @property
    def tokens(self) -> tuple[int, int]:
        """How many tokens went in and came out, as far as the agents counted them."""
        extras = [turn.extra for turn in self.turns if turn.extra]
        return sum(one.get("tokens_in", 0) for one in extras), sum(one.get("tokens_out", 0) for one in extras)


@dataclass(frozen=True, slots=True)
class Frame:
    """What there was to see after a turn; turn 0 is the reset."""

    turn: int
    observation: str
    reward: float
    info: Info
    view: View
    terminated: bool
    truncated: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where a record and its re-execution part."""

    turn: int
    """0 for the reset."""
    field: str
    recorded: Any
    replayed: Any

    @property
    def sentence(self) -> str:
        """The difference in words."""
        return (
            f"Turn {self.turn} differs in {self.field}: the record has {self.recorded!r}, "
            f"the re-execution gives {self.replayed!r}."
        )


def make_env(identity: Identity) -> Env:
    """The environment of an episode in its wrappers, not yet reset.

    Raises:
        VersionChanged: if the installed environment has another version or other data than the episode's.
        UnknownEnvironment: if the environment is no longer registered.
    """
    installed = registry.spec(identity.env_id).version
    if installed != identity.env_version:
        raise VersionChanged(
            f"The episode was played on version {identity.env_version} of {identity.env_id}; version {installed} is "
            "installed, and the same actions would give other turns."
        )
    env = wrapped(identity.env_id, identity.env_kwargs, identity.wrappers)
    if env.data_hash != identity.data_hash:
        raise VersionChanged(f"The episode was drawn from other data of {identity.env_id} than those installed.")
    return env


def wrapped(env_id: str, env_kwargs: Mapping[str, Any], wrappers: Sequence[Mapping[str, Any]]) -> Env:
    """The installed environment of that id in its wrappers, not yet reset.

    Raises:
        UnknownEnvironment: if no such id is registered.
        InvalidArgument: if the environment or a wrapper does not take its arguments.
    """
    return wrap(registry.make(env_id, **env_kwargs), wrappers)


def restore(identity: Identity, actions: Iterable[str], infos: Sequence[Info] = ()) -> Env:
    """The environment after `actions`, ready for the next one.

    Args:
        infos: as they were recorded, that of the reset first; needed where something came from outside.

    Raises:
        VersionChanged: as `make_env`.
        EpisodeOver: if there are actions after the end.
    """
    env = make_env(identity)
    tape = chain(infos, repeat({}))
    env.feed(next(tape))
    env.reset(seed=identity.seed)
    for action in actions:
        env.feed(next(tape))
        env.step(action)
    return env


def frames(identity: Identity, actions: Iterable[str], infos: Sequence[Info] = (), *, seat: int = 0) -> Iterator[Frame]:
    """Every turn as it looked from `seat` (or `gem.seats.SPECTATOR`), the reset first.

    Args:
        infos: as in `restore`.

    Raises:
        VersionChanged: as `make_env`.
        EpisodeOver: if there are actions after the end.
    """
    env = make_env(identity)
    tape = chain(infos, repeat({}))
    env.feed(next(tape))
    observation, info = env.reset(seed=identity.seed)
    yield Frame(0, observation, 0.0, info, env.view(seat), terminated=False, truncated=False)
    for turn, action in enumerate(actions, start=1):
        env.feed(next(tape))
        observation, reward, terminated, truncated, info = env.step(action)
        yield Frame(turn, observation, reward, info, env.view(seat), terminated, truncated)


def verify(
    identity: Identity,
    turns: Sequence[TurnRecord],
    *,
    first_observation: str | None = None,
    first_info: Info | None = None,
    terminated: bool | None = None,
    truncated: bool | None = None,
) -> Difference | None:
    """Re-execute a recorded episode; the first difference, or None if every turn is as recorded.

    Infos may have been given more entries when they were recorded; those that the environment gives must agree.

    Args:
        first_observation: compared with the observation of the reset, if given.
        first_info: that of the reset; needed where the instructions came from outside.
        terminated: whether the last turn ended the episode, if that is to be compared.
        truncated: whether the turn limit ended it, if that is to be compared.
    """
    installed = registry.spec(identity.env_id).version
    if installed != identity.env_version:
        return Difference(0, "env_version", identity.env_version, installed)
    env = make_env(identity)
    env.feed(first_info or {}, repeat=True)
    observation, _ = env.reset(seed=identity.seed)
    if first_observation is not None and observation != first_observation:
        return Difference(0, "observation", first_observation, observation)
    ended = (False, False)
    for number, turn in enumerate(turns, start=1):
        if turn.seat is not None and env.to_act and turn.seat != env.to_act[0]:
            return Difference(number, "seat", turn.seat, env.to_act[0])
        env.feed(turn.info, repeat=True)
        try:
            observation, reward, *over, info = env.step(turn.action)
        except EpisodeOver:
            return Difference(number, "end", "another turn", "over before it")
        ended = (over[0], over[1])
        difference = _compare(number, turn, observation, reward, info)
        if difference is not None:
            return difference
    for name, recorded, replayed in (("terminated", terminated, ended[0]), ("truncated", truncated, ended[1])):
        if recorded is not None and recorded != replayed:
            return Difference(len(turns), name, recorded, replayed)
    return None


def _compare(number: int, turn: TurnRecord, observation: str, reward: float, info: Info) -> Difference | None:
    if turn.observation != observation:
        return Difference(number, "observation", turn.observation, observation)
    if turn.reward != reward:
        return Difference(number, "reward", turn.reward, reward)
    for key, value in json.loads(json.dumps(info)).items():  # as the record's went through JSON
        if key not in OF_THE_MACHINE and turn.info.get(key) != value:
            return Difference(number, f"info[{key!r}]", turn.info.get(key), value)
    return None
