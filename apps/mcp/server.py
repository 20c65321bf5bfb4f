"""The protocol: the server of the `mcp` package over Streamable HTTP, with the tools of this package."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httpx2
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, ValidationError

import gem
from apps.mcp.playing import Abandon, Reset, State, Step
from apps.mcp.reading import JobOf, Leaderboard, ListAgents, ListEnvironments, SubmitJob
from apps.mcp.tool import Result, Tool
from gem.client import AsyncClient, Retries
from gem.errors import GemError
from gem.validation.messages import error_sentence

logger = logging.getLogger(__name__)

TOOLS: dict[str, type[Tool]] = {
    tool.name: tool
    for tool in (ListEnvironments, Reset, Step, State, Abandon, ListAgents, SubmitJob, JobOf, Leaderboard)
}
INSTRUCTIONS = (
    "Environments for language-model agents. list_environments finds one; reset begins an episode and says its rules; "
    "step plays an action, until the episode is over. Every episode is recorded and has a page, its url. submit_job "
    "has agents of the site play many episodes, and leaderboard ranks them. Playing and submitting need an API token."
)
MAX_BODY_BYTES = 256 * 1024
FAILED = "Something went wrong on our side; the error is in the log. Call state to see whether the turn was played."


class McpServer:
    """Answers the requests of MCP clients. Each is answered for itself, by whichever process it reaches.

    Args:
        application: the site, as an ASGI application.
    """

    def __init__(self, application: Any) -> None:
        self._application = application
        self._manager = StreamableHTTPSessionManager(
            Server(
                "gemweb",
                version=gem.__version__,
                title="gemweb",
                instructions=INSTRUCTIONS,
                on_list_tools=self._list_tools,
                on_call_tool=self._call_tool,
            ),
            json_response=True,
            stateless=True,
            max_request_body_size=MAX_BODY_BYTES,
        )
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to serve, in a task that ends with the event loop or with `stop`."""
        started = asyncio.Event()
        self._running = asyncio.create_task(self._run(started))
        await started.wait()

    async def stop(self) -> None:
        """End what is being answered."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request to the address of the server."""
        await self._manager.handle_request(scope, receive, send)

    async def _run(self, started: asyncio.Event) -> None:
        async with self._manager.run():
            started.set()
            await asyncio.Event().wait()

    async def _list_tools(
        self, context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS.values()])

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """The result of a tool; what the site refuses is a result that the agent reads."""
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name[:80]!r}; there is {', '.join(TOOLS)}.")
        try:
            arguments = tool.model_validate(params.arguments or {})
            async with self._client(context.request) as client:
                return _content(await arguments.run(client))
        except ValidationError as error:
            return _refusal(error_sentence(error, BaseModel))
        except GemError as error:
            return _refusal(str(error))
        except Exception:  # a defect of ours is one failed call, and its details are not for the caller
            logger.exception("The MCP tool %s failed", params.name)
            return _refusal(FAILED)

    def _client(self, request: Any) -> AsyncClient:
        """A client of this site's API that asks as the caller does: from the same address, with the same token."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        address = request.client or ("", 0)
        return AsyncClient(
            f"{request.url.scheme}://{request.headers['host']}",
            token.strip() if scheme else "",
            retries=Retries(tries=1),
            transport=httpx2.ASGITransport(self._application, client=(address[0], address[1])),
        )


def _described(tool: type[Tool]) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description(),
        input_schema=tool.model_json_schema(),
        output_schema=tool.answer.model_json_schema(mode="serialization"),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.only_reads,
            destructive_hint=False,
            open_world_hint=False,
            idempotent_hint=tool.only_reads,
        ),
    )


def _content(result: Result) -> types.CallToolResult:
    texts: list[types.ContentBlock] = [types.TextContent(text=text) for text in result.texts]
    return types.CallToolResult(content=texts, structured_content=result.data.model_dump(mode="json"))


def _refusal(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=sentence)], is_error=True)
