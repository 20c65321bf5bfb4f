"""A session: an environment, its slot, and what a client may ask of them."""

from __future__ import annotations

import asyncio
from typing import Any

from django.conf import settings

from apps.openenv.access import Caller
from apps.openenv.hosts import Host, open_host
from apps.openenv.slots import Full, Slot, Slots
from gem.openenv import tools
from gem.openenv.wire import (
    CAPACITY_REACHED,
    Call,
    Observation,
    Reset,
    WireError,
    observation_data,
    read_action,
    read_reset,
)

FULL = (
    "You have reached your limit of sessions, or this server has reached its own. Nothing was started. Close sessions "
    "that you do not need, and try again."
)
CLOSED = "The session was closed. Nothing was played. Begin another one."
slots = Slots(settings.OPENENV_SESSIONS)
"""The slots of this process, which HTTP shares."""


class PlaySession:
    """An environment behind a connection: made when it is first needed, with a slot that is held until `close`."""

    def __init__(self, env_id: str, caller: Caller) -> None:
        self.env_id, self.caller = env_id, caller
        self._host: Host | None = None
        self._slot: Slot | None = None
        self._is_closed = False

    async def reset(self, request: Reset) -> Observation:
        """Begin an episode.

        Raises:
            WireError: if none can begin; CAPACITY_REACHED if no slot became free.
        """
        return await (await self._opened()).reset(request)

    async def step(self, action: str | Call) -> Observation | dict[str, Any]:
        """Take a turn, or answer a step that is about tools.

        Raises:
            WireError: if the turn cannot be taken.
        """
        if isinstance(action, Call):
            return await self._use_tool(action)
        return await (await self._opened()).step(action)

    def state(self) -> dict[str, Any]:
        """What a client may know of the episode."""
        if self._host is None:
            return {"episode_id": None, "step_count": 0, "env_id": self.env_id, "seed": None, "done": False}
        return self._host.state()

    async def close(self) -> None:
        """Give up the episode, and give back the slot. What is being opened meanwhile is closed at once."""
        self._is_closed = True
        host, self._host = self._host, None
        try:
            if host is not None:
                await host.close()
        finally:
            if self._slot is not None:
                self._slot.release()

    async def _opened(self) -> Host:
        if self._host is None:
            if self._slot is None:
                caller = self.caller
                try:
                    self._slot = await slots.take(caller.name, caller.session_limit, settings.OPENENV_WAIT_SECONDS)
                except Full as error:
                    raise WireError(CAPACITY_REACHED, FULL) from error
                if self._is_closed:
                    self._slot.release()
                    raise WireError("EXECUTION_ERROR", CLOSED)
            host = await open_host(self.env_id, self.caller)
            if self._is_closed:
                await asyncio.shield(host.close())
                raise WireError("EXECUTION_ERROR", CLOSED)
            self._host = host
        return self._host

    async def _use_tool(self, call: Call) -> dict[str, Any]:
        """The data of an observation about tools, for clients that step with `list_tools` and `call_tool`."""
        if not call.name:
            return {"observation": {**tools.listing(), "metadata": {}}, "reward": None, "done": False}
        turn = await self._played(call)
        data = observation_data(turn)
        result = tools.content(data["observation"]["prompt"], data["observation"])
        observation = {"tool_name": call.name, "result": result, "error": None, "metadata": {}}
        return {"observation": observation, "reward": turn.reward, "done": turn.is_over}

    async def _played(self, call: Call) -> Observation:
        if call.name == tools.BEGIN:
            return await self.reset(read_reset(call.arguments))
        if call.name == tools.TAKE_TURN:
            action = read_action(call.arguments)
            if isinstance(action, str):
                return await (await self._opened()).step(action)
        raise WireError("VALIDATION_ERROR", f"There is no such tool; there is {tools.BEGIN} and {tools.TAKE_TURN}.")
