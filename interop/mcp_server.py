"""A server with the Python MCP SDK, called by the client of `sabir-mcp`: on standard input and output, or with
`http` on a free port, which it says."""

import asyncio
import socket
import sys
from typing import Annotated

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve, Sample
from mcp_types import CreateMessageResult, SamplingMessage, TextContent
from pydantic import BaseModel

server = MCPServer("python")
gone = asyncio.Event()


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


@server.tool()
async def count(steps: int, ctx: Context) -> str:
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps)
    return "done"


@server.tool()
async def wait(ctx: Context) -> str:
    """Never ends, unless it is cancelled."""
    await ctx.report_progress(0)
    try:
        await asyncio.Event().wait()
    finally:
        gone.set()


@server.tool()
async def cancelled() -> str:
    """Ends once a wait was cancelled."""
    await gone.wait()
    return "yes"


class Name(BaseModel):
    name: str


def who() -> Elicit[Name]:
    return Elicit("Who are you?", Name)


def greeting() -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text="Hi"))], max_tokens=10)


@server.tool()
async def greet(name: Annotated[Name, Resolve(who)], said: Annotated[CreateMessageResult, Resolve(greeting)]) -> str:
    return f"Hello, {name.name}: {said.content.text}"


if sys.argv[1:] == ["http"]:
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    app = server.streamable_http_app()
    uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)).run(sockets=[listener])
else:
    server.run("stdio")
