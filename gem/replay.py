"""Re-execution of recorded episodes: the same identity and actions give the same turns.

env = restore(identity, actions)            # the environment after the last action
for frame in frames(identity, actions): ... # every turn with its view
verify(identity, turns) is None             # whether the record can be reproduced

Outputs that came from outside, such as those of tools, are read from the recorded infos and not requested again. Only
`verify` calls tools again whose outputs never vary. `gem.verification.reexecution` verifies many episodes.
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
from gem.records import EpisodeRecord, Identity, StoredEpisode, TurnRecord
from gem.seats import success
from gem.validation.values import plain_value
from gem.views import View
from gem.wrappers.wrapper_factory import has_tools

MACHINE_DEPENDENT_KEYS = frozenset({"sandbox", "test_results"})
"""Entries of infos that depend on the machine: how a program was confined, and the texts of its errors."""

PREVIOUS_EPISODE_KEYS = frozenset(
    {"prev_ep_tool_use_counter", "prev_ep_tool_success_counter", "prev_ep_step_counter", "prev_ep_cumulative_rewards"}
)
"""Entries of the reset's info that depend on the episode that was played in the same environment before."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The observation, the info and the view of a seat after a turn."""

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
    """The field that differs, such as `reward` or `info['error']`."""
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


def frames(
    identity: Identity, actions: Iterable[str], infos: Sequence[Info] = (), *, seat: int = 0, first: int = 0
) -> Iterator[Frame]:
    """Yield every turn as `seat` (or `gem.seats.SPECTATOR`) saw it, the reset first.

    Args:
        infos: see `restore`.
        first: the first turn to yield; 0 is the reset.

    Raises:
        VersionChanged: see `make_env`.
        EpisodeOver: if there are actions after the end.
    """
    env = make_env(identity)
    tape = chain(infos, repeat({}))
    env.feed_tape(next(tape))
    observation, info = env.reset(seed=identity.seed)
    if first <= 0:
        yield Frame(0, observation, 0.0, info, env.view(seat), terminated=False, truncated=False)
    for turn, action in enumerate(actions, start=1):
        env.feed_tape(next(tape))
        observation, reward, terminated, truncated, info = env.step(action)
        if turn >= first:
            yield Frame(turn, observation, reward, info, env.view(seat), terminated, truncated)


def verify(
    identity: Identity,
    turns: Sequence[TurnRecord],
    *,
    first_observation: str | None = None,
    first_info: Info | None = None,
    terminated: bool | None = None,
    truncated: bool | None = None,
    strict: bool = False,
    env: Env | None = None,
) -> Difference | None:
    """Re-execute a recorded episode; return the first difference, or None if every turn is as recorded.

    Args:
        first_observation: the recorded observation of the reset; None to leave it unchecked.
        first_info: the recorded info of the reset; unless `strict`, only taped episodes need it.
        terminated: whether the last turn was recorded as the end of the episode; None to leave it unchecked.
        truncated: whether the turn limit was recorded as the end; None to leave it unchecked.
        strict: whether the recorded infos, that of the reset included, may have no entries besides those that the
            environment returns. Otherwise they may, and those that it returns must be equal.
        env: an environment that `make_env` made for this identity, or for one that differs only in its seed. Without
            it, one is made here.
    """
    installed = registry.spec(identity.env_id).version
    if installed != identity.env_version:
        return Difference(0, "env_version", identity.env_version, installed)
    env = make_env(identity) if env is None else env
    env.feed_tape(first_info or {}, repeat=True)
    observation, info = env.reset(seed=identity.seed)
    first = TurnRecord("", observation if first_observation is None else first_observation, 0.0, first_info or {})
    if difference := _compare(0, first, observation, 0.0, info if strict else first.info, strict=strict):
        return difference
    end = (False, False)
    for number, turn in enumerate(turns, start=1):
        if turn.seat is not None and (to_act := env.to_act) and turn.seat != to_act[0]:
            return Difference(number, "seat", turn.seat, to_act[0])
        env.feed_tape(turn.info, repeat=True)
        try:
            observation, reward, *flags, info = env.step(turn.action)
        except EpisodeOver:
            return Difference(number, "end", "another turn", "over before it")
        end = (flags[0], flags[1])
        if difference := _compare(number, turn, observation, reward, info, strict=strict):
            return difference
    for name, recorded, replayed in (("terminated", terminated, end[0]), ("truncated", truncated, end[1])):
        if recorded is not None and recorded != replayed:
            return Difference(len(turns), name, recorded, replayed)
    return None


def verify_stored(stored: StoredEpisode, *, strict: bool = False, env: Env | None = None) -> Difference | None:
    """Re-execute a stored episode; return the first difference, or None if everything is as in the file.

    Args:
        strict: see `verify`. The turn limit is compared as well, and an episode without a failure has to have ended.
            An episode that failed in its first turn is not executed.
        env: see `verify`.

    Raises:
        UsageError: if it cannot be re-executed here, because the environment is unknown or has another version or data.
    """
    record = stored.record
    if not has_begun(record) or (strict and failed_at_once(record)):
        return None
    if strict and (difference := _ending_difference(record)):
        return difference
    if strict and env is None:
        env = make_env(record.identity)
    difference = verify(
        record.identity,
        record.turns,
        first_observation=record.first_observation,
        first_info=record.first_info,
        terminated=record.terminated,
        truncated=None if record.cut else record.truncated,
        strict=strict,
        env=env,
    )
    if difference is None and record.turns and not record.failure and not record.cut:
        info = record.turns[-1].info
        is_success = success(record.seat, info) if "success" in info else None
        if record.success != is_success:
            return Difference(record.turn_count, "success", record.success, is_success)
    if difference is None and record.failure and (record.terminated or record.truncated):
        return Difference(record.turn_count, "failure", record.failure, "the end of the episode")
    if difference is None and strict and env is not None and record.max_turns != env.max_turns:
        return Difference(0, "max_turns", record.max_turns, env.max_turns)
    return difference


def failed_at_once(record: EpisodeRecord) -> bool:
    """Whether the episode failed before its first turn was played, so that there is nothing to execute."""
    return not record.turns and (bool(record.failure) or not has_begun(record))


def has_begun(record: EpisodeRecord) -> bool:
    """Whether there is anything to compare: the environment did not fail before its first observation."""
    return bool(record.failed_by != "environment" or record.turns or record.first_observation or record.first_info)


def _ending_difference(record: EpisodeRecord) -> Difference | None:
    """Compare how an episode ended with what its record says of failures and cuts, which no environment gives."""
    last = record.turn_count
    if record.failure or record.failed_by:
        expected = {"terminated": False, "truncated": False, "success": None, "cut": ""}
    elif record.cut:
        expected = {"terminated": False, "truncated": True, "success": False}
    elif record.terminated == record.truncated:
        both = "terminated and truncated" if record.terminated else "neither terminated nor truncated"
        return Difference(last, "end", both, "one of the two")
    else:
        return None
    for name, value in expected.items():
        if getattr(record, name) != value:
            return Difference(last, name, getattr(record, name), value)
    return None


def is_taped(identity: Identity) -> bool:
    """Whether turns may depend on outputs from outside, such as those of tools, which the recorded infos have.

    Grades of answers count too if the environment reads them from the record, because they take long.
    """
    spec = registry.spec(identity.env_id)
    return has_tools(identity.env_kwargs, identity.wrappers) or spec.replay != "exact" or spec.reads_tape()


def _compare(
    number: int, turn: TurnRecord, observation: str, reward: float, info: Info, *, strict: bool
) -> Difference | None:
    if turn.observation != observation:
        return Difference(number, "observation", turn.observation, observation)
    if turn.reward != reward:
        return Difference(number, "reward", turn.reward, reward)
    try:
        is_equal = turn.info == info
    except ValueError:  # a NumPy array is in it, which has no truth value
        is_equal = False
    return None if is_equal else _compare_infos(number, turn.info, info, strict=strict)


def _compare_infos(number: int, recorded: Info, replayed: Info, *, strict: bool) -> Difference | None:
    plain = json.loads(json.dumps(replayed, default=plain_value))  # the recorded info went through JSON as well
    left_out = MACHINE_DEPENDENT_KEYS if number else MACHINE_DEPENDENT_KEYS | PREVIOUS_EPISODE_KEYS
    for key, value in plain.items():
        if key not in left_out and recorded.get(key) != value:
            return Difference(number, f"info[{key!r}]", recorded.get(key), value)
    added = recorded.keys() - plain.keys() - left_out if strict else ()
    for key in sorted(added):
        return Difference(number, f"info[{key!r}]", recorded[key], None)
    return None
