"""Every write to a duel: start it, add an agent, and steer the agents of all its episodes together.

A duel is a batch of episodes with the same environment and seed, each with a slot, shown side by side. Each is an
episode like any other; an agent's is a show, a person's is played by its board.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

import gem
from apps.accounts.models import Viewer, account_of
from apps.agents.models import Agent
from apps.episodes import operations
from apps.episodes.errors import EpisodeEnded, NotFound, Refusal
from apps.episodes.models import Batch, Episode
from apps.live import wake
from apps.play.models import Show
from apps.play.shows import operations as shows
from gem.core import check_seed

EPISODES_AT_MOST = 4


class NoDuel(Refusal):
    """These episodes cannot stand side by side."""

    title = "This cannot be a duel"


@dataclass(frozen=True, slots=True)
class DuelStart:
    """Where all episodes of a duel begin; `seed` None has one drawn."""

    env_id: str
    seed: int | None = None
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    wrappers: Sequence[Mapping[str, Any]] = ()


@transaction.atomic
def start(
    begin: DuelStart,
    agents: Sequence[Agent],
    *,
    plays: bool = False,
    pace: float = 1.0,
    lock_step: bool = True,
    listed: bool = True,
    user: Viewer,
    visitor: str,
) -> Batch:
    """Begin an episode for each of `agents`, and one for the person first if she `plays` herself.

    Raises:
        NoDuel, CannotPlay, PaceRefused, TooManyShows: nothing was started, with a sentence for the person.
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: likewise.
    """
    if gem.spec(begin.env_id).seats > 1:
        raise NoDuel(
            f"{begin.env_id} has several seats, so agents already meet in one episode. Choose an environment with one "
            "seat, or watch two agents play against each other."
        )
    if not 2 <= len(agents) + plays <= EPISODES_AT_MOST:
        raise NoDuel(f"A duel has 2 to {EPISODES_AT_MOST} episodes, not {len(agents) + plays}.")
    duel = Batch.objects.create(kind=Batch.Kind.DUEL)
    if plays:
        begin = _with_seed(begin, _seat_down(duel, begin, listed, user, visitor))
    for number, agent in enumerate(agents, int(plays)):
        episode = shows.start(
            begin.env_id,
            agent,
            seed=begin.seed,
            pace=pace,
            user=account_of(user),
            visitor="" if user.is_authenticated else visitor,
            env_kwargs=begin.env_kwargs,
            wrappers=begin.wrappers,
            listed=listed,
            batch=duel,
            slot=number,
            lock_step=lock_step,
        )
        begin = _with_seed(begin, episode)
    return duel


@transaction.atomic
def add(duel: Batch, agent: Agent, *, user: Viewer, visitor: str) -> Episode:
    """Let another agent play the same seed from its beginning; in lock step the others wait until it has caught up.

    Raises:
        NoDuel, CannotPlay, TooManyShows: nothing was started.
    """
    present = _locked(duel)
    if len(present) >= EPISODES_AT_MOST:
        raise NoDuel(f"A duel has at most {EPISODES_AT_MOST} episodes. Start another duel on the same seed.")
    first = present[0]
    show = Show.objects.filter(episode__in=present).order_by("episode__slot").first()
    episode = shows.start(
        first.env_id,
        agent,
        seed=first.seed,
        pace=show.pace if show else 1.0,
        user=account_of(user),
        visitor="" if user.is_authenticated else visitor,
        env_kwargs=first.env_kwargs,
        wrappers=first.wrappers,
        listed=first.listed,
        batch=duel,
        slot=len(present),
        lock_step=show.lock_step if show else False,
    )
    operations.tell(episode)
    return episode


def may_control(duel: Batch, user: Viewer, visitor: str) -> bool:
    """Whether this person may steer the agents: who started the duel, or staff."""
    found = duel.episodes.filter(show__isnull=False).order_by("slot").first()
    return found is not None and shows.may_control(found, user, visitor)


@transaction.atomic
def steer(duel: Batch, verb: Callable[[str], None]) -> None:
    """Do something to every agent that still plays: `shows.pause`, `shows.resume`, `shows.one_turn`, `shows.stop`.

    Raises:
        EpisodeEnded: none plays any longer.
        PaceRefused: as `shows.set_pace`.
    """
    for episode in _played(duel):
        verb(episode.id)


@transaction.atomic
def keep_step(duel: Batch, lock_step: bool) -> None:
    """From now on let the agents wait for one another at every turn, or not. Raises as `steer`."""
    for episode in _played(duel):
        Show.objects.filter(pk=episode.pk).update(lock_step=lock_step)
        operations.touch(episode)
        wake(shows.HOSTS, episode.id)


def _seat_down(duel: Batch, begin: DuelStart, listed: bool, user: Viewer, visitor: str) -> Episode:
    human = Agent.objects.get(kind=Agent.Kind.HUMAN, owner=None)
    signed_in = account_of(user)
    person = operations.Occupant(human, signed_in, "" if signed_in else visitor)
    return operations.begin(
        begin.env_id,
        seed=begin.seed,
        seats=[person],
        env_kwargs=begin.env_kwargs,
        wrappers=begin.wrappers,
        listed=listed,
        batch=duel,
        slot=0,
    )


def _with_seed(begin: DuelStart, episode: Episode) -> DuelStart:
    return DuelStart(begin.env_id, check_seed(episode.seed), begin.env_kwargs, begin.wrappers)


def _locked(duel: Batch) -> list[Episode]:
    """All episodes of the duel, locked: before its own row, so that two writers never wait for each other."""
    return list(duel.episodes.select_for_update().order_by("slot"))


def _played(duel: Batch) -> list[Episode]:
    shown = set(Show.objects.filter(episode__batch=duel).values_list("pk", flat=True))
    running = [episode for episode in _locked(duel) if not episode.over and episode.pk in shown]
    if not running:
        raise EpisodeEnded("All agents have finished. The replay shows every turn.")
    return running


def find(duel_id: str) -> Batch:
    """The duel.

    Raises:
        NotFound: there is none with this id.
    """
    found = Batch.objects.filter(pk=duel_id, kind=Batch.Kind.DUEL).first()
    if found is None:
        raise NotFound("The address may be mistyped, or the duel was deleted.")
    return found
