"""Every write that a person who plays makes: begin, take a turn, give up, undo, fork."""

from __future__ import annotations

from django.db import transaction

import gem
from apps.accounts.models import User, Viewer
from apps.agents.models import Agent
from apps.episodes import operations
from apps.episodes.errors import EpisodeOver, NotYourTurn, TurnTaken, Unreadable
from apps.episodes.models import Episode, Seat
from apps.episodes.operations import Occupant
from gem.errors import EnvironmentFailure


def begin(env_id: str, *, seed: int | None, listed: bool, user: Viewer, visitor: str) -> Episode:
    """An episode with this person in its seat; without a seed, one is drawn.

    Raises:
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: with a sentence for the person.
    """
    return operations.begin(env_id, seed=seed, seats=[_person(user, visitor)], listed=listed)


def take_turn(
    episode_id: str, action: str, *, expected_seq: int, user: Viewer, visitor: str, as_written: bool = False
) -> Episode:
    """Play `action` if the page that sent it was up to date; an environment that breaks ends the episode as failed.

    `as_written` sends a text that the environment cannot read, which its rules punish.

    Raises:
        NotFound, NotYourTurn, EpisodeOver, TurnTaken, ActionTooLong, Unreadable, Outdated: nothing was played.
    """
    operations.check_action(action)
    try:
        with transaction.atomic():
            episode = operations.lock(episode_id)
            _own_seat(episode, user, visitor)
            if episode.over:
                raise EpisodeOver("Your turn was not played. The board shows how it ended.")
            if episode.seq != expected_seq:
                raise TurnTaken(_meanwhile(episode, expected_seq))
            env = operations.restore(episode)
            if not as_written:
                _check_readable(env, action)
            operations.record_turn(episode, env, action)
    except EnvironmentFailure as failure:
        return operations.fail(episode, str(failure))
    return episode


def abandon(episode_id: str, *, user: Viewer, visitor: str) -> Episode:
    """Give up.

    Raises:
        NotFound, NotYourTurn, EpisodeOver: nothing was changed.
    """
    with transaction.atomic():
        episode = operations.lock(episode_id)
        _own_seat(episode, user, visitor)
        return operations.abandon(episode)


def fork(episode: Episode, turn: int, *, user: Viewer, visitor: str) -> Episode:
    """Another episode with the same past up to `turn`, played on by this person.

    Raises:
        NotFound, EpisodeOver, Outdated: nothing was begun.
    """
    return operations.fork(episode, turn, seats=[_person(user, visitor)])


@transaction.atomic
def undo(episode_id: str, *, user: Viewer, visitor: str) -> Episode:
    """Take the last turn back: a new branch begins before it, and the old one stays to read.

    Raises:
        NotFound, NotYourTurn, EpisodeOver, Outdated: nothing was changed.
    """
    episode = operations.lock(episode_id)
    _own_seat(episode, user, visitor)
    if episode.turn_count == 0:
        raise EpisodeOver("There is no turn to take back.")
    branch = operations.fork(episode, episode.turn_count - 1, seats=[_person(user, visitor)])
    if not episode.over:
        operations.abandon(episode)
    return branch


def _person(user: Viewer, visitor: str) -> Occupant:
    human = Agent.objects.get(kind=Agent.Kind.HUMAN, owner=None)
    if isinstance(user, User):
        return Occupant(human, user=user)
    return Occupant(human, visitor=visitor)


def _own_seat(episode: Episode, user: Viewer, visitor: str) -> Seat:
    for seat in episode.seats.select_related("agent").order_by("number"):
        if seat.belongs_to(user, visitor):
            return seat
    raise NotYourTurn("Somebody else plays this episode. You can watch it, or fork it and play on from any turn.")


def _meanwhile(episode: Episode, expected_seq: int) -> str:
    """What has happened since the page was drawn."""
    played = list(episode.turns.filter(seq__gt=expected_seq).order_by("number").values_list("number", flat=True))
    if not played:
        return "The episode has changed in another window. Your turn was not played; the text is still in the field."
    turns = f"Turn {played[0]} has" if len(played) == 1 else f"Turns {played[0]} to {played[-1]} have"
    return (
        f"{turns} been played in another window. The board now shows it, your text is still in the field, and it is "
        "your turn."
    )


def _check_readable(env: gem.Env, action: str) -> None:
    """Ask before a slip ends the episode: an action that cannot be read costs the game.

    Raises:
        Unreadable: with the same text in a box, if the environment could read that.
    """
    pattern = getattr(env.unwrapped, "pattern", None)
    if pattern is None or pattern.search(action) or _is_for_a_tool(env, action):
        return
    boxed = f"\\boxed{{{action.strip()}}}"
    suggestion = boxed if pattern.search(boxed) else ""
    raise Unreadable(
        "The environment finds no action in this text, and its rules end the episode for that. Nothing was played.",
        suggestion,
    )


def _is_for_a_tool(env: gem.Env, action: str) -> bool:
    asks = getattr(env, "asks_for_tool", None)
    return asks is not None and bool(asks(action))
