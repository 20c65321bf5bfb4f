"""Connections to MCP servers. They live in one event loop, in a thread of its own; any thread may use them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import tempfile
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from typing import Any, TextIO

from gem.errors import InvalidArgument, MissingDependency, SandboxUnavailable, ToolError
from gem.sandbox.mcp_confinement import Start
from gem.sandbox.mcp_confinement import command as confined
from gem.tools.mcp.answers import Refusal, text_of
from gem.tools.mcp.config import SERVERS_FILE, ServerConfig
from gem.tools.mcp.listings import look, remembered
from gem.tools.mcp.loop import CLOSE_SECONDS, ends_by, running_loop, submit, wait

logger = logging.getLogger(__name__)

START_SECONDS = 30.0
"""How long a server may take to start and say what it offers."""
MOST_LOGGED = 4000
GRACE_SECONDS = 1.0
"""How much longer than its own time a call is waited for, by whoever asked."""


class Connection:
    """One server, connected when it is first asked and again after it has died.

    Any thread may ask; a call that was under way when the server died is not repeated, because it may have done
    something.
    """

    def __init__(self, server: ServerConfig) -> None:
        self.server = server
        self._lock = threading.Lock()
        self._session: _Session | None = None

    @property
    def confined(self) -> bool:
        """Whether it is a process that can do nothing but what it was allowed."""
        return bool(self.server.command) and self.server.confinement is not None

    def tools(self) -> list[dict[str, Any]]:
        """What the server offers: `name`, `description` and `parameters` of each tool.

        Raises:
            ToolError: if it cannot be reached.
        """
        known = remembered(self.server)
        return self._connected().offered if known is None else known

    def look(self, seconds: float) -> None:
        """Know what the server offers before anybody waits for it, without staying connected.

        Raises:
            ToolError: if it cannot be reached within `seconds`.
        """
        look(self.server, self._asked, seconds)

    def _asked(self, seconds: float) -> list[dict[str, Any]]:
        session = self._session
        if session is not None and session.alive:
            return session.offered
        session = self._opened(seconds)
        session.stop()
        return session.offered

    def call(self, tool: str, arguments: Mapping[str, Any], seconds: float) -> tuple[str, bool]:
        """What a tool of the server gives as text, and whether it is an error.

        Raises:
            ToolError: if there is no answer in time, or the server cannot be reached or dies.
        """
        try:
            return self._call(tool, arguments, seconds)
        except _Forgotten:  # it did nothing with the call, and the protocol asks to begin anew
            return self._call(tool, arguments, seconds)

    def _call(self, tool: str, arguments: Mapping[str, Any], seconds: float) -> tuple[str, bool]:
        session = self._connected()
        try:
            return wait(session.call(tool, dict(arguments), seconds), seconds + GRACE_SECONDS)
        except _Forgotten:
            self._drop(session)
            raise
        except _Dead as error:
            self._drop(session)
            next_time = "started again" if self.server.command else "connected to anew"
            raise ToolError(
                f"The server {self.server.name} ended while it was asked. It is {next_time} for the next call."
            ) from error
        except TimeoutError as error:
            if self.server.command and not self.server.shared:
                self._drop(session)  # it would let the next call wait as well
            raise ToolError(f"The server {self.server.name} did not answer within {seconds:g} s.") from error

    def close(self) -> None:
        """End the connection; the next call begins another one."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()

    def _connected(self) -> _Session:
        with self._lock:
            if self._session is not None and self._session.alive:
                return self._session
            stale, self._session = self._session, None
            if stale is not None:
                stale.close()
            session = self._opened(START_SECONDS)
            self._session = session
            weakref.finalize(self, session.stop)  # for those whom nobody closes
            return session

    def _opened(self, seconds: float) -> _Session:
        """Another session with the server.

        Raises:
            ToolError: if there is none within `seconds`; nobody waits for the end of what was begun.
        """
        if not (self.server.command or self.server.url):
            raise ToolError(f"The MCP server {self.server.name} is not in a file that {SERVERS_FILE} names.")
        session = _Session(self.server, self._start())
        try:
            session.wait_until_open(min(seconds, START_SECONDS + GRACE_SECONDS))
        except TimeoutError as error:
            session.stop()
            raise ToolError(f"The server {self.server.name} did not start within {seconds:.3g} s.") from error
        except _Dead as error:
            session.stop()
            raise ToolError(f"The server {self.server.name} cannot be used: {error}.") from error
        return session

    def _start(self) -> Start | None:
        """How the command is started confined; None where there is no command, or it is not to be confined."""
        server = self.server
        if not server.command or server.confinement is None:
            return None
        try:
            return confined(server.command, server.args, server.env, server.confinement, server.cwd)
        except SandboxUnavailable as error:
            raise ToolError(
                f"The MCP server {server.name} is not started, because it cannot be confined. {error} Who runs the "
                'site may start it all the same with "confined": false.'
            ) from error
        except InvalidArgument as error:
            raise ToolError(f"The server {server.name} cannot be used: {error}") from error

    def _drop(self, session: _Session) -> None:
        with self._lock:
            if self._session is session:
                self._session = None
        session.stop()


_shared: dict[ServerConfig, Connection] = {}
_sharing = threading.Lock()


def connect(server: ServerConfig) -> Connection:
    """A connection to the server; the one of this process if it is shared."""
    if not server.shared:
        return Connection(server)
    with _sharing:
        return _shared.setdefault(server, Connection(server))


# ------------------------------------------------------------------ in the loop


class _Dead(Exception):
    """The server is gone, or never came; the message says why."""


class _Forgotten(ToolError):
    """The server runs, but does not know this session, as after it was started anew."""


class _Session:
    """A session with a server, held open by one task of the loop."""

    def __init__(self, server: ServerConfig, start: Start | None) -> None:
        self._server, self._start = server, start
        self._ready: Future[None] = Future()
        self._client: Any = None
        self._end: Callable[[], None] | None = None
        self.offered: list[dict[str, Any]] = []
        self._refusal = Refusal()
        self._closed = False
        self._process = os.getpid()
        self._held = submit(self._hold())

    @property
    def alive(self) -> bool:
        """Whether it can be asked; a forked process has no part in its parent's sessions."""
        return not self._closed and self._process == os.getpid()

    def wait_until_open(self, seconds: float) -> None:
        """Wait until the server has said what it offers.

        Raises:
            TimeoutError: if it has not within `seconds`; it may still do so, unless the session is stopped.
            _Dead: if it will never.
        """
        self._ready.result(seconds)

    async def call(self, tool: str, arguments: dict[str, Any], seconds: float) -> tuple[str, bool]:
        """As `Connection.call`."""
        from mcp import MCPError  # noqa: PLC0415 (the loop runs only where it is installed)

        self._refusal.status = 0
        try:
            result = await asyncio.wait_for(self._client.call_tool(tool, arguments), seconds)
        except MCPError as error:
            said = self._refusal.in_words(str(error))
            if self._refusal.forgets(str(error)):
                self._closed = True
                raise _Forgotten(f"The server {self._server.name} does not keep its session. {said}") from error
            if "closed" not in said.lower():
                return said if said == str(error) else f"The server {self._server.name} refused the call: {said}.", True
            self._closed = True
            raise _Dead("the connection was closed") from error
        except (TimeoutError, asyncio.CancelledError):
            raise
        except Exception as error:  # whatever a transport raises: the server cannot be talked to
            self._closed = True
            raise _Dead(_reason(error)) from error
        return text_of(result), bool(result.is_error)

    def stop(self) -> None:
        """Let go of the server, and do not wait for its end."""
        self._closed = True
        if self._process == os.getpid():
            running_loop().call_soon_threadsafe(self._let_go)

    def close(self) -> None:
        """Let go of the server; a process that does not end by itself is killed."""
        self.stop()
        if self._process != os.getpid():
            return
        with contextlib.suppress(Exception):  # it is over either way
            self._held.result(CLOSE_SECONDS)

    async def _hold(self) -> None:
        """Open the session, keep it until it is to stop, and close it: a task has to do all three."""
        complaints = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed below)
        stop = asyncio.Event()
        try:
            opening = _client(self._server, self._start, complaints, self._ended, self._refusal)
            import anyio  # noqa: PLC0415 (comes with mcp)

            # the scope, unlike the task, can be cancelled without breaking into the end of the server's process
            with anyio.CancelScope() as scope:
                self._end = scope.cancel  # the server may never say anything
                ends_by(self._let_go)
                if self._closed:
                    scope.cancel()
                async with opening as client:
                    self._client = client
                    self.offered = await asyncio.wait_for(_offered(client), START_SECONDS)
                    self._end = stop.set
                    self._ready.set_result(None)
                    await stop.wait()
        except Exception as error:  # noqa: BLE001 (whatever a server does to its session ends this session only)
            if not self._ready.done():
                said = self._refusal.in_words(_reason(error))
                dead = TimeoutError() if isinstance(error, TimeoutError) else _Dead(said)
                self._ready.set_exception(dead)
        finally:
            self._closed = True
            if not self._ready.done():
                self._ready.set_exception(_Dead("it was let go before it had answered"))
            _log(self._server.name, complaints)

    def _let_go(self) -> None:
        """In the loop: end the session, in the way that its state allows."""
        if self._end is not None:
            self._end()

    def _ended(self) -> None:
        self._closed = True


def _client(
    server: ServerConfig, start: Start | None, complaints: TextIO, ended: Callable[[], None], refusal: Refusal
) -> Any:
    """The maintained client, with the transport of the server; `ended` is called when a process of ours ends.

    What a confined server complains about goes to `complaints`, cut by what confines it; of others it is not kept.
    """
    try:
        import mcp  # noqa: PLC0415 (not every engine uses it)
        from mcp.client.stdio import stdio_client  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependency("An MCP server", ["mcp>=2"]) from error
    if server.command:
        if start is not None:
            parameters = mcp.StdioServerParameters(command=start.argv[0], args=start.argv[1:], env=start.env, cwd="/")
        else:
            parameters = mcp.StdioServerParameters(
                command=server.command, args=list(server.args), env=dict(server.env), cwd=server.cwd
            )
        log = complaints if start is not None else _nowhere()
        transport: Any = _watched(stdio_client(parameters, errlog=log), ended)
    elif server.sse:
        from mcp.client.sse import sse_client  # noqa: PLC0415

        transport = sse_client(server.url, headers=dict(server.headers))
    else:
        import httpx2  # noqa: PLC0415 (comes with mcp)
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

        hooks = {"response": [refusal.note]}
        http = httpx2.AsyncClient(
            headers=dict(server.headers), timeout=START_SECONDS, trust_env=False, event_hooks=hooks
        )
        transport = streamable_http_client(server.url, http_client=http)
    return mcp.Client(transport, read_timeout_seconds=None, cache=None)


@contextlib.asynccontextmanager
async def _watched(transport: Any, ended: Callable[[], None]) -> AsyncIterator[tuple[Any, Any]]:
    """The same transport, which says when the server has nothing more to say: it is then started again in time."""
    import anyio  # noqa: PLC0415 (comes with mcp)

    async with transport as (read, write):
        onward, received = anyio.create_memory_object_stream[Any](0)

        async def pass_on() -> None:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                async with onward:
                    async for message in read:
                        await onward.send(message)
            ended()

        async with anyio.create_task_group() as tasks, received:
            tasks.start_soon(pass_on)
            yield received, write
            tasks.cancel_scope.cancel()


async def _offered(client: Any) -> list[dict[str, Any]]:
    offered: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        offered += [
            {"name": one.name, "description": one.description or "", "parameters": one.input_schema}
            for one in page.tools
            if not (one.execution and one.execution.task_support == "required")  # it refuses plain calls
        ]
        cursor = page.next_cursor
        if cursor is None:
            return offered


def _log(name: str, complaints: TextIO) -> None:
    """What a confined server said when it failed: for who runs it, not for agents."""
    with complaints:
        complaints.seek(0)
        said = complaints.read(MOST_LOGGED).strip()
    if said:
        logger.warning("The MCP server %s ended: %s", name, said)


def _reason(error: BaseException) -> str:
    """The innermost of grouped errors, in words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


def _nowhere() -> Any:
    """Where servers write what they log."""
    return open(os.devnull, "w")
