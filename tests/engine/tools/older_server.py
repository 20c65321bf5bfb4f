"""A server of the protocol's older generation, which asks its client back; for the environment that has `mcp<2`."""

import sys

from mcp.server.fastmcp import Context, FastMCP  # type: ignore[import-not-found]
from mcp.types import SamplingMessage, TextContent
from pydantic import BaseModel

server = FastMCP("older", port=int(sys.argv[2]) if len(sys.argv) > 2 else 8000, log_level="ERROR")


class Name(BaseModel):
    name: str


@server.tool()  # type: ignore[untyped-decorator]
def echo(text: str) -> str:
    return text


@server.tool()  # type: ignore[untyped-decorator]
async def elicitation(ctx: Context) -> str:
    return str(await ctx.elicit("Who?", schema=Name))


@server.tool()  # type: ignore[untyped-decorator]
async def sampling(ctx: Context) -> str:
    asked = SamplingMessage(role="user", content=TextContent(type="text", text="Hi."))
    return str(await ctx.session.create_message(messages=[asked], max_tokens=10))


@server.tool()  # type: ignore[untyped-decorator]
async def roots(ctx: Context) -> str:
    return str(await ctx.session.list_roots())


server.run(sys.argv[1])
