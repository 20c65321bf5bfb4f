"""Sessions over HTTP, and what a server says of its environment.

`POST /reset` begins an episode and returns its `episode_id`, with which `POST /step` and `GET /state` go on. Such a
session ends with its episode, or when nothing was asked of it for a while. Clients of WebSockets need none of this.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from django.conf import settings

import gem
from apps.catalog.entries import entry_of
from apps.live.threads import in_thread
from apps.openenv.access import Caller, Refused
from apps.openenv.hosts import is_playable
from apps.openenv.rpc import answer_rpc
from apps.openenv.sessions import FULL, PlaySession
from gem.openenv import schemas, tools
from gem.openenv.wire import CAPACITY_REACHED, Observation, WireError, observation_data, read_action, read_reset

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 256 * 1024
STATUS = {
    "INVALID_JSON": 400,
    "VALIDATION_ERROR": 422,
    "EXECUTION_ERROR": 409,
    CAPACITY_REACHED: 503,
    "FACTORY_ERROR": 503,
}
"""Error code to HTTP status; 500 for others."""
NO_SESSION = (
    "There is no such episode, or it has ended. Send a reset; its answer has the episode_id to send with steps."
)
Answer = tuple[int, Any]


@dataclass(slots=True)
class _Kept:
    """A session between two requests."""

    session: PlaySession
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    end: asyncio.TimerHandle | None = None


class HttpSessions:
    """The sessions of this process that are kept between requests, by an id that nobody can guess."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._endings: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, key: str, session: PlaySession) -> None:
        """Keep a session under `key` until `drop`, or until it was idle for too long."""
        self._kept[key] = _Kept(session)
        self._wait(key)

    def make(self, env_id: str, caller: Caller) -> str:
        """Keep a session that is opened later, and return its key.

        Raises:
            WireError: if this person has as many sessions here as one may have; those not opened yet count too.
        """
        own = sum(kept.session.caller.name == caller.name for kept in self._kept.values())
        if own >= caller.session_limit:
            raise WireError(CAPACITY_REACHED, FULL)
        key = secrets.token_urlsafe(16)
        self.keep(key, PlaySession(env_id, caller))
        return key

    def find(self, key: object, env_id: str) -> _Kept:
        """The session of an episode.

        Raises:
            WireError: if there is none.
        """
        kept = self._kept.get(key) if isinstance(key, str) else None
        if kept is None or kept.session.env_id != env_id:
            raise WireError("EXECUTION_ERROR", NO_SESSION)
        self._wait(str(key))
        return kept

    async def drop(self, key: str) -> None:
        """End a session, if it is still there."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            if kept.end is not None:
                kept.end.cancel()
            await asyncio.shield(kept.session.close())

    def _wait(self, key: str) -> None:
        kept = self._kept[key]
        if kept.end is not None:
            kept.end.cancel()
        kept.end = asyncio.get_running_loop().call_later(settings.OPENENV_IDLE_SECONDS, self._begin_end, key)

    def _begin_end(self, key: str) -> None:
        task = asyncio.create_task(self.drop(key))
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)


sessions = HttpSessions()


async def answer(method: str, env_id: str, action: str, query: str, body: bytes, caller: Caller, prefix: str) -> Answer:
    """The status and the JSON of a request.

    Args:
        action: the part of the path after the environment: reset, step, schema.
        prefix: the path before that.

    Raises:
        Refused: if there is no such address, or the method is another one.
    """
    try:
        if method in {"GET", "HEAD"}:
            return await _read(env_id, action, query, prefix)
        if method == "POST" and action in {"reset", "step", "mcp"}:
            return await _write(env_id, action, body, caller)
    except WireError as error:
        return STATUS.get(error.code, 500), {"detail": error.message, "code": error.code}
    raise Refused(405 if action in {"reset", "step", "mcp"} else 404, "There is nothing at this address.")


async def _read(env_id: str, action: str, query: str, prefix: str) -> Answer:
    spec = gem.spec(env_id)
    if action == "health":
        return 200, {"status": "healthy" if is_playable(env_id) else "unhealthy"}
    if action == "metadata":
        return 200, schemas.metadata(spec, (await in_thread(entry_of, env_id)).summary)
    if action == "schema":
        return 200, schemas.schema()
    if action == "openapi.json":
        return 200, schemas.openapi(spec, prefix)
    if action == "list_environments":
        return 200, [env_id]
    if action == "state":
        key = parse_qs(query).get("episode_id", [""])[0]
        if key:
            return 200, sessions.find(key, env_id).session.state()
        return 200, {"episode_id": None, "step_count": 0, "env_id": env_id, "seed": None, "done": False}
    raise Refused(405 if action in {"reset", "step", "mcp"} else 404, "There is nothing at this address.")


async def _write(env_id: str, action: str, body: bytes, caller: Caller) -> Answer:
    try:
        message = json.loads(body) if body else {}
    except (ValueError, RecursionError) as error:
        raise WireError("INVALID_JSON", f"The body is not JSON: {error}.") from error
    if action == "mcp":
        return 200, await _rpc(env_id, message, caller)
    if not isinstance(message, dict):
        raise WireError("VALIDATION_ERROR", "The body must be a JSON object.")
    return 200, await (_reset if action == "reset" else _step)(env_id, message, caller)


async def _reset(env_id: str, message: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """Begin an episode in a session of its own, whose key is the name of the episode and a secret."""
    session = PlaySession(env_id, caller)
    request = read_reset(message)._replace(secret=secrets.token_urlsafe(16))
    try:
        turn = await session.reset(request)
    except BaseException:
        await asyncio.shield(session.close())
        raise
    sessions.keep(turn.episode_id, session)
    return observation_data(turn)


async def _step(env_id: str, message: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    action = message.get("action")
    if not isinstance(action, dict):
        raise WireError("VALIDATION_ERROR", 'A step needs an action, an object with a field "message".')
    key = message.get("episode_id")
    kept = sessions.find(key, env_id)
    async with kept.lock:
        turn = await kept.session.step(read_action(action))
    data = observation_data(turn) if isinstance(turn, Observation) else turn
    if data["done"]:
        await sessions.drop(str(key))
    return data


async def _rpc(env_id: str, message: object, caller: Caller) -> dict[str, Any]:
    """JSON-RPC, with the two methods that make and end sessions. A call without one plays in a session of its own."""
    try:
        request = tools.read_request(message)
    except tools.RpcError as error:
        return tools.failure(None, error)
    key = request.params.get("session_id")
    if request.method == tools.CREATE:
        return tools.result(request.request_id, {"session_id": sessions.make(env_id, caller)})
    try:
        kept = None if key is None else sessions.find(key, env_id)
    except WireError as error:
        return tools.failure(request.request_id, tools.RpcError(tools.INVALID_PARAMS, error.message))
    if request.method == tools.CLOSE:
        if kept is None:
            unnamed = tools.RpcError(tools.INVALID_PARAMS, "Say which session: session_id.")
            return tools.failure(request.request_id, unnamed)
        await sessions.drop(str(key))
        return tools.result(request.request_id, {"session_id": key, "closed": True})
    if kept is not None:
        async with kept.lock:
            return await answer_rpc(kept.session, message)
    session = PlaySession(env_id, caller)
    try:
        return await answer_rpc(session, message)
    finally:
        await asyncio.shield(session.close())
