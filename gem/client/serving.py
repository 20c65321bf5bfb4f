"""Connects a program to a server as a remote agent: it waits for turns, and answers them, until it is stopped.

def act(observation, info):
    return "\\\\boxed{5}"

asyncio.run(serve(act, "wss://gemweb.example.org/agents/my-agent-1a2b3c/line", token))

The program calls out, so no port is opened. If the connection is lost, it is made again, and turns that still wait are
sent again.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from gem.client.errors import Conflict, api_error
from gem.net.credentials import clean_token

logger = logging.getLogger(__name__)

Act = Callable[[str, dict[str, Any]], str | Awaitable[str]]
"""Takes what there is to read, and `episode`, `turn`, `seat`, `env_id`, `seats`, `max_turns`, `history` and `place`."""
Report = Callable[[str, dict[str, Any]], None]
"""Called with what happens: `ready`, `turn`, `answered`, `failed`, `withdrawn`, `refused` or `lost`, and its data."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0
"""Seconds before the first and between later attempts to come back."""
REPLACED = 4001
MAX_MESSAGE_BYTES = 16 * 2**20


def _log(event: str, data: dict[str, Any]) -> None:
    logger.info("%s %s", event, data)


async def serve(act: Act, socket: str, token: str, *, report: Report = _log) -> None:
    """Answer turns until this coroutine is cancelled. Turns of several episodes are answered at the same time.

    Args:
        act: the agent: what it reads, and facts about the turn, to the text with its action. It may be a coroutine
            function; another one is called in threads.
        socket: the address of the agent, as `client.remotes.add(name).socket` says it.
        token: a token with the scope `answer`.
        report: is told what happens.

    Raises:
        UsageError: if the token can be none.
        ApiError: if the server refuses the connection.
        Conflict: if another program has connected as this agent.
    """
    pause = FIRST_PAUSE
    headers = {"Authorization": f"Bearer {clean_token(token)}"}
    while True:
        try:
            async with connect(socket, additional_headers=headers, max_size=MAX_MESSAGE_BYTES) as connection:
                pause = FIRST_PAUSE
                await _Serving(act, connection, report).run()
        except InvalidStatus as error:
            if error.response.status_code < 500 and error.response.status_code != 429:
                raise api_error(error.response.status_code, bytes(error.response.body)) from error
            reason = str(error)
        except ConnectionClosed as error:
            if error.rcvd is not None and error.rcvd.code == REPLACED:
                raise Conflict(409, "Another program has connected as this agent, so this one has stopped.") from error
            reason = str(error)
        except (OSError, TimeoutError, InvalidHandshake) as error:
            reason = str(error)
        report("lost", {"reason": reason, "seconds": pause})
        await asyncio.sleep(pause * random.uniform(0.75, 1.25))
        pause = min(2 * pause, LONGEST_PAUSE)


class _Serving:
    """One connection."""

    def __init__(self, act: Act, connection: ClientConnection, report: Report) -> None:
        self._act, self._connection, self._report = act, connection, report
        self._history: dict[str, list[list[str]]] = {}
        self._tasks: dict[tuple[str, int], asyncio.Task[None]] = {}

    def _forget(self, place: tuple[str, int], _task: asyncio.Task[None]) -> None:
        self._tasks.pop(place, None)

    async def run(self) -> None:
        """Answer turns until the connection closes.

        Raises:
            ConnectionClosed: when it does.
        """
        try:
            while True:
                message = json.loads(await self._connection.recv())
                place = message.get("episode", ""), message.get("turn", 0)
                if message["type"] == "turn":
                    task = self._tasks[place] = asyncio.create_task(self._answer(message))
                    task.add_done_callback(partial(self._forget, place))
                    continue
                if message["type"] == "withdrawn" and place in self._tasks:
                    self._tasks[place].cancel()
                self._report(message["type"], message)
        finally:
            for task in self._tasks.values():
                task.cancel()

    async def _answer(self, turn: dict[str, Any]) -> None:
        place = {"episode": turn["episode"], "turn": turn["turn"]}
        history = self._history.setdefault(turn["episode"], turn["history"])
        facts = {name: turn[name] for name in ("episode", "turn", "seat", "env_id", "place")}
        self._report("turn", turn)
        try:
            action = await self._chosen(turn["observation"], {**facts, **turn["info"], "history": list(history)})
        except Exception as error:  # an agent may raise anything; the page of the episode says so
            logger.exception("The agent failed at turn %s of %s", turn["turn"], turn["episode"])
            sentence = f"{type(error).__name__}: {error}"
            self._report("failed", {**place, "reason": sentence})
            await self._connection.send(json.dumps({**place, "error": sentence}))
            return
        history.append([turn["observation"], action])
        await self._connection.send(json.dumps({**place, "action": action}))
        self._report("answered", {**place, "action": action})

    async def _chosen(self, observation: str, info: dict[str, Any]) -> str:
        if inspect.iscoroutinefunction(self._act):
            action = await self._act(observation, info)
        else:
            action = await asyncio.to_thread(self._act, observation, info)
        if not isinstance(action, str):
            raise TypeError(f"act has to return the text with the action, and returned {type(action).__name__}")
        return action
