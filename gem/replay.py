"""Re-execution of recorded episodes: the same identity and actions give the same turns.

env = restore(identity, actions)            # go on after the last action
for frame in frames(identity, actions): ... # look at every turn
verify(identity, turns) is None             # the record holds

What came from outside (the outputs of tools) is in the recorded infos and is taken from there: nothing outside is asked
again, except that `verify` asks those tools again that always give the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from gem import registry
from gem.core import Env, Info
from gem.errors import EpisodeOver, VersionChanged
from gem.factory import make_wrapped
from gem.records import Identity, StoredEpisode, TurnRecord
from gem.seats import success
from gem.views import View
from gem.wrappers.wrapper_factory import TOOL_WRAPPERS

OF_THE_MACHINE = frozenset({"sandbox", "test_results"})
"""Entries of infos that may differ from machine to machine: how a program was confined, and the texts of its errors."""


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
    env = make_wrapped(identity.env_id, identity.env_kwargs, identity.wrappers)
    if env.data_hash != identity.data_hash:
        raise VersionChanged(f"The episode was drawn from other data of {identity.env_id} than those installed.")
    return env


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
    env.feed_tape(next(tape))
    env.reset(seed=identity.seed)
    for action in actions:
        env.feed_tape(next(tape))
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
    env.feed_tape(next(tape))
    observation, info = env.reset(seed=identity.seed)
    yield Frame(0, observation, 0.0, info, env.view(seat), terminated=False, truncated=False)
    for turn, action in enumerate(actions, start=1):
        env.feed_tape(next(tape))
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
    env.feed_tape(first_info or {}, repeat=True)
    observation, _ = env.reset(seed=identity.seed)
    if first_observation is not None and observation != first_observation:
        return Difference(0, "observation", first_observation, observation)
    ended = (False, False)
    for number, turn in enumerate(turns, start=1):
        if turn.seat is not None and env.to_act and turn.seat != env.to_act[0]:
            return Difference(number, "seat", turn.seat, env.to_act[0])
        env.feed_tape(turn.info, repeat=True)
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


def verify_stored(stored: StoredEpisode) -> Difference | None:
    """Re-execute a stored episode; the first difference, None if everything is as it stands in the file.

    Raises:
        UsageError: if it cannot be re-executed here: another version, an unknown environment, other data.
    """
    record = stored.record
    if record.failure and not record.turns:
        return None  # the environment broke before there was anything to compare
    difference = verify(
        record.identity,
        record.turns,
        first_observation=record.first_observation,
        first_info=record.first_info,
        terminated=record.terminated,
        truncated=record.truncated,
    )
    if difference is None and record.turns and not record.failure:
        info = record.turns[-1].info
        reached = success(record.seat, info) if "success" in info else None
        if record.success != reached:
            return Difference(record.turn_count, "success", record.success, reached)
    return difference


def is_taped(identity: Identity) -> bool:
    """Whether turns may also follow from what came from outside, which their recorded infos have."""
    has_tools = any(wrapper.get("name") in TOOL_WRAPPERS for wrapper in identity.wrappers)
    return has_tools or "tools" in identity.env_kwargs or registry.spec(identity.env_id).replay != "exact"


def _compare(number: int, turn: TurnRecord, observation: str, reward: float, info: Info) -> Difference | None:
    if turn.observation != observation:
        return Difference(number, "observation", turn.observation, observation)
    if turn.reward != reward:
        return Difference(number, "reward", turn.reward, reward)
    for key, value in json.loads(json.dumps(info)).items():  # as the record's went through JSON
        if key not in OF_THE_MACHINE and turn.info.get(key) != value:
            return Difference(number, f"info[{key!r}]", turn.info.get(key), value)
    return None
