"""An episode that a program plays by chat completions: each request answers the question that waits for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from apps.episodes.models import Episode
from apps.remote import answering
from apps.remote.models import EpisodeKey, Question
from apps.remote.operations import digest_of
from gem.wrappers.observation_wrapper import as_message

MAX_MESSAGE_CHARS, MAX_MESSAGES = 16 * 1024, 32
"""The most of a message, and the most messages, that are kept with a turn."""
Messages = Sequence[dict[str, str]]
"""Messages as `{"role", "content"}`."""


class NotAccepted(Exception):
    """A request that cannot be played; the message is for people."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What there is to read next."""

    text: str
    is_last: bool
    """Whether the episode is over."""


def find(episode_id: str, secret: str) -> EpisodeKey | None:
    """The key of an episode, if it is this one and has not expired."""
    keys = EpisodeKey.objects.filter(episode=episode_id, digest=digest_of(secret), expires__gt=Now())
    return keys.select_related("episode", "agent").first()


@transaction.atomic
def accept(episode_id: str, messages: Messages, *, is_repeated: bool) -> str | None:
    """Take the action of a request. Returns the reply if it was given already, else None.

    The first request begins the episode and has no action. A request that is sent again plays nothing.

    Raises:
        NotAccepted: if there is no action, or none is awaited.
        ActionTooLong: the action is longer than an episode stores.
    """
    key = EpisodeKey.objects.select_for_update(no_key=True).get(pk=episode_id)
    digest = hashlib.sha256(json.dumps(messages).encode()).hexdigest()
    if key.replies and digest == key.last_request:
        said = sum(message["role"] == "assistant" for message in messages)
        if not key.last_reply:
            return None  # it is being played
        if is_repeated or 0 < said == key.replies - 1:
            return key.last_reply
    if key.replies:
        _answer(key, messages)
    EpisodeKey.objects.filter(pk=episode_id).update(
        replies=F("replies") + 1, last_request=digest, last_reply="", opening=key.opening or _kept(messages)
    )
    return None


def _answer(key: EpisodeKey, messages: Messages) -> None:
    new = _after_last_reply(messages)
    action = "\n".join(message["content"] for message in new if message["role"] == "user")
    if not new or new[-1]["role"] != "user":
        raise NotAccepted("The last message must have the role user: its text is the action.")
    question = Question.objects.filter(episode=key.pk, agent=key.agent_id).awaited().unanswered().first()
    if question is None:
        raise NotAccepted("No turn of this episode waits for an action. It is over, paused, or being played.")
    kept = _kept(new)
    if key.replies == 1 and key.opening != kept:
        kept = [*key.opening, *kept]
    answering.answer(question.pk, action, {"messages": kept})


def next_reply(episode_id: str) -> Reply | None:
    """What there is to read, when a turn waits for an action or the episode is over; else None."""
    question = Question.objects.filter(episode=episode_id).awaited().unanswered().order_by("-turn").first()
    reply = None if question is None else Reply(question.observation, is_last=False)
    if reply is None:
        episode = Episode.objects.get(pk=episode_id)
        reply = _ending(episode) if episode.over else None
    if reply is not None:
        EpisodeKey.objects.filter(pk=episode_id).update(last_reply=reply.text)
    return reply


def trouble_of(episode_id: str) -> str:
    """Why the episode does not go on, as a sentence; empty if it does."""
    shows = Episode.objects.filter(pk=episode_id, show__paused=True)
    return next(iter(shows.values_list("show__trouble", flat=True)), "")


def _ending(episode: Episode) -> Reply:
    last = episode.turns.order_by("-number").first()
    text = as_message(last.observation, last.info) if last else episode.first_observation
    if episode.failure:
        end = f"The episode is over: {episode.failure}"
    else:
        solved = {True: "solved", False: "not solved", None: "ended"}[episode.success]
        end = f"The episode is over: {solved}."
    return Reply(f"{text}\n\n{end}", is_last=True)


def _after_last_reply(messages: Messages) -> Messages:
    """The messages since the last one of the assistant, which is what this site has said."""
    places = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    return messages[places[-1] + 1 :] if places else messages


def _kept(messages: Messages) -> list[dict[str, Any]]:
    return [
        {"role": message["role"], "content": message["content"][:MAX_MESSAGE_CHARS]}
        for message in list(messages)[-MAX_MESSAGES:]
    ]
