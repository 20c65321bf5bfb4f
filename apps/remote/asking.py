"""How a worker asks a remote agent: it writes a question, and looks for the answer.

One task in each event loop looks for all answers that are awaited in it, so a hundred episodes cost one query.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import F
from django.db.models.functions import Now

from apps.agents.models import Agent
from apps.agents.players import Place
from apps.episodes.text import storable
from apps.live import wake
from apps.live.threads import DatabaseThreads
from apps.remote.models import OF_JOB, Question, Remote
from gem.agents import Decision, Request
from gem.agents.decision_queue import decide_all
from gem.errors import AgentFailure, AgentStopped
from gem.wrappers.observation_wrapper import as_message

CONNECTIONS = "connections"
"""The name under which the processes with connections are woken; the message is the key of the agent."""
FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.02, 0.25
"""How long to wait before looking for answers again: at first after a question, and later."""
AWAITED = timedelta(seconds=20)
RENEWED_EVERY = 5.0
MAX_PAST_BYTES = 128 * 1024
MAX_FAILURES = 10
"""After so many turns in a row without an answer, everything that is played with the agent ends, as with endpoints."""
in_thread = DatabaseThreads(1, "questions").run


@dataclass(frozen=True, slots=True)
class Standing:
    """What has become of a question."""

    answer: str | None
    """None while there is none."""
    extra: dict[str, object]
    created: datetime
    sent: datetime | None
    alive_until: datetime | None
    """Until when the connection of the agent is known to be open."""
    now: datetime
    """The time of the database."""


class RemoteAgent:
    """Asks a program that its owner runs on another machine; see `gem.agents.AsyncAgent`.

    Args:
        agent: its row.
        place: where it plays.
    """

    def __init__(self, agent: Agent, place: Place) -> None:
        self.name = agent.name
        self._agent, self._place = agent, place
        self._failures = 0
        self._keys: dict[int, tuple[str, int]] = {}
        """The key of the try at each episode of a job, and its last turn."""

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `gem.agents.Agent.act`."""
        return decide_all(self, requests)

    async def decide(self, request: Request) -> Decision:
        """See `AsyncAgent.decide`.

        Raises:
            AgentFailure: if there is no answer: the agent is not connected, or takes too long.
            AgentStopped: after ten turns in a row without one.
        """
        began = asyncio.get_running_loop().time()
        question = self._question(request)
        watcher = _watcher()
        question_id = await in_thread(write, question)
        try:
            standing = await watcher.wait(question_id)
        except NoAnswer as error:
            await asyncio.shield(in_thread(delete, question_id))
            self._failures += 1
            sentence = f"{self.name} gave no answer at turn {request.turn}: {error}"
            if self._failures >= MAX_FAILURES:
                raise AgentStopped(f"{sentence} That makes {self._failures} turns in a row.") from error
            raise AgentFailure(sentence) from error
        finally:
            watcher.forget(question_id)
        await asyncio.shield(in_thread(delete, question_id))
        self._failures = 0
        seconds = round(asyncio.get_running_loop().time() - began, 3)
        note = str(standing.extra.get("note", ""))
        extra = {name: value for name, value in standing.extra.items() if name != "note"}
        return Decision(standing.answer or "", note, {**extra, "seconds": seconds})

    async def close(self) -> None:
        """See `AsyncAgent.close`."""
        watcher = _WATCHERS.get(asyncio.get_running_loop())
        if watcher is not None:
            await watcher.rest()

    def _question(self, request: Request) -> Question:
        spec = request.env.spec
        return Question(
            agent=self._agent,
            episode=self._key(request),
            turn=request.turn,
            seat=request.seat,
            env_id=spec.id if spec else "",
            observation=storable(as_message(request.observation, request.info)),
            info={"seats": request.env.seats, "max_turns": request.env.max_turns},
            past=_past(request),
            place=self._place.words_for(request.episode),
        )

    def _key(self, request: Request) -> str:
        """The key of the episode for the agent; every try at an episode of a job has one of its own."""
        if request.episode < 0:
            return self._place.key
        key, turn = self._keys.get(request.episode, ("", 0))
        if not key or request.turn <= turn:
            key = f"{self._place.key}{OF_JOB}{secrets.token_hex(6)}"
        self._keys[request.episode] = key, request.turn
        return key


class NoAnswer(Exception):
    """Nobody has answered; the message says why."""


@dataclass(slots=True, eq=False)
class _Watcher:
    """Looks for the answers that are awaited in one event loop."""

    waiting: dict[int, asyncio.Future[Standing]] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None
    renewed: float = 0.0
    has_new: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self, question_id: int) -> Standing:
        """The answer to a question.

        Raises:
            NoAnswer: if there will be none.
        """
        future: asyncio.Future[Standing] = asyncio.get_running_loop().create_future()
        self.waiting[question_id] = future
        self.has_new.set()
        if self.task is None or self.task.done():
            self.task = asyncio.get_running_loop().create_task(self._look_always())
        return await future

    def forget(self, question_id: int) -> None:
        """Look for this answer no longer."""
        self.waiting.pop(question_id, None)

    async def rest(self) -> None:
        """Stop looking, if nothing is awaited any more: the event loop may end now."""
        if self.task is not None and not self.waiting:
            self.task.cancel()
            await asyncio.wait([self.task])

    async def _look_always(self) -> None:
        pause = FIRST_LOOK_SECONDS
        while self.waiting:
            try:
                await self._look()
            except DatabaseError:
                pause = LONGEST_LOOK_SECONDS  # nothing is lost: the answers stay where they are
            except Exception as error:  # noqa: BLE001 (whoever waits has to hear of it)
                for future in self.waiting.values():
                    if not future.done():
                        future.set_exception(error)
                return
            if self.has_new.is_set():
                self.has_new.clear()
                pause = FIRST_LOOK_SECONDS
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, LONGEST_LOOK_SECONDS)

    async def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        renews = now - self.renewed > RENEWED_EVERY
        asked = dict(self.waiting)  # more may be asked meanwhile
        found = await in_thread(look, list(asked), renews=renews)
        self.renewed = now if renews else self.renewed
        for question_id, future in asked.items():
            if future.done():
                continue
            standing = found.get(question_id)
            reason = "The question was deleted." if standing is None else why_given_up(standing)
            if standing is not None and "error" in standing.extra:
                future.set_exception(NoAnswer(f"it failed: {standing.extra['error']}"))
            elif standing is not None and standing.answer is not None:
                future.set_result(standing)
            elif reason:
                future.set_exception(NoAnswer(reason))


_WATCHERS: WeakKeyDictionary[asyncio.AbstractEventLoop, _Watcher] = WeakKeyDictionary()


def _watcher() -> _Watcher:
    return _WATCHERS.setdefault(asyncio.get_running_loop(), _Watcher())


def why_given_up(standing: Standing) -> str:
    """Why a question that has no answer gets none any more, as a sentence; empty while it may get one."""
    now = standing.now
    is_connected = standing.alive_until is not None and standing.alive_until > now
    if standing.sent is not None and is_connected:
        limit = settings.REMOTE_TURN_SECONDS
        return f"it took more than {limit:g} s." if (now - standing.sent).total_seconds() > limit else ""
    if is_connected:
        return ""  # all its seats are taken; the turn will be sent
    if standing.alive_until is None or standing.alive_until < standing.created:
        limit, since = settings.REMOTE_WAIT_SECONDS, standing.created
        sentence = f"it did not connect within {limit:g} s."
    else:
        limit, since = settings.REMOTE_LOST_SECONDS, standing.alive_until
        sentence = f"its connection was lost, and it did not come back within {limit:g} s."
    return sentence if (now - since).total_seconds() > limit else ""


@transaction.atomic
def write(question: Question) -> int:
    """Write a question, or find it if a worker that has ended wrote it, perhaps with its answer. Returns its key.

    Raises:
        AgentStopped: if the agent was deleted.
    """
    if not Remote.objects.filter(agent=question.agent_id, agent__retired=False).exists():
        raise AgentStopped(f"{question.agent.name} was deleted by its owner.")
    names: dict[str, Any] = {
        "agent": question.agent,
        "episode": question.episode,
        "turn": question.turn,
        "seat": question.seat,
    }
    fields = ("env_id", "observation", "info", "past", "place")
    values = {name: getattr(question, name) for name in fields}
    row, is_new = Question.objects.update_or_create(**names, defaults={**values, "awaited_until": Now() + AWAITED})
    if is_new or row.answered is None:
        wake(CONNECTIONS, str(question.agent_id))
    return row.pk


def look(question_ids: Sequence[int], *, renews: bool) -> dict[int, Standing]:
    """What has become of questions; those that were deleted are left out. With `renews`, they stay awaited."""
    questions = Question.objects.filter(pk__in=question_ids)
    if renews:
        questions.update(awaited_until=Now() + AWAITED)
    timed = questions.annotate(alive_until=F("agent__remote__alive_until"), now=Now())
    rows = timed.values_list("pk", "answer", "extra", "created", "sent", "answered", "alive_until", "now")
    return {
        key: Standing(None if answered is None else answer, extra, created, sent, alive_until, now)
        for key, answer, extra, created, sent, answered, alive_until, now in rows
    }


def delete(question_id: int) -> None:
    """Delete a question that nobody waits for any more, and let connections know that a seat is free."""
    agents = list(Question.objects.filter(pk=question_id).values_list("agent", flat=True))
    Question.objects.filter(pk=question_id).delete()
    for agent_id in agents:
        wake(CONNECTIONS, str(agent_id))


def forget_lost() -> None:
    """Delete the questions of workers that have ended and that nobody has asked again. The scheduler calls it."""
    Question.objects.filter(awaited_until__lt=Now() - timedelta(hours=1)).delete()


def _past(request: Request) -> list[list[str]]:
    """The earlier turns of the seat, without the oldest ones if they are too long."""
    past, size = [], 0
    for exchange in reversed(request.past):
        pair = [storable(as_message(exchange.observation, dict(exchange.info))), exchange.action]
        size += len(json.dumps(pair))
        if size > MAX_PAST_BYTES:
            break
        past.append(pair)
    return past[::-1]
