"""Environments of recorded episodes as they were after a turn: from what was kept, or by playing the actions again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gem
from apps.episodes.errors import Outdated
from apps.episodes.models import Episode
from gem import replay
from gem.errors import UnknownEnvironment, VersionChanged
from gem.records import Identity

STAYS = "The recorded turns can still be read here. New episodes use the new version."


def restore(episode: Episode) -> gem.Env:
    """The environment as it is after the last turn: from the cached state, or by playing all actions again.

    One that is slow is never played again here: it comes from the state that its last turn kept.

    Raises:
        Outdated: if the environment has another version now than when the episode began, or is gone.
    """
    identity = Identity(**episode.identity())
    cached = episode.state
    try:
        if cached is None or cached["engine"] != gem.__version__:
            return restore_at(episode, episode.turn_count)
        env = replay.make_env(identity)
    except (VersionChanged, UnknownEnvironment) as error:
        raise Outdated(f"{error} {STAYS}") from error
    env.set_state(cached["env"])
    return env


def restore_kept(episode: Episode, turn: int, kept: Mapping[str, Any] | None) -> gem.Env:
    """A slow environment as it was after `turn`, from the state that the turn kept.

    Raises:
        Outdated: if it kept none, or by another version of the engine.
        gem.errors.VersionChanged, gem.errors.UnknownEnvironment: as `gem.replay.make_env`.
    """
    env = replay.make_env(Identity(**episode.identity()))
    if turn == 0:
        env.feed_tape(episode.first_info)  # what tools said of themselves then: they are not asked again
        env.reset(seed=episode.seed)
        return env
    if kept is None or kept["engine"] != gem.__version__:
        what = "was not kept" if kept is None else f"was kept by gem {kept['engine']}"
        raise Outdated(f"The state after turn {turn} {what}, and replaying the episode takes too long here. {STAYS}")
    env.set_state(kept["env"])
    return env


def restore_at(episode: Episode, turn: int) -> gem.Env:
    """The environment as it was after `turn`. Raises as `restore_kept`."""
    identity = Identity(**episode.identity())
    if episode.slow:
        kept = episode.turns.filter(number=turn).values_list("state", flat=True).first()
        if kept is not None or not episode.on_record:
            return restore_kept(episode, turn, kept)
    return replay.restore(identity, actions(episode)[:turn], infos(episode))


def actions(episode: Episode) -> list[str]:
    """What was played so far, in order."""
    return list(episode.turns.order_by("number").values_list("action", flat=True))


def infos(episode: Episode) -> list[dict[str, Any]]:
    """The recorded infos, that of the reset first; none where the actions alone give the same turns."""
    if not replay.is_taped(Identity(**episode.identity())):
        return []
    return [episode.first_info, *episode.turns.order_by("number").values_list("info", flat=True)]
