"""Branches: episodes that continue another one from one of its turns, after a fork or an undo.

A branch is drafted outside of transactions, because the environment is restored for it, and then stored in one.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence

from django.db import connection, transaction

import gem
from apps.accounts.models import Viewer
from apps.episodes.errors import EpisodeEnded, NotFound, Outdated, Sealed
from apps.episodes.models import Episode, Seat, Turn
from apps.episodes.operations import MAX_SECRET_SEED, Occupant, abandon, cached_state
from apps.episodes.restore import STAYS_READABLE, restore_at
from gem.errors import UnknownEnvironment, VersionChanged
from gem.seats import rewards


def draft_fork(episode: Episode, turn: int) -> Episode:
    """Another episode with the same turns up to `turn`, which `store_branch` stores; see `draft_branch`.

    Raises:
        Sealed: the seats still have secrets from one another.
        NotFound, EpisodeEnded, Outdated: see `draft_branch`.
    """
    check_sealed(episode)
    return draft_branch(episode, turn)


def draft_continuations(episode: Episode, turn: int, count: int) -> list[Episode]:
    """As many branches after `turn`, of which agents play each in a way of its own (see `draw_key_of`).

    Raises:
        Sealed, NotFound, EpisodeEnded, Outdated: see `draft_fork`.
    """
    check_sealed(episode)
    env = _restored(episode, turn)
    return [_draft(episode, turn, env) for _ in range(count)]


def draw_key_of(branch: Episode) -> int:
    """What agents that sample draw by in this branch, so that they do not play all branches of a turn alike.

    What the environment draws stays as it would have been, because the record has to be replayed from its seed.
    """
    return 1 + int.from_bytes(branch.pk.encode()) % MAX_SECRET_SEED


def check_sealed(episode: Episode) -> None:
    """Refuse to fork an episode whose seats still have secrets from one another.

    Raises:
        Sealed: the message is for the person.
    """
    if episode.sealed:
        raise Sealed("A branch would reveal secrets of the seats. Fork the episode after it ends.")


@transaction.atomic
def take_back(episode: Episode, branch: Episode, *, seats: Sequence[Occupant]) -> Episode:
    """Store the branch and abandon the episode, which the caller has locked."""
    store_branch(branch, seats=seats)
    Episode.objects.filter(pk=episode.pk).update(goes_on_in=branch)
    if not episode.over:
        abandon(episode)
    return branch


def is_untouched(branch: Episode, turn: int, user: Viewer, visitor: str) -> bool:
    """Whether this person has a seat in a branch from `turn`, and no turn was played in it yet."""
    if branch.over or (branch.parent_turn, branch.turn_count) != (turn, turn):
        return False
    return any(seat.belongs_to(user, visitor) for seat in branch.seats.all())


def check_registered(episode: Episode) -> None:
    """Refuse to go on with an episode whose environment is gone.

    Raises:
        Outdated: the message is for the person.
    """
    try:
        _ = episode.spec
    except UnknownEnvironment as error:
        raise Outdated(f"{error} {STAYS_READABLE}") from error


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
    return _draft(episode, turn, _restored(episode, turn))


def _restored(episode: Episode, turn: int) -> gem.Env:
    """The environment after `turn`. Raises the errors of `draft_branch`."""
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
        return restore_at(episode, turn)
    except (VersionChanged, UnknownEnvironment) as error:
        raise Outdated(f"{error} {STAYS_READABLE}") from error


def _draft(episode: Episode, turn: int, env: gem.Env) -> Episode:
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


def store_branch(branch: Episode, *, seats: Sequence[Occupant]) -> Episode:
    """Store a branch (see `draft_branch`) with the turns of its parent, to be continued by `seats`."""
    return store_branches([branch], seats=seats)[0]


@transaction.atomic
def store_branches(branches: list[Episode], *, seats: Sequence[Occupant]) -> list[Episode]:
    """Store branches from one turn of one episode (see `draft_continuations`), all to be continued by `seats`."""
    parent, turn = branches[0].parent, branches[0].parent_turn
    assert parent is not None
    for branch in branches:
        branch.save(force_insert=True)
    _copy_turns(parent, turn or 0, [branch.pk for branch in branches])
    past = [
        rewards(reward, info)
        for reward, info in parent.turns.filter(number__lte=turn).order_by("number").values_list("reward", "info")
    ]
    Seat.objects.bulk_create(
        Seat(
            episode=branch,
            number=number,
            agent=occupant.agent,
            user=occupant.user,
            visitor=occupant.visitor,
            name=occupant.name,
            total_reward=sum((earned[number] for earned in past), 0.0),
            set_up=set_up,
        )
        for number, (occupant, set_up) in enumerate(zip(seats, [each.agent.set_up for each in seats], strict=True))
        for branch in branches
    )
    return branches


def _copy_turns(parent: Episode, last: int, keys: Sequence[str]) -> None:
    """Copy the first turns of an episode to those with these keys, without reading them: states are large."""
    table = Turn._meta  # noqa: SLF001 (Django documents it)
    changed = {"episode", "seq", "created"}
    columns = ", ".join(f'"{field.column}"' for field in table.concrete_fields if field.name not in changed)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO {table.db_table} (episode_id, seq, created, {columns})
            SELECT branch.id, number, now(), {columns}
            FROM {table.db_table} CROSS JOIN unnest(%s::text[]) AS branch (id)
            WHERE episode_id = %s AND number <= %s
            """,  # noqa: S608 (names of columns, nothing from outside)
            [list(keys), parent.pk, last],
        )
