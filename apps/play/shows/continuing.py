"""Agents that continue an episode from one of its turns, in branches that they play live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db import transaction

from apps.accounts.models import User, default_visibility
from apps.agents.models import Agent
from apps.episodes import branches, operations
from apps.episodes.errors import NotFound
from apps.episodes.models import Episode
from apps.play.shows import operations as shows
from apps.play.starting import once
from apps.visibility import narrower

MOST_CONTINUATIONS = 64
"""How many branches may begin at once, if the person's quota has room for them."""


def go_on(
    episode: Episode,
    turn: int,
    agent: Agent,
    *,
    pace: float = 1.0,
    user: User | None = None,
    visitor: str = "",
    address: str = "",
    form: str = "",
) -> Episode:
    """Let `agent` continue any episode live from a turn, in a new branch: `continue_with`, once."""
    return continue_with(episode, turn, agent, pace=pace, user=user, visitor=visitor, address=address, form=form)[0]


def continue_with(
    episode: Episode,
    turn: int,
    agent: Agent,
    *,
    count: int = 1,
    pace: float | None = None,
    user: User | None = None,
    visitor: str = "",
    address: str = "",
    form: str = "",
) -> list[Episode]:
    """Let `agent` continue any episode live from a turn, in `count` new branches at once: `draft`, and then `begin`.

    A `form` with this digest begins them once (`once.begin`).

    Raises the errors of `draft` and `begin`.
    """
    drafts = draft(episode, turn, agent, count=count, pace=pace, user=user, visitor=visitor, address=address)
    return once.begin(form, lambda: begin(drafts))


@dataclass(frozen=True, slots=True)
class Drafts:
    """Branches that have not been stored, and how agents play them."""

    branches: list[Episode]
    seats: Sequence[operations.Occupant]
    pace: float
    starter: shows.Starter


def draft(
    episode: Episode,
    turn: int,
    agent: Agent,
    *,
    count: int = 1,
    pace: float | None = None,
    user: User | None = None,
    visitor: str = "",
    address: str = "",
) -> Drafts:
    """As many branches from a turn, which `begin` stores. Call it outside of transactions: it restores the environment.

    The agent replaces people or, if there are none, the agent to act. Other seats keep the agents that the person may
    choose; an expert replaces the others. In each branch the agents draw anew. Without a `pace`, several branches are
    played as fast as shows are.

    Raises:
        CannotPlay, PaceRefused, TooManyShows: the message is for the person.
        NotFound, EpisodeEnded, Sealed, Outdated: see `episodes.branches.draft_fork`.
    """
    if not 1 <= count <= MOST_CONTINUATIONS:
        raise NotFound(f"An episode can be continued 1 to {MOST_CONTINUATIONS} times at once, not {count:,} times.")
    branches.check_registered(episode)
    shows.check_agent(episode.env_id, agent)
    pace = shows.check_pace(pace or (1.0 if count == 1 else shows.PACE_BOUNDS[0]))
    starter = shows.Starter(user, visitor, address)
    shows.check_room(starter, count)
    people = episode.seats.filter(agent__kind=Agent.Kind.HUMAN).values_list("number", flat=True)
    replaced = set(people) or {branches.acting_after(episode, turn)}
    seats = [
        operations.Occupant(agent if number in replaced else kept)
        for number, kept in enumerate(shows.stand_ins(episode, user or AnonymousUser()))
    ]
    drafts = branches.draft_continuations(episode, turn, count)
    for branch in drafts:
        branch.visibility = narrower(branch.visibility, default_visibility(user))
    return Drafts(drafts, seats, pace, starter)


@transaction.atomic
def begin(drafts: Drafts) -> list[Episode]:
    """Store drafted branches and let their agents play. Raises TooManyShows if the person has others meanwhile."""
    shows.take_room(drafts.starter, len(drafts.branches))
    branches.store_branches(drafts.branches, seats=drafts.seats)
    for branch in drafts.branches:
        shows.begin_show(branch, drafts.pace, drafts.starter)
    return drafts.branches
