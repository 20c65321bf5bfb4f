"""The operations of people on remote agents: create, change, and play one episode by chat completions."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.agents import operations as agents
from apps.agents.models import Agent
from apps.episodes import operations as episodes
from apps.episodes.errors import Refusal
from apps.episodes.models import Episode
from apps.play.shows import operations as shows
from apps.remote.models import USUAL_SEATS, EpisodeKey, Remote
from gem.errors import EnvironmentFailure

PREFIX = "ep_"
"""The beginning of every key of an episode."""
SECRET_BYTES = 24
LIFETIME = timedelta(hours=2)
MODEL = "gem"
"""The name of the model that programs ask for; they may ask for any."""


def digest_of(secret: str) -> str:
    """The digest by which a key is stored."""
    return hashlib.sha256(secret.encode()).hexdigest()


class ChatEpisode(NamedTuple):
    """An episode that a program plays as if it were a model."""

    episode: Episode
    key: EpisodeKey
    secret: str
    """The key, which is not stored and cannot be shown again."""

    @property
    def path(self) -> str:
        """The path of the address that a program is given in place of that of a model's server."""
        return f"/e/{self.episode.pk}/v1"


@transaction.atomic
def create(owner: User, name: str, *, seats: int = USUAL_SEATS, visibility: str = "") -> Agent:
    """Create a remote agent.

    Raises:
        TooManyAgents: if the person has as many as one person may have.
    """
    agent = agents.add(owner, name, Agent.Kind.REMOTE, visibility)
    Remote.objects.create(agent=agent, seats=seats)
    return agent


@transaction.atomic
def find_or_create(owner: User, name: str, *, seats: int | None = None, visibility: str = "") -> tuple[Agent, bool]:
    """The person's remote agent of this name, and whether it was created now. Given `seats` hold from now on.

    Raises:
        TooManyAgents: if the person has as many as one person may have.
    """
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent calls find the same
    found = Agent.objects.remotes().filter(owner=owner, name=name).order_by("pk").first()
    if found is None:
        return create(owner, name, seats=seats or USUAL_SEATS, visibility=visibility), True
    if seats is not None:
        set_seats(found, seats)
    return found, False


def set_seats(agent: Agent, seats: int) -> None:
    """Change how many turns an agent is asked for at a time."""
    Remote.objects.filter(agent=agent).update(seats=seats)


def begin_chat(
    agent: Agent,
    env_id: str,
    *,
    user: User,
    seed: int | None = None,
    opponent: Agent | None = None,
    visibility: str = "",
) -> ChatEpisode:
    """Begin a live episode of a remote agent, which a program plays with a key of the episode.

    Raises:
        Refusal: the episode cannot begin; the message is for the person.
        gem.errors.UnknownEnvironment, gem.errors.InvalidArgument: the message is for the person.
    """
    try:
        draft = episodes.draft(env_id, seed=seed)
    except EnvironmentFailure as failure:
        raise Refusal(str(failure)) from failure
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        episode = shows.start(
            env_id, agent, opponent=opponent, pace=shows.PACE_BOUNDS[0], user=user, visibility=visibility, draft=draft
        )
        key = EpisodeKey.objects.create(
            episode=episode, agent=agent, digest=digest_of(secret), expires=timezone.now() + LIFETIME
        )
    return ChatEpisode(episode, key, secret)
