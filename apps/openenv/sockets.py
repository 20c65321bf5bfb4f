"""Sessions over WebSockets: one reply to each message, in order, and nothing that was not asked for."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from django.conf import settings

from apps.openenv.access import Caller
from apps.openenv.rpc import answer_rpc
from apps.openenv.sessions import PlaySession
from gem.openenv.wire import (
    CAPACITY_REACHED,
    Observation,
    WireError,
    as_text,
    error_frame,
    frame,
    observation_data,
    read_action,
    read_frame,
    read_reset,
)

logger = logging.getLogger(__name__)

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]

GOING_AWAY, NORMAL, TRY_LATER = 1001, 1000, 1013


async def serve(env_id: str, caller: Caller, receive: Receive, send: Send, *, bare_rpc: bool = False) -> None:
    """Answer the messages of a connection that was accepted, until one side closes it or nothing comes for long.

    Args:
        bare_rpc: whether the messages are JSON-RPC, without the frame of the protocol.
    """
    reply_to = _reply_to_rpc if bare_rpc else _reply
    session = PlaySession(env_id, caller)
    loop, idle_seconds = asyncio.get_running_loop(), settings.OPENENV_IDLE_SECONDS
    try:
        async with asyncio.timeout(idle_seconds) as idle:
            while (message := await receive())["type"] != "websocket.disconnect":
                idle.reschedule(None)
                reply, code = await reply_to(session, message.get("text"))
                if reply is not None:
                    await send({"type": "websocket.send", "text": reply})
                if code is not None:
                    await send({"type": "websocket.close", "code": code})
                    return
                idle.reschedule(loop.time() + idle_seconds)
    except TimeoutError:
        await send({"type": "websocket.close", "code": GOING_AWAY, "reason": "idle"})
    finally:
        await asyncio.shield(session.close())


async def _reply(session: PlaySession, text: str | None) -> tuple[str | None, int | None]:
    """The reply to a message, and the code with which the connection then ends; None for none of them."""
    try:
        if text is None:
            raise WireError("VALIDATION_ERROR", "Messages must be text, not bytes.")
        kind, data = read_frame(text)
        if kind == "close":
            return None, NORMAL
        if kind == "state":
            return frame("state", session.state()), None
        if kind == "mcp":
            return frame("mcp", await answer_rpc(session, data)), None
        turn = await (session.reset(read_reset(data)) if kind == "reset" else session.step(read_action(data)))
        return frame("observation", observation_data(turn) if isinstance(turn, Observation) else turn), None
    except WireError as error:
        return error_frame(error), TRY_LATER if error.code == CAPACITY_REACHED else None
    except Exception:  # a defect of ours ends one turn, and not the process or the session
        logger.exception("A message of an OpenEnv session for %s was not answered", session.env_id)
        return error_frame(WireError("SESSION_ERROR", "Something went wrong here. The turn was not played.")), None


async def _reply_to_rpc(session: PlaySession, text: str | None) -> tuple[str | None, int | None]:
    try:
        message = json.loads(text or "")
    except (ValueError, RecursionError):
        message = None
    return as_text(await answer_rpc(session, message)), None
