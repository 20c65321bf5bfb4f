"""The side of the connection: who has it, which questions it is sent, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Extract, Now

from apps.agents.models import Agent
from apps.episodes.operations import check_action
from apps.episodes.text import storable
from apps.remote.models import Question, Remote

LEASE = timedelta(seconds=settings.REMOTE_LEASE_SECONDS)
MAX_NOTE_CHARS, MAX_REASON_CHARS = 16 * 1024, 500


@dataclass(frozen=True, slots=True)
class Turns:
    """What a connection has to do now."""

    is_current: bool
    """Whether it still is the connection of the agent."""
    new: list[Question]
    """The questions to send."""
    open_ids: set[int]
    """All that were sent to it and that somebody still waits for."""


def take_over(agent_id: int, holder: UUID, came_from: str) -> int:
    """Make a connection that of its agent, in place of an earlier one. Returns how many seats it has."""
    rows = Remote.objects.filter(agent=agent_id)
    rows.update(holder=holder, alive_until=Now() + LEASE, since=Now(), came_from=came_from)
    return int(rows.values_list("seats", flat=True).get())


def renew(agent_id: int, holder: UUID) -> bool:
    """Say that a connection is open. Returns whether it still is that of its agent."""
    return bool(_held(agent_id, holder).update(alive_until=Now() + LEASE))


def leave(agent_id: int, holder: UUID) -> None:
    """Say that a connection is closed."""
    _held(agent_id, holder).update(holder=None, alive_until=Now())


@transaction.atomic
def next_turns(agent_id: int, holder: UUID) -> Turns:
    """The questions to send over a connection: the oldest that it was not sent yet, while seats are free."""
    remote = _held(agent_id, holder).select_for_update(no_key=True).first()
    if remote is None:
        return Turns(is_current=False, new=[], open_ids=set())
    waiting = Question.objects.filter(agent=agent_id).awaited().unanswered().on_the_line().order_by("pk")
    open_ids = set(waiting.filter(sent_to=holder).values_list("pk", flat=True))
    free = remote.seats - len(open_ids)
    new = list(waiting.exclude(sent_to=holder)[:free]) if free > 0 else []
    keys = [question.pk for question in new]
    Question.objects.filter(pk__in=keys).update(sent=Now(), sent_to=holder)
    return Turns(is_current=True, new=new, open_ids=open_ids | set(keys))


def answer(question_id: int, action: str, extra: dict[str, Any]) -> bool:
    """Store the answer to a question. Returns whether somebody still waited for one.

    Raises:
        ActionTooLong: the action is longer than an episode stores.
    """
    action = storable(action)
    check_action(action)
    awaited = Question.objects.filter(pk=question_id).awaited().unanswered()
    if not awaited.update(answer=action, extra=_storable(extra), answered=Now()):
        return False
    found = Question.objects.filter(pk=question_id).annotate(seconds=Extract(F("answered") - F("sent"), "epoch"))
    for agent_id, seconds in found.values_list("agent", "seconds"):
        Remote.objects.filter(agent=agent_id).update(turn_seconds=seconds)
    return True


def decline(question_id: int, reason: str) -> bool:
    """Say that the agent has failed at a question. Returns whether somebody still waited for an answer."""
    awaited = Question.objects.filter(pk=question_id).awaited().unanswered()
    return bool(awaited.update(extra={"error": storable(reason)[:MAX_REASON_CHARS]}, answered=Now()))


def is_connected(agent: Agent) -> bool:
    """Whether a remote agent has an open connection."""
    return Remote.objects.filter(agent=agent, alive_until__gt=Now()).exists()


def _held(agent_id: int, holder: UUID) -> Any:
    return Remote.objects.filter(agent=agent_id, holder=holder, agent__retired=False)


def _storable(extra: dict[str, Any]) -> dict[str, Any]:
    """The facts about an answer that are kept."""
    note = extra.get("note")
    kept: dict[str, Any] = {"note": storable(note)[:MAX_NOTE_CHARS]} if isinstance(note, str) and note else {}
    if isinstance(extra.get("messages"), Sequence):
        kept["messages"] = extra["messages"]
    return kept
