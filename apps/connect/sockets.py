"""The connection of a remote agent: it is sent turns, and sends actions.

The server sends `{"type": "ready"}` once, `{"type": "turn", "episode", "turn", "seat", "env_id", "observation", "info",
"history", "place", "seconds"}` for every turn that waits, and `{"type": "withdrawn", "episode", "turn"}` for one that
nobody waits for any longer. The agent sends `{"episode", "turn", "action"}`, in any order, and may add a `note`, which
stands on the page of the episode; if it cannot act, it sends `error`, a sentence, instead of the action. What is not
understood, or comes too late, is answered with `{"type": "refused"}`. Whoever comes back is sent all turns that wait.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db import DatabaseError

from apps.agents.models import Agent
from apps.connect.woken import hints
from apps.episodes.errors import Refusal
from apps.holders import new_token
from apps.live.threads import DatabaseThreads
from apps.remote import answering
from apps.remote.models import Question

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]

REPLACED, NO_TOKEN = 4001, 4401
LOOK_SECONDS = 2.0
"""How long a connection that hears nothing waits before it looks for turns by itself."""
in_thread = DatabaseThreads(2, "connections").run
TOO_LATE = "This turn is not waiting for an answer: it was answered, took too long, or does not exist."
NOT_READ = 'An answer is a JSON object with "episode" and "turn" as they were sent, and "action" or "error", a text.'


class Connection:
    """A connection that was accepted.

    Args:
        agent: whose it is.
        came_from: the name of its token.
        is_allowed: whether the token is still valid, which is asked as long as the connection lasts.
    """

    def __init__(
        self, agent: Agent, came_from: str, receive: Receive, send: Send, is_allowed: Callable[[], bool]
    ) -> None:
        self.holder = new_token()
        self._agent, self._came_from = agent, came_from
        self._receive, self._send, self._is_allowed = receive, send, is_allowed
        self._open: dict[tuple[str, int], Question] = {}
        """The turns that were sent and not answered."""
        self._known: set[str] = set()
        """The episodes of which it was sent something, so that it needs no history."""
        self._look_again = asyncio.Event()

    async def serve(self) -> None:
        """Send turns and take answers until one side closes, or the token is no longer valid."""
        seats = await in_thread(answering.take_over, self._agent.pk, self.holder, self._came_from)
        await self._tell({"type": "ready", "agent": self._agent.slug, "seats": seats})
        tasks = [asyncio.create_task(duty) for duty in (self._listen(), self._ask_always(), self._renew_always())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            with suppress(OSError):  # the agent has gone while something was sent to it
                for task in done:
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await asyncio.shield(in_thread(answering.leave, self._agent.pk, self.holder))

    async def _listen(self) -> None:
        while (message := await self._receive())["type"] != "websocket.disconnect":
            await self._take(message.get("text"))

    async def _take(self, text: str | None) -> None:
        """Store an answer, or say why not."""
        try:
            data = json.loads(text or "")
            place, action = (data["episode"], data["turn"]), data.get("action", data.get("error"))
            question = self._open.get(place)
        except (ValueError, RecursionError, KeyError, TypeError):
            await self._tell({"type": "refused", "reason": NOT_READ})
            return
        if not isinstance(action, str):
            await self._refuse(place, NOT_READ)
            return
        if question is None:
            await self._refuse(place, TOO_LATE)
            return
        del self._open[place]
        try:
            if "action" in data:
                is_taken = await in_thread(answering.answer, question.pk, action, {"note": data.get("note")})
            else:
                is_taken = await in_thread(answering.decline, question.pk, action)
            if not is_taken:
                await self._refuse(place, TOO_LATE)
        except Refusal as refusal:
            self._open[place] = question
            await self._refuse(place, str(refusal))
        self._look_again.set()

    async def _ask_always(self) -> None:
        """Send the turns that wait, as soon as there are some."""
        with hints().about(self._agent.pk) as woken:
            self._look_again = woken
            while True:
                woken.clear()
                try:
                    turns = await in_thread(answering.next_turns, self._agent.pk, self.holder)
                except DatabaseError:
                    await asyncio.sleep(LOOK_SECONDS)
                    continue
                if not turns.is_current:
                    await self._send({"type": "websocket.close", "code": REPLACED, "reason": "replaced"})
                    return
                await self._withdraw(turns.open_ids)
                for question in turns.new:
                    self._open[question.episode, question.turn] = question
                    await self._tell(self._turn(question))
                try:
                    async with asyncio.timeout(LOOK_SECONDS):
                        await woken.wait()
                except TimeoutError:
                    continue

    async def _renew_always(self) -> None:
        while True:
            await asyncio.sleep(settings.REMOTE_LEASE_SECONDS / 3)
            try:
                if not await in_thread(self._is_allowed):
                    await self._send({"type": "websocket.close", "code": NO_TOKEN, "reason": "no valid token"})
                    return
                await in_thread(answering.renew, self._agent.pk, self.holder)
            except DatabaseError:
                continue  # the next one may come in time

    async def _withdraw(self, open_ids: set[int]) -> None:
        for place, question in list(self._open.items()):
            if question.pk not in open_ids:
                del self._open[place]
                await self._tell({"type": "withdrawn", "episode": place[0], "turn": place[1]})

    def _turn(self, question: Question) -> dict[str, Any]:
        is_new = question.episode not in self._known
        self._known.add(question.episode)
        return {
            "type": "turn",
            "episode": question.episode,
            "turn": question.turn,
            "seat": question.seat,
            "env_id": question.env_id,
            "observation": question.observation,
            "info": question.info,
            "history": question.past if is_new else [],
            "place": question.place,
            "seconds": settings.REMOTE_TURN_SECONDS,
        }

    async def _refuse(self, place: tuple[Any, Any], reason: str) -> None:
        await self._tell({"type": "refused", "episode": place[0], "turn": place[1], "reason": reason})

    async def _tell(self, message: dict[str, Any]) -> None:
        text = json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
        await self._send({"type": "websocket.send", "text": text})
