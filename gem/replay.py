"""Re-execution of recorded episodes: the same identity and actions give the same turns.

env = restore(identity, actions)            # the environment after the last action
for frame in frames(identity, actions): ... # every turn with its view
verify(identity, turns) is None             # whether the record can be reproduced

Outputs that came from outside, such as those of tools, are read from the recorded infos and not requested again. Only
`verify` calls tools again whose outputs never vary.
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

MACHINE_DEPENDENT_KEYS = frozenset({"sandbox", "test_results"})
"""Entries of infos that depend on the machine: how a program was confined, and the texts of its errors."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What a seat could read and see after a turn."""

    turn: int
    """The number of the turn; 0 is the reset."""
    observation: str
    reward: float
    info: Info
    view: View
    terminated: bool
    truncated: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference between a record and its re-execution."""

    turn: int
    """The number of the turn; 0 is the reset."""
    field: str
    """What differs, such as `reward` or `info['error']`."""
    recorded: Any
    replayed: Any

    @property
    def sentence(self) -> str:
        """The difference as a sentence."""
        return (
            f"Turn {self.turn} differs in {self.field}: the record has {self.recorded!r}, "
            f"the re-execution gives {self.replayed!r}."
        )


def make_env(identity: Identity) -> Env:
    """Make the environment of an episode with its wrappers, without a reset.

    Raises:
        VersionChanged: if the installed environment has another version, or other data, than that of the episode.
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
    """Make the environment of an episode and take `actions` in it; it is then ready for the next action.

    Args:
        infos: the recorded infos, that of the reset first; only taped episodes need them (see `is_taped`).

    Raises:
        VersionChanged: see `make_env`.
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
    """Yield every turn as `seat` (or `gem.seats.SPECTATOR`) saw it, the reset first.

    Args:
        infos: see `restore`.

    Raises:
        VersionChanged: see `make_env`.
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
    """Re-execute a recorded episode; return the first difference, or None if every turn is as recorded.

    A recorded info may have more entries than the environment returns; those that it returns must be equal.

    Args:
        first_observation: the recorded observation of the reset; None to leave it unchecked.
        first_info: the recorded info of the reset; only taped episodes need it.
        terminated: whether the last turn was recorded as the end of the episode; None to leave it unchecked.
        truncated: whether the turn limit was recorded as the end; None to leave it unchecked.
    """
    installed = registry.spec(identity.env_id).version
    if installed != identity.env_version:
        return Difference(0, "env_version", identity.env_version, installed)
    env = make_env(identity)
    env.feed_tape(first_info or {}, repeat=True)
    observation, _ = env.reset(seed=identity.seed)
    if first_observation is not None and observation != first_observation:
        return Difference(0, "observation", first_observation, observation)
    end = (False, False)
    for number, turn in enumerate(turns, start=1):
        if turn.seat is not None and env.to_act and turn.seat != env.to_act[0]:
            return Difference(number, "seat", turn.seat, env.to_act[0])
        env.feed_tape(turn.info, repeat=True)
        try:
            observation, reward, *flags, info = env.step(turn.action)
        except EpisodeOver:
            return Difference(number, "end", "another turn", "over before it")
        end = (flags[0], flags[1])
        difference = _compare(number, turn, observation, reward, info)
        if difference is not None:
            return difference
    for name, recorded, replayed in (("terminated", terminated, end[0]), ("truncated", truncated, end[1])):
        if recorded is not None and recorded != replayed:
            return Difference(len(turns), name, recorded, replayed)
    return None


def verify_stored(stored: StoredEpisode) -> Difference | None:
    """Re-execute a stored episode; return the first difference, or None if everything is as in the file.

    Raises:
        UsageError: if it cannot be re-executed here, because the environment is unknown or has another version or data.
    """
    record = stored.record
    if record.failure and not record.turns:
        return None  # the environment failed before there was anything to compare
    difference = verify(
        record.identity,
        record.turns,
        first_observation=record.first_observation,
        first_info=record.first_info,
        terminated=record.terminated,
        truncated=None if record.cut else record.truncated,
    )
    if difference is None and record.turns and not record.failure and not record.cut:
        info = record.turns[-1].info
        is_success = success(record.seat, info) if "success" in info else None
        if record.success != is_success:
            return Difference(record.turn_count, "success", record.success, is_success)
    return difference


def is_taped(identity: Identity) -> bool:
    """Whether turns may depend on outputs from outside, such as those of tools, which the recorded infos have.

    Grades of answers count too if the environment reads them from the record, because they take long.
    """
    has_tools = any(wrapper.get("name") in TOOL_WRAPPERS for wrapper in identity.wrappers)
    spec = registry.spec(identity.env_id)
    return has_tools or "tools" in identity.env_kwargs or spec.replay != "exact" or spec.reads_tape()


def _compare(number: int, turn: TurnRecord, observation: str, reward: float, info: Info) -> Difference | None:
    if turn.observation != observation:
        return Difference(number, "observation", turn.observation, observation)
    if turn.reward != reward:
        return Difference(number, "reward", turn.reward, reward)
    for key, value in json.loads(json.dumps(info)).items():  # the recorded info went through JSON as well
        if key not in MACHINE_DEPENDENT_KEYS and turn.info.get(key) != value:
            return Difference(number, f"info[{key!r}]", turn.info.get(key), value)
    return None
