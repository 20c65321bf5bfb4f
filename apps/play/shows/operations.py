"""All writes that people make to a show: start, pause, resume, one turn, stop, change the pace.

Each one locks the episode and then the show, raises the episode's `seq` and wakes the hosts, so that every page and the
host get the change at once. What the hosts write is in `show_leases.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import models, transaction
from django.db.models.functions import Least, Now

import gem
from apps.accounts import quotas
from apps.accounts.models import User, Viewer, default_visibility
from apps.admission.counting import one_at_a_time
from apps.admission.models import name_of
from apps.agents.models import Agent, Weights
from apps.episodes import operations
from apps.episodes.errors import EpisodeEnded, NotFound, Refusal
from apps.episodes.models import Batch, Episode
from apps.episodes.visibility import own_seat
from apps.leases import LeasedQuerySet
from apps.live import wake
from apps.play.models import Show
from apps.play.starting import once
from apps.visibility import Person, Visibility
from gem.agents import has_expert
from gem.errors import EnvironmentFailure

HOSTS = "play"
"""The name under which the hosts (`workers.play`) are woken."""
PACE_BOUNDS = (0.1, 60.0)
"""The smallest and the largest pace, in seconds per turn."""
ANSWER_SECONDS = 0.5
"""The pause between a person's turn and the agent's, long enough to see the result of one's own turn."""
MAX_TURNS_DUE = 20
ACCOMPANIES = models.Q(showcase=False, started_by=None, visitor="")
"""A filter for the shows of agents in a person's game, which nobody has started."""
ROOM = 2
"""How many times as many shows a person or an address may have as play at the same time. The others wait."""
TOO_MANY = (
    "You already have {used} live episodes, and one person may have {most}, {limit} of which play at the same time. "
    "Nothing was started. Start fewer at once, stop one of them, or wait until one ends."
)


NOT_THE_STARTER = "Only the person who started this episode can control it."


class CannotPlay(Refusal):
    """The agent cannot act in this environment."""

    title = "This agent cannot play here"


class PaceRefused(Refusal):
    """The pace is out of bounds."""

    title = "This pace is not possible"


class TooManyShows(Refusal):
    """The person, or their IP address, has as many live episodes as may play and wait."""

    status = 429
    title = "Too many live episodes at once"


def start(
    env_id: str,
    agent: Agent,
    *,
    opponent: Agent | None = None,
    seed: int | None = None,
    pace: float = 1.0,
    user: User | None = None,
    visitor: str = "",
    address: str = "",
    showcase: bool = False,
    env_kwargs: Mapping[str, Any] | None = None,
    wrappers: Sequence[Mapping[str, Any]] = (),
    visibility: str = "",
    batch: Batch | None = None,
    slot: int | None = None,
    lock_step: bool = False,
    draft: Episode | None = None,
    form: str = "",
) -> Episode:
    """Begin an episode that `agent` plays live, one turn every `pace` seconds.

    If there are several seats, `opponent` has the others. Without an opponent, the agent plays against itself. A caller
    whose transaction includes this passes a `draft` that it has made before (`episodes.operations.draft`). It waits in
    the queue if the person has `SHOWS_PER_PERSON` live episodes already, or if the hashed `address` of a person without
    an account has `SHOWS_PER_ADDRESS`. Without a `visibility`, it has the one that the account says.
    A `form` with this digest begins one (`once.begin`).

    Raises:
        CannotPlay, PaceRefused, TooManyShows: the message is for the person.
        Refusal: a tool among the wrappers cannot be used now.
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: the message is for the person.
    """
    seats = _seating(env_id, agent, opponent)
    pace = check_pace(pace)
    starter = Starter(user, visitor, address)
    if not showcase:
        check_room(starter)
    try:
        episode = draft or operations.draft(env_id, seed=seed, env_kwargs=env_kwargs, wrappers=wrappers)
    except EnvironmentFailure as failure:
        raise Refusal(str(failure)) from failure
    visibility = Visibility.UNLISTED if showcase else visibility or default_visibility(user)

    def store() -> list[Episode]:
        if not showcase:
            take_room(starter)
        operations.store(episode, seats=seats, visibility=visibility, batch=batch, slot=slot)
        begin_show(episode, pace, starter, showcase=showcase, lock_step=lock_step)
        return [episode]

    return once.begin(form, store)[0]


@dataclass(frozen=True, slots=True)
class Starter:
    """Who starts a show: a person with an account, a visitor at an address, or the site itself."""

    user: User | None = None
    visitor: str = ""
    address: str = ""

    @property
    def name(self) -> str:
        """The name in the queue."""
        return name_of(self.user.pk if self.user else None, self.visitor)


def begin_show(episode: Episode, pace: float, starter: Starter, **kind: Any) -> None:
    """Let the agents of a stored episode play it live, in the queue of `starter`."""
    Show.objects.create(
        episode=episode,
        pace=pace,
        **{"started_by": starter.user, "visitor": starter.visitor, **kind},
        person=starter.name,
        address=starter.address,
        next_turn_at=Now() + timedelta(seconds=pace),
    )
    wake(HOSTS, episode.id)


def accompany(episode: Episode, player: Starter) -> None:
    """Let the agents in a person's episode play, each a moment after its turn comes.

    Such a show waits in the queue of the player, but nobody has started it: nobody controls it, and it is none of the
    live episodes of which a person may have only so many.

    Raises:
        TooManyShows: the person has used up their CPU seconds.
    """
    seats = list(episode.seats.select_related("agent"))
    if len(seats) > 1 and any(seat.agent.kind != Agent.Kind.HUMAN for seat in seats):
        if player.user and (problem := quotas.refusal(player.user, quotas.CPU_SECONDS, 0)):
            raise TooManyShows(problem)
        begin_show(episode, ANSWER_SECONDS, player, started_by=None, visitor="")


def answer(episode: Episode) -> None:
    """After a person's turn, let the next agent play soon."""
    soon = Now() + timedelta(seconds=ANSWER_SECONDS)
    if Show.objects.filter(episode=episode).update(next_turn_at=soon) or episode.batch_id is not None:
        wake(HOSTS, episode.id)  # in a duel, an agent may have waited for this turn of the person


def stand_ins(episode: Episode, user: Viewer) -> list[Agent]:
    """The agents for the seats of a branch that `user` begins: the same, if `user` may choose them.

    The expert or the random agent replaces people and all other agents, which are private, hidden or deleted, or need
    an account.
    """
    agents = [seat.agent for seat in episode.seats.select_related("agent").order_by("number")]
    kept = set(Agent.objects.selectable_by(user).filter(pk__in=[agent.pk for agent in agents]))
    kind = Agent.Kind.EXPERT if has_expert(episode.env_id) else Agent.Kind.RANDOM
    stand_in = Agent.objects.get(kind=kind, owner=None)
    return [agent if agent in kept else stand_in for agent in agents]


def unavailable(episode: Episode, user: Viewer) -> dict[int, Agent]:
    """The agents of this episode that `user` may not choose, by the number of their seat."""
    seats = episode.seats.exclude(agent__kind=Agent.Kind.HUMAN)
    seats = seats.exclude(agent__in=Agent.objects.selectable_by(user))
    return {seat.number: seat.agent for seat in seats.select_related("agent")}


def check_available(episode: Episode, user: Viewer) -> None:
    """Refuse to ask an agent again on behalf of somebody for whom it does not play, or no longer.

    Raises:
        CannotPlay: the message is for the person.
    """
    for agent in unavailable(episode, user).values():
        raise CannotPlay(
            f"{agent.name} is not available to you now: its owner has made it private or deleted it. Nothing was "
            "changed, and all turns are kept. You can fork the episode from any turn and go on with another agent."
        )


def started_by(user: Person, visitor: str) -> models.Q:
    """A filter for the episodes whose show this person has started, who therefore owns them."""
    mine = models.Q(visitor=visitor) if visitor else models.Q(pk__in=[])
    if user.is_authenticated:
        mine |= models.Q(started_by=user.pk)
    return models.Q(pk__in=Show.objects.filter(mine).values("pk"))


def may_control(episode: Episode, user: Viewer, visitor: str) -> bool:
    """Whether this person may control the show: the person who started it, or staff."""
    show = Show.objects.filter(episode=episode).first()
    if show is None:
        return False
    if user.is_authenticated and (user.is_staff or show.started_by_id == user.pk):
        return True
    return bool(visitor) and show.visitor == visitor


def may_ask_again(episode: Episode, user: Viewer, visitor: str) -> bool:
    """Whether this person may resume the show: they control it, or play against the agent that gave no answer."""
    if may_control(episode, user, visitor):
        return True
    waits = Show.objects.filter(episode=episode).exclude(trouble="").exists()
    return waits and own_seat(episode, user, visitor) is not None


def may_do(verb: str, episode: Episode, user: Viewer, visitor: str) -> bool:
    """Whether this person may use a control of the show."""
    return (may_ask_again if verb == "resume" else may_control)(episode, user, visitor)


def pause(episode_id: str) -> None:
    """Play no further turn until `resume` or `one_turn`.

    Raises:
        NotFound: no agent plays this episode.
        EpisodeEnded: it has ended.
    """
    _change(episode_id, paused=True, turns_due=0)


def resume(episode_id: str, user: Viewer | None = None) -> None:
    """Continue at the show's pace, and ask an agent that gave no answer again.

    Raises the same errors as `pause`, and CannotPlay if the agent does not play for whoever started the show or, if
    nobody with an account did, for `user`.
    """
    check_again(episode_id, user)
    _change(episode_id, paused=False, turns_due=0, trouble="", next_turn_at=Now())


def one_turn(episode_id: str, user: Viewer | None = None) -> None:
    """Play one turn now and then pause. Raises the same errors as `resume`."""
    check_again(episode_id, user)
    due = Least(models.F("turns_due") + 1, MAX_TURNS_DUE)
    _change(episode_id, paused=True, turns_due=due, trouble="", next_turn_at=Now())


def check_again(episode_id: str, user: Viewer | None) -> None:
    """Refuse to let an agent go on that does not play for whoever started the show (`check_available`)."""
    show = Show.objects.select_related("episode", "started_by").filter(pk=episode_id).first()
    if show is not None:
        check_available(show.episode, show.started_by or user or AnonymousUser())


def set_pace(episode_id: str, seconds: float) -> None:
    """Play one turn every `seconds` from now on. Raises the same errors as `pause`, and PaceRefused."""
    pace = check_pace(seconds)
    next_turn_at = Least(models.F("next_turn_at"), Now() + timedelta(seconds=pace))
    _change(episode_id, pace=pace, next_turn_at=next_turn_at)


@transaction.atomic
def stop(episode_id: str) -> None:
    """End the episode without a result. Raises the same errors as `pause`."""
    episode, shows = _lock(episode_id)
    operations.abandon(episode)
    shows.release()
    wake(HOSTS, episode_id)


@transaction.atomic
def _change(episode_id: str, **fields: Any) -> None:
    episode, shows = _lock(episode_id)
    if episode.over:
        raise EpisodeEnded("The agent has finished. The replay shows every turn.")
    shows.update(**fields)
    operations.touch(episode)
    wake(HOSTS, episode_id)


def _lock(episode_id: str) -> tuple[Episode, LeasedQuerySet[Show]]:
    """Lock the episode and then its show, always in this order."""
    episode = operations.lock(episode_id)
    shows = Show.objects.filter(pk=episode_id)
    if not shows.select_for_update().exists():
        raise NotFound("No agent is playing this episode live, so there is nothing to pause or stop.")
    return episode, shows


def _seating(env_id: str, agent: Agent, opponent: Agent | None) -> list[operations.Occupant]:
    """The occupants: the agent in the first seat, the opponent in the others."""
    count = gem.spec(env_id).seats
    if count == 1 and opponent is not None:
        raise CannotPlay(f"{env_id} has one seat, so there is nobody to play against.")
    agents = [agent, *[opponent or agent] * (count - 1)]
    for player in agents:
        check_agent(env_id, player)
    return [operations.Occupant(player) for player in agents]


def check_agent(env_id: str, agent: Agent) -> None:
    """Refuse an agent that cannot act in this environment.

    Raises:
        CannotPlay: the message is for the person.
    """
    if agent.kind == Agent.Kind.HUMAN:
        raise CannotPlay("A person cannot take an agent's place here. Choose an agent.")
    if agent.kind == Agent.Kind.CHECKPOINT and not Weights.objects.filter(agent=agent).exists():
        raise CannotPlay(f"{agent.name} has no checkpoint yet. Wait until its training saves the first one.")
    if agent.kind == Agent.Kind.EXPERT and not has_expert(env_id):
        raise CannotPlay(f"There is no expert for {env_id} yet. Choose the random agent, or another environment.")


def check_pace(seconds: float) -> float:
    """The pace as a number of seconds. Raises PaceRefused if it is out of bounds."""
    fastest, slowest = PACE_BOUNDS
    if not fastest <= seconds <= slowest:
        raise PaceRefused(f"The pace can be {fastest:g} to {slowest:g} seconds per turn, not {seconds:g}.")
    return float(seconds)


def check_room(starter: Starter, more: int = 1) -> None:
    """Refuse shows for which there is no room in the queue, where as many may wait as may play, or no CPU time."""
    if starter.user is not None:
        problem = quotas.refusal(starter.user, quotas.LIVE_EPISODES, more) or quotas.refusal(
            starter.user, quotas.CPU_SECONDS, 0
        )
        if problem:
            raise TooManyShows(problem)
    elif starter.visitor:
        limit, number = settings.SHOWS_PER_PERSON, _live().filter(visitor=starter.visitor).count()
        if number + more > ROOM * limit:
            raise TooManyShows(TOO_MANY.format(used=number, most=ROOM * limit, limit=limit))
    most = ROOM * settings.SHOWS_PER_ADDRESS
    if starter.address and (number := _live().filter(address=starter.address).count()) + more > most:
        raise TooManyShows(
            f"Visitors at your IP address already have {number} live episodes, and one address may have {most}. "
            "Nothing was started. Wait until some of them end, or log in."
        )


def take_room(starter: Starter, more: int = 1) -> None:
    """See `check_room`, in the transaction that stores the shows: other requests of this person count after it."""
    one_at_a_time("shows", starter.name)
    one_at_a_time("shows", starter.address)
    check_room(starter, more)


def _live() -> LeasedQuerySet[Show]:
    """Live episodes that play or wait, without the showcase and the agents in people's games."""
    return Show.objects.filter(episode__status=Episode.Status.RUNNING, showcase=False).exclude(ACCOMPANIES)


def live_episodes_of(user: User) -> int:
    """How many live episodes this person has started that play or wait."""
    return _live().filter(started_by=user).count()
