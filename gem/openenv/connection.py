"""A session with a server of OpenEnv: one message after the other, each with its reply."""

from __future__ import annotations

import asyncio
import json
import os
import time
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

from gem.errors import EnvironmentServerFailure, ServerNotThere
from gem.net.addresses import AddressGuard
from gem.net.errors import ConnectionFailed, SocketRefused
from gem.net.http import GuardedClient, HttpError
from gem.net.openenv import MOUNT, headers_for
from gem.openenv.wire import CAPACITY_REACHED, frame
from gem.tools.mcp.loop import submit, wait

MAX_BYTES = 4 * 1024 * 1024
GRACE_SECONDS = 5.0
CAPACITY_PATIENCE = 1.0
"""A full server is asked again for so many seconds: the session that was just closed is free a moment later."""
RETRY_SECONDS = 0.05

Answer = dict[str, Any]
"""The `data` of an observation: `observation`, `reward` and `done`."""


class Response(NamedTuple):
    """The answer to a request over HTTP."""

    status: int
    data: Any
    """What its JSON says; None if it is none."""


class Connection:
    """A session with a server, over a WebSocket in the event loop of this process; it opens with the first message.

    The server of a site gets the token that this machine has for it (`gem.net.openenv`).

    Args:
        url: the address of the server, without a slash at the end.
        timeout: seconds that an answer may take.
    """

    def __init__(self, url: str, guard: AddressGuard, timeout: float) -> None:
        self._url, self._timeout, self._headers = url, timeout, headers_for(url)
        self._client = GuardedClient(guard)
        self._socket: Any = None
        self._finalizer = weakref.finalize(self, _abandon, self._client, os.getpid())  # for what nobody closes
        self._finalizer.atexit = False

    def action_schema(self) -> dict[str, Any]:
        """What the server says of its actions, as JSON schema; empty if it says nothing.

        Raises:
            EnvironmentServerFailure: if there is no answer.
        """
        schema = self.get("/schema").data
        action = schema.get("action") if isinstance(schema, dict) else None
        return action if isinstance(action, dict) else {}

    def get(self, path: str) -> Response:
        """Send a GET request.

        Raises:
            EnvironmentServerFailure: if there is no answer.
        """
        response: Response = self._run(self._read(path))
        return response

    def ask(self, kind: str, data: Mapping[str, Any]) -> Answer:
        """Send a message, and return the observation that answers it.

        Raises:
            EnvironmentServerFailure: if there is none.
        """
        reply = self.exchange(frame(kind, dict(data)))
        if reply.get("type") == "error":
            message = reply.get("data", {}).get("message") if isinstance(reply.get("data"), dict) else None
            raise EnvironmentServerFailure(f"The server refused the {kind}: {str(message)[:500]}")
        return checked_answer(reply.get("data"))

    def exchange(self, text: str) -> dict[str, Any]:
        """Send any text, and return the server's reply as it is; empty if it is no object.

        Raises:
            EnvironmentServerFailure: if there is none, or it is not JSON.
        """
        reply: dict[str, Any] = self._run(self._exchange(text))
        return reply

    def close(self) -> None:
        """End the session."""
        self._finalizer.detach()
        try:
            self._run(self._close())
        except EnvironmentServerFailure:
            return  # it has ended anyway

    async def _read(self, path: str) -> Response:
        sent = self._client.send(
            "GET", f"{self._url}{path}", self._headers, timeout_seconds=self._timeout, max_bytes=MAX_BYTES
        )
        async with sent as response:
            body = b"".join([part async for part in response.body])
        try:
            return Response(response.status, json.loads(body))
        except (ValueError, RecursionError):
            return Response(response.status, None)

    async def _exchange(self, text: str) -> dict[str, Any]:
        is_first, asked = self._socket is None, time.monotonic()
        reply = await self._reply_to(text)
        while is_first and _says_it_is_full(reply) and time.monotonic() - asked < CAPACITY_PATIENCE:
            await self._close_socket()
            await asyncio.sleep(RETRY_SECONDS)
            reply = await self._reply_to(text)
        return reply

    async def _reply_to(self, text: str) -> dict[str, Any]:
        if self._socket is None:
            self._socket = await self._client.open_socket(
                f"{self._url}/ws", self._headers, timeout_seconds=self._timeout, max_bytes=MAX_BYTES
            )
        reply = json.loads(await self._socket.ask(text, self._timeout))
        return reply if isinstance(reply, dict) else {}

    async def _close_socket(self) -> None:
        socket, self._socket = self._socket, None
        if socket is not None:
            await socket.close()

    async def _close(self) -> None:
        await self._close_socket()
        await self._client.close()

    def _run(self, work: Any) -> Any:
        try:
            return wait(work, 2 * self._timeout + GRACE_SECONDS)
        except ConnectionFailed as error:
            raise ServerNotThere(f"The server at {self._url}: {error}") from error
        except SocketRefused as error:
            hint = "" if MOUNT in self._url else f" On a site of gemweb, the address ends with {MOUNT}ENV_ID."
            raise EnvironmentServerFailure(f"The server at {self._url}: {error}{hint}") from error
        except HttpError as error:
            raise EnvironmentServerFailure(f"The server at {self._url}: {error}") from error
        except TimeoutError as error:
            raise EnvironmentServerFailure(f"The server at {self._url} did not answer.") from error
        except (ValueError, RecursionError) as error:
            raise EnvironmentServerFailure(f"The server at {self._url} sent something that is not JSON.") from error


def _abandon(client: GuardedClient, process: int) -> None:
    """Close the client of a session that nobody has closed, without waiting; a forked process leaves that to others."""
    if os.getpid() == process:
        submit(client.close())


def _says_it_is_full(reply: Mapping[str, Any]) -> bool:
    error = reply.get("data")
    return reply.get("type") == "error" and isinstance(error, dict) and error.get("code") == CAPACITY_REACHED


def checked_answer(answer: object) -> Answer:
    """An answer of the server, as far as it can be used.

    Raises:
        EnvironmentServerFailure: if it is not an observation with a reward and an end.
    """
    if not isinstance(answer, Mapping):
        raise EnvironmentServerFailure("The server's answer is no observation.")
    observation, reward, done = answer.get("observation"), answer.get("reward"), answer.get("done", False)
    is_number = reward is None or isinstance(reward, int | float)
    if not isinstance(observation, dict) or not is_number or not isinstance(done, bool):
        raise EnvironmentServerFailure("The server's answer is no observation with a reward and an end.")
    return {"observation": observation, "reward": None if reward is None else float(reward), "done": done}
