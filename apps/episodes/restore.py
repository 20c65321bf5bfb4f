"""Restore the environment of a recorded episode after a turn, from a stored state or by replaying the actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gem
from apps.episodes.errors import Outdated
from apps.episodes.models import Episode
from gem import replay
from gem.errors import UnknownEnvironment, VersionChanged
from gem.records import Identity

STAYS_READABLE = "The recorded turns can still be read here. New episodes use the new version."


def restore(episode: Episode) -> gem.Env:
    """The environment after the last turn, from the cached state or by replaying all actions.

    A slow environment is never replayed here. It is restored from the state stored with its last turn.

    Raises:
        Outdated: the environment has another version than when the episode began, or is gone.
    """
    identity = Identity(**episode.identity())
    cached = episode.state
    try:
        if cached is None or cached["engine"] != gem.__version__:
            return restore_at(episode, episode.turn_count)
        env = replay.make_env(identity)
    except (VersionChanged, UnknownEnvironment) as error:
        raise Outdated(f"{error} {STAYS_READABLE}") from error
    env.set_state(cached["env"])
    return env


def restore_from_state(episode: Episode, turn: int, state: Mapping[str, Any] | None) -> gem.Env:
    """A slow environment after `turn`, from the state stored with the turn.

    Raises:
        Outdated: there is no stored state, or another version of the engine stored it.
        gem.errors.VersionChanged, gem.errors.UnknownEnvironment: see `gem.replay.make_env`.
    """
    env = replay.make_env(Identity(**episode.identity()))
    if turn == 0:
        env.feed_tape(episode.first_info)  # the recorded tool descriptions, so that no tool is contacted again
        env.reset(seed=episode.played_seed)
        return env
    if state is None or state["engine"] != gem.__version__:
        reason = "was not saved" if state is None else f"was saved by gem {state['engine']}"
        raise Outdated(
            f"The state after turn {turn} {reason}, and replaying the episode takes too long here. {STAYS_READABLE}"
        )
    env.set_state(state["env"])
    return env


def restore_at(episode: Episode, turn: int) -> gem.Env:
    """The environment after `turn`. Raises the same errors as `restore_from_state`."""
    identity = Identity(**episode.identity())
    if episode.slow:
        state = episode.turns.filter(number=turn).values_list("state", flat=True).first()
        if state is not None or not episode.on_record:
            return restore_from_state(episode, turn, state)
    return replay.restore(identity, actions(episode)[:turn], infos(episode))


def actions(episode: Episode) -> list[str]:
    """All actions of the episode, in order."""
    return list(episode.turns.order_by("number").values_list("action", flat=True))


def infos(episode: Episode) -> list[dict[str, Any]]:
    """The recorded infos, that of the reset first; empty if the actions alone reproduce the turns."""
    if not replay.is_taped(Identity(**episode.identity())):
        return []
    return [episode.first_info, *episode.turns.order_by("number").values_list("info", flat=True)]
