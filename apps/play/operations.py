"""All writes of people who play: begin, take a turn, give up, undo, fork."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction

import gem
from apps.accounts.models import User, Viewer, account_of, default_visibility
from apps.admission.counting import one_at_a_time
from apps.admission.models import name_of
from apps.agents.models import Agent
from apps.episodes import branches, operations
from apps.episodes.errors import (
    AlreadySeated,
    EpisodeEnded,
    NothingToUndo,
    NotYourTurn,
    OtherSeatActs,
    Refusal,
    SeatTaken,
    TurnTaken,
    Unreadable,
)
from apps.episodes.models import Batch, Episode, Seat
from apps.episodes.operations import Occupant
from apps.episodes.restore import restore
from apps.episodes.visibility import own_seat
from apps.play import pending
from apps.play.models import OpenInvitation
from apps.play.people.names import name_of_guest
from apps.play.shows import operations as shows
from apps.play.starting import once
from apps.play.starting.tooling import ask_tools
from apps.visibility import narrower
from gem.errors import EnvironmentFailure, InvalidArgument
from gem.views.typed import as_action


def begin(
    env_id: str,
    *,
    seed: int | None,
    user: Viewer,
    visitor: str,
    visibility: str = "",
    wrappers: Sequence[Mapping[str, Any]] = (),
    form: str = "",
) -> Episode:
    """Begin an episode with this person in its only seat. Without a seed, one is drawn.

    Without a `visibility`, it has the one that their account says. A `form` with this digest begins one (`once.begin`).

    Raises:
        Refusal: a tool among the wrappers cannot be used now.
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: the message is for the person.
    """
    ask_tools(env_id, wrappers)
    seats, visibility = [person(user, visitor)], visibility or default_visibility(user)
    try:
        episode = operations.draft(env_id, seed=seed, wrappers=wrappers)
    except EnvironmentFailure as failure:
        raise Refusal(str(failure)) from failure
    return once.begin(form, lambda: [operations.store(episode, seats=seats, visibility=visibility)])[0]


def begin_in_batch(
    batch: Batch,
    slot: int | None,
    env_id: str,
    *,
    seed: int,
    shown_seed: int,
    user: Viewer,
    visitor: str,
    wrappers: Sequence[Mapping[str, Any]] = (),
    check: Callable[[], None] = lambda: None,
    form: str = "",
) -> Episode:
    """Begin an episode of a batch with this person in its only seat. A `form` with this digest begins one.

    Args:
        slot: its place, which no other has; None where the caller sees to it that it is begun once.
        shown_seed: what is stored in place of the seed, which is hidden while the batch is closed.
        check: called in the transaction that stores the episode; what it raises keeps it from being stored.

    Raises:
        TurnTaken: the person began this one in another window at the same time.
        EpisodeEnded: its seeds have been published meanwhile.
        Refusal: the environment failed.
    """
    try:
        episode = operations.draft(env_id, seed=seed, wrappers=wrappers)
    except EnvironmentFailure as failure:
        raise Refusal(f"{env_id} cannot begin now. Try again.") from failure
    episode.seed = shown_seed

    def store() -> list[Episode]:
        check()
        seats, visibility = [person(user, visitor)], default_visibility(user)
        return [operations.store(episode, seats=seats, visibility=visibility, batch=batch, slot=slot)]

    try:
        return once.begin(form, store)[0]
    except IntegrityError as error:
        raise TurnTaken("You began this episode in another window. It is in the list of your episodes.") from error


def begin_against(
    env_id: str,
    opponent: Agent | None,
    *,
    seat: int | None = None,
    seed: int | None = None,
    user: Viewer,
    visitor: str,
    address: str = "",
    visibility: str = "",
    form: str = "",
) -> Episode:
    """Begin an episode with several seats: this person in `seat` (random if None), `opponent` in the others.

    Without an opponent, the other seats stay free for people with a link (`join`). Then the seed is always random,
    because a known seed would reveal what is hidden. An agent's turns wait in the queue of the person and, without an
    account, of their hashed `address`. A `form` with this digest begins one (`once.begin`).

    Raises:
        CannotPlay: the opponent cannot act in this environment.
        TooManyShows: the person has used up their CPU seconds, which an agent would need.
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: the message is for the person.
    """
    count = gem.spec(env_id).seats
    own = secrets.randbelow(count) if seat is None else seat
    if not 0 <= own < count:
        raise InvalidArgument(f"{env_id} has {count} seats; there is no seat {own + 1}.")
    if opponent is None and seed is not None:
        raise InvalidArgument("Against another person the seed is random, because it would reveal hidden information.")
    if opponent is not None:
        shows.check_agent(env_id, opponent)
    other = Occupant(human_agent()) if opponent is None else Occupant(opponent)
    seats = [person(user, visitor) if number == own else other for number in range(count)]
    episode = operations.draft(env_id, seed=seed)

    def store() -> list[Episode]:
        operations.store(episode, seats=seats, visibility=visibility or default_visibility(user))
        shows.accompany(episode, _starter(user, visitor, address))
        return [episode]

    return once.begin(form, store)[0]


@transaction.atomic
def join(episode_id: str, number: int, *, user: Viewer, visitor: str) -> Episode:
    """Take a free seat. Nothing changes if this person already has it.

    Raises:
        NotFound, EpisodeEnded, SeatTaken, AlreadySeated: the seat was not taken.
    """
    episode = operations.lock(episode_id)
    seats = list(episode.seats.select_related("agent").select_for_update(of=("self",)).order_by("number"))
    if own_seat(episode, user, visitor, seats) == number:
        return episode
    check_seat(episode, number, seats, user=user, visitor=visitor)
    occupant = person(user, visitor)
    episode.seats.filter(number=number).update(user=occupant.user, visitor=occupant.visitor, name=occupant.name)
    OpenInvitation.objects.filter(pk=episode.pk).delete()
    return operations.touch(episode)


def check_seat(episode: Episode, number: int, seats: Sequence[Seat], *, user: Viewer, visitor: str) -> None:
    """Check that this person may take a seat; `seats` are those of the episode in their order.

    Raises:
        SeatTaken, EpisodeEnded, AlreadySeated: they may not.
    """
    if number >= len(seats) or not seats[number].is_free:
        raise SeatTaken("Somebody else has taken this seat.")
    if episode.over:
        raise EpisodeEnded("The episode ended before anybody took this seat.")
    if own_seat(episode, user, visitor, seats) is not None:
        raise AlreadySeated("You already have the other seat. Send the link to the person you want to play against.")


def take_turn(
    episode_id: str,
    action: str,
    *,
    expected_seq: int | None,
    user: Viewer,
    visitor: str,
    address: str = "",
    as_written: bool = False,
) -> Episode:
    """Play `action` if the page that sent it is up to date. If the environment fails, the episode ends as failed.

    `expected_seq` is the `seq` that the page showed; None if the request had none. Only this function compares it.

    If all seats choose at the same time, the action of a later seat is held until the earlier seats have chosen. A turn
    in a slow environment is only accepted here; a worker plays it (`apps.play.pending`). It waits in the queue of the
    person and, without an account, of their hashed `address`.

    A text that contains no action is wrapped as the view's `say` describes: as a message, a search or a command. With
    `as_written`, a text that the environment cannot parse is sent all the same, and its rules punish it.

    Raises:
        NotFound, NotYourTurn, OtherSeatActs, EpisodeEnded, TurnTaken, ActionTooLong, Unreadable, Outdated: nothing
            was played.
        Refusal: there is no `expected_seq`; nothing was played.
    """
    if expected_seq is None:
        raise Refusal(
            "The request did not say which turn the page shows. Nothing was played. Reload the page and send again."
        )
    if not (action.strip() or as_written):
        raise Unreadable("The field is empty. Type an action, or press a cell of the board.")
    operations.check_action(action)
    slow_env = _restore_if_slow(episode_id)
    try:
        with transaction.atomic():
            episode = operations.lock(episode_id)
            own = _own_seat(episode, user, visitor)
            if episode.over:
                raise EpisodeEnded("Your turn was not played. The board shows how it ended.")
            env = restore(episode) if slow_env is None else slow_env
            if own.number not in env.to_act or own.held:
                raise OtherSeatActs(_describe_whose_turn(episode, own))
            if episode.seq != expected_seq:
                raise TurnTaken(_describe_changes(episode, expected_seq))
            if not as_written:
                action = as_action(env, action, own.number)
                _check_readable(env, action)
            if episode.acting != own.number:
                return operations.hold(episode, own, action, address)
            if episode.slow:
                return pending.accept(episode, own, action, address)
            operations.record_turn(episode, env, action)
            operations.play_held(episode, env)
            shows.answer(episode)
    except EnvironmentFailure as failure:
        return operations.fail(episode, str(failure))
    return episode


def _restore_if_slow(episode_id: str) -> gem.Env | None:
    """The environment of a running episode if it is slow, because no transaction may wait for it; otherwise None.

    If the episode goes on before it is locked, its `seq` is another one than the page showed, and nothing is played.
    """
    episode = operations.find(episode_id)
    return restore(episode) if episode.slow and not episode.over else None


def abandon(episode_id: str, *, user: Viewer, visitor: str) -> Episode:
    """End the episode without a result.

    Raises:
        NotFound, NotYourTurn, EpisodeEnded: nothing was changed.
    """
    with transaction.atomic():
        episode = operations.lock(episode_id)
        if _own_seat(episode, user, visitor).is_taken:
            raise Refusal("The seat is an agent's. Hand it back, or stop the episode with the controls of its page.")
        return operations.abandon(episode)


def fork(episode: Episode, turn: int, *, user: Viewer, visitor: str, address: str = "", once: bool = False) -> Episode:
    """Begin another episode with the same turns up to `turn`, continued by this person.

    If there are several seats, the person takes the one to act. The other seats keep the agents that the person may
    choose; an expert replaces other people and all other agents.

    Args:
        once: whether a fork of this person from this turn in which no turn was played yet is returned instead, so that
            a request that is sent twice begins one.

    Raises:
        NotFound, EpisodeEnded, Sealed, Outdated, TooManyShows: nothing was begun.
    """
    branches.check_registered(episode)
    own = branches.acting_after(episode, turn)
    seats = [
        person(user, visitor) if number == own else Occupant(agent)
        for number, agent in enumerate(shows.stand_ins(episode, user))
    ]
    branch = branches.draft_fork(episode, turn)
    branch.visibility = narrower(branch.visibility, default_visibility(user))
    with transaction.atomic():
        if once:
            one_at_a_time("forks", name_of(user.pk, visitor))
            begun = Episode.objects.running().filter(parent=episode, parent_turn=turn).order_by("created")
            if (
                found := next((each for each in begun if branches.is_untouched(each, turn, user, visitor)), None)
            ) is not None:
                return found
        branches.store_branch(branch, seats=seats)
        shows.accompany(branch, _starter(user, visitor, address))
    return branch


def note_advice(episode: Episode, number: int) -> None:
    """Record that the person in this seat got a hint from the expert."""
    episode.seats.filter(number=number, advised=False).update(advised=True)


def undo(episode_id: str, *, user: Viewer, visitor: str, address: str = "") -> Episode:
    """Undo the person's last turn: a new branch begins before it, and the old episode stays readable.

    A second call, even at once, returns the branch that the first one began, until a turn is played in it.

    Raises:
        NotFound, NotYourTurn, NothingToUndo, TurnTaken, Outdated, TooManyShows: nothing was changed.
        Refusal: another person plays too, the episode belongs to a duel, or its agent does not play for the person now.
    """
    episode = operations.find(episode_id)
    own = _own_seat(episode, user, visitor)
    if own.is_taken:
        raise Refusal("You cannot undo a turn in a seat that you have taken. Hand back, and fork the episode instead.")
    seats = list(episode.seats.select_related("agent", "user").order_by("number"))
    if any(seat.agent.kind == Agent.Kind.HUMAN for seat in seats if seat.number != own.number):
        raise Refusal("You cannot undo a turn that another person has seen. You can undo turns only against agents.")
    if episode.in_duel:
        raise Refusal("You cannot undo a turn in a duel, because the others play the same seed turn by turn.")
    shows.check_available(episode, user)
    last = episode.turns.filter(seat=own.number).order_by("-number").values_list("number", flat=True).first()
    if last is None:
        raise NothingToUndo("You have not played a turn yet, so there is none to undo.")
    occupants = [Occupant(seat.agent, user=seat.user, visitor=seat.visitor, name=seat.name) for seat in seats]
    if (begun := _begun_by_undo(episode, last - 1, user, visitor)) is not None:
        return begun
    branch = branches.draft_branch(episode, last - 1)
    with transaction.atomic():
        locked = operations.lock(episode_id)
        if (begun := _begun_by_undo(locked, last - 1, user, visitor)) is not None:
            return begun
        pending.refuse_while_underway(locked)
        if locked.seq != episode.seq:
            raise TurnTaken("The episode changed in the meantime. Nothing was undone. Look at the board and try again.")
        branches.take_back(locked, branch, seats=occupants)
        shows.accompany(branch, _starter(user, visitor, address))
    return branch


def _begun_by_undo(episode: Episode, turn: int, user: Viewer, visitor: str) -> Episode | None:
    """The branch that an undo has begun after `turn`, if this person has a seat there and no turn was played yet."""
    branch = episode.goes_on_in
    return branch if branch is not None and branches.is_untouched(branch, turn, user, visitor) else None


def human_agent() -> Agent:
    """The agent in the seats of people, and of programs that play for them."""
    return Agent.objects.get(kind=Agent.Kind.HUMAN, owner=None)


def person(user: Viewer, visitor: str) -> Occupant:
    """A person as who takes a seat; a guest with the name that they have chosen."""
    human = human_agent()
    if isinstance(user, User):
        return Occupant(human, user=user)
    return Occupant(human, visitor=visitor, name=name_of_guest(visitor))


def _starter(user: Viewer, visitor: str, address: str) -> shows.Starter:
    signed_in = account_of(user)
    return shows.Starter(signed_in, "" if signed_in else visitor, address)


def _own_seat(episode: Episode, user: Viewer, visitor: str) -> Seat:
    for seat in episode.seats.select_related("agent").order_by("number"):
        if seat.belongs_to(user, visitor):
            return seat
    raise NotYourTurn("Somebody else is playing this episode. You can watch it, or fork it and play on from any turn.")


def _describe_whose_turn(episode: Episode, own: Seat) -> str:
    """Say whose turn it is."""
    if own.held:
        return "You have already chosen in this round. It is played when everybody has chosen."
    seat = episode.seats.select_related("agent").get(number=episode.acting)
    if seat.is_free:
        return "Nothing was played. The seat to act is still free: send its link to the person you play against."
    name = "the other person" if seat.agent.kind == Agent.Kind.HUMAN else seat.agent.name
    return f"Nothing was played: it is {name}'s turn. Your text is still in the field; send it when it is your turn."


def _describe_changes(episode: Episode, expected_seq: int) -> str:
    """Say what has happened since the page was drawn."""
    if episode.seat_count > 1:
        return "The other seat acted first. Nothing was played. Your text is still in the field; send it again."
    numbers = list(episode.turns.filter(seq__gt=expected_seq).order_by("number").values_list("number", flat=True))
    if not numbers:
        return "The episode changed in another window. Your turn was not played. Your text is still in the field."
    turns = f"Turn {numbers[0]} has" if len(numbers) == 1 else f"Turns {numbers[0]} to {numbers[-1]} have"
    return (
        f"{turns} been played in another window. The board is up to date now, your text is still in the field, and it "
        "is your turn."
    )


def _check_readable(env: gem.Env, action: str) -> None:
    """Refuse an action that cannot be parsed, so that a typing error does not end the episode.

    Raises:
        Unreadable: with the text in a box or between tags as a suggestion, if the environment can parse it.
    """
    pattern = getattr(env.unwrapped, "pattern", None)
    if pattern is None or pattern.search(action) or _is_tool_call(env, action):
        return
    tagged = "<answer>" in getattr(env.unwrapped, "prompt", "")
    whole = f"<answer>{action.strip()}</answer>" if tagged else f"\\boxed{{{action.strip()}}}"
    suggestion = whole if pattern.search(whole) else ""
    raise Unreadable(
        "The environment finds no action in this text and would end the episode. Nothing was played.",
        suggestion,
    )


def _is_tool_call(env: gem.Env, action: str) -> bool:
    asks_for_tool = getattr(env, "asks_for_tool", None)
    return asks_for_tool is not None and bool(asks_for_tool(action))
