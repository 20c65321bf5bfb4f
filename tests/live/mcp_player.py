"""Plays scripts through an MCP server with the client that is installed: `mcp` 1 or 2, or FastMCP.

    python mcp_player.py URL TOKEN [--fastmcp] < scripts.json > transcripts.json

A script is `[env_id, seed, [action, ...]]`; its transcript has what there was to read after the reset and each action,
with rewards and ends. The first item of what is printed are the names of the tools.
"""

# mypy: ignore-errors
# The clients are installed in environments of their own.

import asyncio
import json
import sys
from contextlib import asynccontextmanager

SESSIONS = 4


@asynccontextmanager
async def connected(url, token):
    """A function that calls a tool and returns its structured content, and the names of the tools."""
    headers = {"Authorization": f"Bearer {token}"}
    if "--fastmcp" in sys.argv:
        from fastmcp import Client
        from fastmcp.client.transports import StreamableHttpTransport

        async with Client(StreamableHttpTransport(url, headers=headers)) as client:

            async def call(name, **arguments):
                return (await client.call_tool(name, arguments)).structured_content

            yield call, [tool.name for tool in await client.list_tools()]
        return
    try:
        from mcp.client.streamable_http import streamable_http_client as over_http
    except ImportError:
        from mcp.client.streamable_http import streamablehttp_client as over_http
    from mcp import ClientSession

    try:
        import httpx2 as httpx
    except ImportError:
        import httpx

    async with (
        httpx.AsyncClient(headers=headers, timeout=120) as http,
        over_http(url, http_client=http) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()

        async def call(name, **arguments):
            result = (await session.call_tool(name, arguments)).model_dump(by_alias=True)
            if result["isError"]:
                raise RuntimeError(result["content"][0]["text"])
            return result["structuredContent"]

        yield call, [tool.name for tool in (await session.list_tools()).tools]


async def play(call, env_id, seed, actions):
    """The transcript of one script."""
    read = await call("reset", env_id=env_id, seed=seed)
    transcript = [[read["text"], read["reward"], read["done"]]]
    for action in actions:
        read = await call("step", episode_id=read["episode_id"], action=action)
        transcript.append([read["text"], read["reward"], read["done"]])
    state = await call("state", episode_id=read["episode_id"])
    assert (state["turn"], state["text"], state["done"]) == (len(actions), read["text"], read["done"]), state
    return transcript


async def main():
    """Play all scripts; an error is a transcript too."""
    gate = asyncio.Semaphore(SESSIONS)
    async with connected(sys.argv[1], sys.argv[2]) as (call, tools):

        async def play_in_turn(script):
            async with gate:
                try:
                    return await play(call, *script)
                except Exception as error:  # noqa: BLE001 (the test reads it)
                    return f"{type(error).__name__}: {error}"

        scripts = json.load(sys.stdin)
        json.dump([tools, *await asyncio.gather(*map(play_in_turn, scripts))], sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
