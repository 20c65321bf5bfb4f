"""Connections to MCP servers. They live in one event loop, in a thread of its own; any thread may use them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import tempfile
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from typing import Any, TextIO

from gem.errors import InvalidArgument, MissingDependency, SandboxUnavailable, ToolError
from gem.sandbox.process_confinement import StartCommand
from gem.sandbox.process_confinement import command as confined
from gem.tools.mcp.config import SERVERS_FILE_VARIABLE, ServerConfig
from gem.tools.mcp.handlers import Handlers
from gem.tools.mcp.listings import cached_listing, refresh_listing
from gem.tools.mcp.loop import CLOSE_TIMEOUT_SECONDS, on_shutdown, running_loop, submit, wait
from gem.tools.mcp.results import HttpFailure, text_of

logger = logging.getLogger(__name__)

START_TIMEOUT_SECONDS = 30.0
"""Seconds that a server may take to start and to list its tools."""
MAX_LOGGED_CHARS = 4000
GRACE_SECONDS = 1.0
"""Seconds beyond a call's own timeout that the calling thread waits for it."""
NO_HANDLERS = Handlers()


class Connection:
    """One server, connected at the first call and again after it has died.

    Any thread may call. A call that was under way when the server died is not repeated, because it may have had
    effects.
    """

    def __init__(self, server: ServerConfig, handlers: Handlers = NO_HANDLERS) -> None:
        self.server = server
        self.handlers = handlers
        self._lock = threading.Lock()
        self._session: _Session | None = None

    @property
    def confined(self) -> bool:
        """Whether the server is a confined process."""
        return bool(self.server.command) and self.server.confinement is not None

    def tools(self) -> list[dict[str, Any]]:
        """The server's tools: `name`, `description` and `parameters` of each.

        Raises:
            ToolError: if it cannot be reached.
        """
        cached = cached_listing(self.server)
        return self._connect().tools if cached is None else cached

    def look(self, seconds: float) -> None:
        """Fetch the list of tools into the cache, without staying connected.

        Raises:
            ToolError: if it cannot be reached within `seconds`.
        """
        refresh_listing(self.server, self._request_listing, seconds)

    def _request_listing(self, seconds: float) -> list[dict[str, Any]]:
        session = self._session
        if session is not None and session.alive:
            return session.tools
        session = self._open(seconds)
        session.stop()
        return session.tools

    def call(self, tool: str, arguments: Mapping[str, Any], seconds: float) -> tuple[str, bool]:
        """Call a tool; the result as text, and whether it is an error.

        Raises:
            ToolError: if there is no answer in time, or the server cannot be reached or dies.
        """
        try:
            return self._call(tool, arguments, seconds)
        except _SessionLost:  # the server ignored the call, and the protocol prescribes a new session
            return self._call(tool, arguments, seconds)

    def _call(self, tool: str, arguments: Mapping[str, Any], seconds: float) -> tuple[str, bool]:
        session = self._connect()
        try:
            return wait(session.call(tool, dict(arguments), seconds), seconds + GRACE_SECONDS)
        except _SessionLost:
            self._drop(session)
            raise
        except _ConnectionLost as error:
            self._drop(session)
            next_time = "started again" if self.server.command else "connected to anew"
            raise ToolError(
                f"The server {self.server.name} ended while it was asked. It is {next_time} for the next call."
            ) from error
        except TimeoutError as error:
            if self.server.command and not self.server.shared:
                self._drop(session)  # it would delay the next call as well
            raise ToolError(f"The server {self.server.name} did not answer within {seconds:g} s.") from error

    def close(self) -> None:
        """Close the connection; the next call opens another one."""
        with self._lock:
            session, self._session = self._session, None
        if session is not None:
            session.close()

    def _connect(self) -> _Session:
        with self._lock:
            if self._session is not None and self._session.alive:
                return self._session
            stale, self._session = self._session, None
            if stale is not None:
                stale.close()
            session = self._open(START_TIMEOUT_SECONDS)
            self._session = session
            weakref.finalize(self, session.stop)  # for connections that nobody closes
            return session

    def _open(self, seconds: float) -> _Session:
        """A new session with the server.

        Raises:
            ToolError: if it is not open within `seconds`; the attempt is abandoned without waiting for its end.
        """
        if not (self.server.command or self.server.url):
            raise ToolError(f"The MCP server {self.server.name} is not in a file that {SERVERS_FILE_VARIABLE} names.")
        session = _Session(self.server, self._start(), self.handlers)
        try:
            session.wait_until_open(min(seconds, START_TIMEOUT_SECONDS + GRACE_SECONDS))
        except TimeoutError as error:
            session.stop()
            raise ToolError(f"The server {self.server.name} did not start within {seconds:.3g} s.") from error
        except _ConnectionLost as error:
            session.stop()
            raise ToolError(f"The server {self.server.name} cannot be used: {error}.") from error
        return session

    def _start(self) -> StartCommand | None:
        """The command that starts the server confined; None without a command, or if it is not to be confined."""
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
_shared_lock = threading.Lock()


def connect(server: ServerConfig, handlers: Handlers = NO_HANDLERS) -> Connection:
    """A connection to the server; the one of this process if it is shared, which has no handlers."""
    if not server.shared:
        return Connection(server, handlers)
    with _shared_lock:
        return _shared.setdefault(server, Connection(server))


# ------------------------------------------------------------------ in the loop


class _ConnectionLost(Exception):
    """The server ended, or could not be reached; the message gives the reason."""


class _SessionLost(ToolError):
    """The server runs, but does not know this session, for example after a restart."""


class _Session:
    """A session with a server, kept open by one task of the event loop."""

    def __init__(self, server: ServerConfig, start: StartCommand | None, handlers: Handlers) -> None:
        self._server, self._start, self._handlers = server, start, handlers
        self._ready: Future[None] = Future()
        self._client: Any = None
        self._end: Callable[[], None] | None = None
        self.tools: list[dict[str, Any]] = []
        self._failure = HttpFailure()
        self._closed = False
        self._process = os.getpid()
        self._task = submit(self._run())

    @property
    def alive(self) -> bool:
        """Whether it can be called; a forked process cannot use the sessions of its parent."""
        return not self._closed and self._process == os.getpid()

    def wait_until_open(self, seconds: float) -> None:
        """Wait until the server has listed its tools.

        Raises:
            TimeoutError: if it has not done so within `seconds`; it may still do so, unless the session is stopped.
            _ConnectionLost: if the session cannot be opened.
        """
        self._ready.result(seconds)

    async def call(self, tool: str, arguments: dict[str, Any], seconds: float) -> tuple[str, bool]:
        """See `Connection.call`."""
        from mcp import MCPError  # noqa: PLC0415 (the loop runs only where it is installed)

        self._failure.status = 0
        try:
            call = self._client.call_tool(tool, arguments, **self._handlers.call_options())
            result = await asyncio.wait_for(call, seconds)
        except MCPError as error:
            message = self._failure.describe(str(error))
            if self._failure.ends_session(str(error)):
                self._closed = True
                raise _SessionLost(f"The server {self._server.name} does not keep its session. {message}") from error
            if "closed" not in message.lower():
                return message if message == str(
                    error
                ) else f"The server {self._server.name} refused the call: {message}.", True
            self._closed = True
            raise _ConnectionLost("the connection was closed") from error
        except (TimeoutError, asyncio.CancelledError):
            raise
        except (
            Exception
        ) as error:  # transports raise errors of many classes; each means that the server cannot be reached
            self._closed = True
            raise _ConnectionLost(_reason(error)) from error
        return text_of(result), bool(result.is_error)

    def stop(self) -> None:
        """End the session without waiting for the end of the server."""
        self._closed = True
        if self._process == os.getpid():
            running_loop().call_soon_threadsafe(self._request_end)

    def close(self) -> None:
        """End the session; a server process that does not end by itself is killed."""
        self.stop()
        if self._process != os.getpid():
            return
        with contextlib.suppress(Exception):  # the session has ended either way
            self._task.result(CLOSE_TIMEOUT_SECONDS)

    async def _run(self) -> None:
        """Open the session, keep it until it is to end, and close it. One task has to do all three."""
        error_log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed below)
        stop = asyncio.Event()
        try:
            options = self._handlers.client_options()
            opening = _client(self._server, self._start, error_log, self._mark_closed, self._failure, options)
            import anyio  # noqa: PLC0415 (comes with mcp)

            # cancelling the scope, unlike cancelling the task, does not interrupt the shutdown of the server's process
            with anyio.CancelScope() as scope:
                self._end = scope.cancel  # the server may never answer
                on_shutdown(self._request_end)
                if self._closed:
                    scope.cancel()
                async with opening as client:
                    self._client = client
                    self.tools = await asyncio.wait_for(_list_tools(client), START_TIMEOUT_SECONDS)
                    self._end = stop.set
                    self._ready.set_result(None)
                    await stop.wait()
        except Exception as error:  # noqa: BLE001 (whatever a server does to its session ends this session only)
            if not self._ready.done():
                message = self._failure.describe(_reason(error))
                lost = TimeoutError() if isinstance(error, TimeoutError) else _ConnectionLost(message)
                self._ready.set_exception(lost)
        finally:
            self._closed = True
            if not self._ready.done():
                self._ready.set_exception(_ConnectionLost("it was closed before it had answered"))
            _log(self._server.name, error_log)

    def _request_end(self) -> None:
        """End the session, in the way that its state allows; called in the event loop."""
        if self._end is not None:
            self._end()

    def _mark_closed(self) -> None:
        self._closed = True


def _client(
    server: ServerConfig,
    start: StartCommand | None,
    error_log: TextIO,
    on_exit: Callable[[], None],
    failure: HttpFailure,
    options: Mapping[str, Any],
) -> Any:
    """The SDK's client, with the transport of the server; `on_exit` is called when a server process of ours ends.

    The standard error of a confined server goes to `error_log`, with a size limit; that of other servers is dropped.
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
        log: Any = error_log if start is not None else subprocess.DEVNULL
        transport: Any = _watched(stdio_client(parameters, errlog=log), on_exit)
    elif server.sse:
        from mcp.client.sse import sse_client  # noqa: PLC0415

        transport = sse_client(server.url, headers=dict(server.headers))
    else:
        transport = _over_http(server, failure)
    return mcp.Client(transport, read_timeout_seconds=None, cache=None, **options)


@contextlib.asynccontextmanager
async def _over_http(server: ServerConfig, failure: HttpFailure) -> AsyncIterator[tuple[Any, Any]]:
    """The transport over HTTP, whose connections are closed at its end; the SDK closes only clients of its own."""
    import httpx2  # noqa: PLC0415 (comes with mcp)
    from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415

    hooks = {"response": [failure.record]}
    async with (
        httpx2.AsyncClient(
            headers=dict(server.headers), timeout=START_TIMEOUT_SECONDS, trust_env=False, event_hooks=hooks
        ) as http,
        streamable_http_client(server.url, http_client=http) as streams,
    ):
        yield streams


@contextlib.asynccontextmanager
async def _watched(transport: Any, on_exit: Callable[[], None]) -> AsyncIterator[tuple[Any, Any]]:
    """The same transport, calling `on_exit` when the server's output ends, so that the server is started again."""
    import anyio  # noqa: PLC0415 (comes with mcp)

    async with transport as (read, write):
        forward_sender, forward_receiver = anyio.create_memory_object_stream[Any](0)

        async def forward() -> None:
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                async with forward_sender:
                    async for message in read:
                        await forward_sender.send(message)
            on_exit()

        async with anyio.create_task_group() as tasks, forward_receiver:
            tasks.start_soon(forward)
            yield forward_receiver, write
            tasks.cancel_scope.cancel()


async def _list_tools(client: Any) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        tools += [
            {"name": tool.name, "description": tool.description or "", "parameters": tool.input_schema}
            for tool in page.tools
            if not (tool.execution and tool.execution.task_support == "required")  # such a tool refuses plain calls
        ]
        cursor = page.next_cursor
        if cursor is None:
            return tools


def _log(name: str, error_log: TextIO) -> None:
    """Log the error output of a confined server, for the administrator and not for agents."""
    with error_log:
        error_log.seek(0)
        message = error_log.read(MAX_LOGGED_CHARS).strip()
    if message:
        logger.warning("The MCP server %s ended: %s", name, message)


def _reason(error: BaseException) -> str:
    """The message of the innermost of grouped errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
