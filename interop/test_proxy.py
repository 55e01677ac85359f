"""The client of the Python MCP SDK against the TypeScript SDK's `server-everything`, through the example `proxy`."""

import asyncio
import os
from contextlib import asynccontextmanager

import mcp
import mcp_types as types
from mcp.client.stdio import StdioServerParameters, stdio_client

from tap import check, run

EVERYTHING = ["node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"]
THROUGH = StdioServerParameters(command=os.environ["PROXY"], args=["stdio:", *EVERYTHING])
DIRECT = StdioServerParameters(command=EVERYTHING[0], args=EVERYTHING[1:])


async def sample(context, params):
    content = types.TextContent(type="text", text="sampled")
    return types.CreateMessageResult(role="assistant", content=content, model="parrot")


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///a", name="a")])


@asynccontextmanager
async def initialized(server=THROUGH, **options):
    async with stdio_client(server) as (read, write):
        callbacks = dict(sampling_callback=sample, list_roots_callback=roots)
        async with mcp.ClientSession(read, write, **callbacks, **options) as client:
            await client.initialize()
            yield client


def text(result):
    return [part.text for part in result.content]


async def lists_are_those_of_the_server():
    async def lists(server):
        async with initialized(server) as client:
            # What is offered depends on what the client can do, which the server may ask for first.
            await asyncio.sleep(0.5)
            return [
                (await listing()).model_dump_json()
                for listing in (client.list_tools, client.list_prompts, client.list_resources)
            ]

    check(await lists(THROUGH), await lists(DIRECT))


async def tools_answer():
    async with initialized() as client:
        check(text(await client.call_tool("echo", {"message": "žluťoučký 🐎"})), ["Echo: žluťoučký 🐎"])
        assert "5" in text(await client.call_tool("get-sum", {"a": 2, "b": 3}))[0]
        refused = await client.call_tool("no such tool", {})
        assert refused.is_error, refused


async def calls_at_once_find_their_answers():
    async with initialized() as client:
        calls = [client.call_tool("echo", {"message": str(n)}) for n in range(100)]
        check([text(result) for result in await asyncio.gather(*calls)], [[f"Echo: {n}"] for n in range(100)])


async def progress_comes_in_order_and_before_the_result():
    async with initialized() as client:
        seen = []

        async def progress(done, total, message):
            seen.append((done, total))

        arguments = {"duration": 0.4, "steps": 4}
        await client.call_tool("trigger-long-running-operation", arguments, progress_callback=progress)
        check(seen, [(n, 4) for n in range(1, 5)])


async def the_server_asks_the_client():
    async with initialized() as client:
        # The tool is offered once the server knows that the client can sample.
        for _ in range(50):
            tools = [tool.name for tool in (await client.list_tools()).tools]
            if "trigger-sampling-request" in tools:
                break
            await asyncio.sleep(0.1)
        result = await client.call_tool("trigger-sampling-request", {"prompt": "hello", "maxTokens": 10})
        assert "sampled" in text(result)[0], result


async def notifications_of_the_server_arrive():
    messages = asyncio.Queue()

    async def logged(params):
        await messages.put(params)

    async with initialized(logging_callback=logged) as client:
        await client.set_logging_level("debug")
        await client.call_tool("toggle-simulated-logging", {})
        params = await messages.get()
        assert params.data, params


run("Python MCP SDK, proxy, TypeScript MCP SDK", [
    lists_are_those_of_the_server,
    tools_answer,
    calls_at_once_find_their_answers,
    progress_comes_in_order_and_before_the_result,
    the_server_asks_the_client,
    notifications_of_the_server_arrive,
])
