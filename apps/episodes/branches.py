"""Branches: episodes that continue another one from one of its turns, after a fork or an undo.

A branch is drafted outside of transactions, because the environment is restored for it, and then stored in one.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence

from django.db import transaction

import gem
from apps.episodes.errors import EpisodeEnded, NotFound, Outdated, Sealed
from apps.episodes.models import Episode, Seat, Turn
from apps.episodes.operations import Occupant, abandon, cached_state
from apps.episodes.restore import STAYS_READABLE, restore_at
from gem.errors import UnknownEnvironment, VersionChanged
from gem.seats import rewards


def draft_fork(episode: Episode, turn: int) -> Episode:
    """Another episode with the same turns up to `turn`, which `store_branch` stores; see `draft_branch`.

    Raises:
        Sealed: the seats still have secrets from one another.
        NotFound, EpisodeEnded, Outdated: see `draft_branch`.
    """
    if episode.sealed:
        raise Sealed("A branch would reveal secrets of the seats. Fork the episode after it ends.")
    return draft_branch(episode, turn)


@transaction.atomic
def take_back(episode: Episode, branch: Episode, *, seats: Sequence[Occupant]) -> Episode:
    """Store the branch and abandon the episode, which the caller has locked."""
    store_branch(branch, seats=seats)
    Episode.objects.filter(pk=episode.pk).update(goes_on_in=branch)
    if not episode.over:
        abandon(episode)
    return branch


def acting_after(episode: Episode, turn: int) -> int:
    """The seat to act after `turn` (0 is the reset)."""
    following = episode.turns.filter(number=turn + 1).values_list("seat", flat=True).first()
    return episode.acting if following is None else following


def draft_branch(episode: Episode, turn: int) -> Episode:
    """A branch after `turn` that has not been stored. Call it outside of transactions: it restores the environment.

    Raises:
        Sealed: it is ranked, and its season is not over.
        NotFound: the episode has no such turn.
        EpisodeEnded: no turn can follow that turn.
        Outdated: see `restore`.
    """
    if episode.closed:
        raise Sealed(
            "This episode is ranked, so it is played once and without branches. It opens for everybody when its season "
            "is over."
        )
    if not 0 <= turn <= episode.turn_count:
        raise NotFound(f"The episode has turns 0 to {episode.turn_count}; there is no turn {turn} to fork from.")
    if turn == episode.turn_count and episode.status == Episode.Status.ENDED:
        raise EpisodeEnded("No turn can follow the last one. Fork from an earlier turn.")
    try:
        env = restore_at(episode, turn)
    except (VersionChanged, UnknownEnvironment) as error:
        raise Outdated(f"{error} {STAYS_READABLE}") from error
    return Episode(
        parent=episode,
        parent_turn=turn,
        **episode.identity(),
        engine_version=gem.__version__,
        python_version=platform.python_version(),
        first_observation=episode.first_observation,
        first_info=episode.first_info,
        max_turns=episode.max_turns,
        turn_count=turn,
        state=cached_state(env),
        seat_count=episode.seat_count,
        acting=env.to_act[0],
        seq=turn,
        visibility=episode.governing_visibility,
    )


@transaction.atomic
def store_branch(branch: Episode, *, seats: Sequence[Occupant]) -> Episode:
    """Store a branch (see `draft_branch`) with the turns of its parent, to be continued by `seats`."""
    assert branch.parent is not None
    branch.save(force_insert=True)
    past = list(branch.parent.turns.filter(number__lte=branch.parent_turn).defer(None).order_by("number"))
    for turn_copy in past:
        turn_copy.episode, turn_copy.seq = branch, turn_copy.number
    Turn.objects.bulk_create(past)
    for number, occupant in enumerate(seats):
        total = sum((rewards(turn_copy.reward, turn_copy.info)[number] for turn_copy in past), 0.0)
        Seat.objects.create(
            episode=branch,
            number=number,
            agent=occupant.agent,
            user=occupant.user,
            visitor=occupant.visitor,
            total_reward=total,
            set_up=occupant.agent.set_up,
        )
    return branch
