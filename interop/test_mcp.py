"""The MCP SDK's client against the fixture server, over standard input and output."""

import asyncio
import os
from contextlib import asynccontextmanager

import mcp
import mcp_types as types
from mcp.client.stdio import StdioServerParameters, stdio_client

from tap import check, run

SERVER = StdioServerParameters(command=os.environ["MCP_FIXTURE"])
NEWEST = "2025-11-25"


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///a", name="a"), types.Root(uri="file:///b", name="b")])


@asynccontextmanager
async def session(**options):
    async with stdio_client(SERVER) as (read, write):
        async with mcp.ClientSession(read, write, list_roots_callback=roots, **options) as session:
            yield session


@asynccontextmanager
async def initialized():
    async with session() as client:
        await client.initialize()
        yield client


async def refusal(awaitable):
    """The code of the error that must come."""
    try:
        result = await awaitable
    except mcp.MCPError as error:
        return error.error.code
    raise AssertionError(f"expected an error, got {result!r}")


def text(result):
    return [part.text for part in result.content]


async def initialize_agrees_on_the_newest_revision():
    async with session() as client:
        result = await client.initialize()
        check(result.protocol_version, NEWEST)
        check(result.server_info.name, "sabir-mcp-fixture")
        await client.send_ping()


async def another_revision_is_negotiated():
    for offered, agreed in [("2025-06-18", "2025-06-18"), ("1999-01-01", NEWEST)]:
        async with session() as client:
            params = types.InitializeRequestParams(
                protocol_version=offered,
                capabilities=types.ClientCapabilities(),
                client_info=types.Implementation(name="interop", version="0"),
            )
            result = await client.send_request(types.InitializeRequest(params=params), types.InitializeResult)
            check(result.protocol_version, agreed)


async def a_probe_for_a_later_protocol_falls_back():
    async with mcp.Client(stdio_client(SERVER), mode="auto") as client:
        check(text(await client.call_tool("add", {"a": 20, "b": 22})), ["42"])


async def tools_are_listed():
    async with initialized() as client:
        tools = (await client.list_tools()).tools
        check([tool.name for tool in tools], ["add", "count", "wait", "cancelled", "roots"])
        check(tools[0].input_schema["required"], ["a", "b"])


async def a_tool_is_called():
    async with initialized() as client:
        result = await client.call_tool("add", {"a": 2, "b": 3})
        check((text(result), result.is_error), (["5"], False))
        result = await client.call_tool("add", {"a": 2**63 - 1, "b": 1})
        check((text(result), result.is_error), (["too large"], True))


async def errors_have_their_codes():
    async with initialized() as client:
        check(await refusal(client.call_tool("nothing", {})), types.INVALID_PARAMS)
        check(await refusal(client.call_tool("add", {"a": 1})), types.INVALID_PARAMS)
        check(await refusal(client.list_prompts()), types.METHOD_NOT_FOUND)
        await client.send_ping()


async def calls_at_once_find_their_answers():
    async with initialized() as client:
        results = await asyncio.gather(*(client.call_tool("add", {"a": n, "b": n}) for n in range(100)))
        check([text(result) for result in results], [[str(2 * n)] for n in range(100)])


async def progress_comes_before_the_result():
    async with initialized() as client:
        seen = []

        async def note(progress, total, message):
            seen.append((progress, total, message))

        result = await client.call_tool("count", {"steps": 5}, progress_callback=note)
        check(text(result), ["5"])
        check(seen, [(n, 5, f"step {n}") for n in range(1, 6)])


async def a_cancelled_call_is_dropped_and_the_session_goes_on():
    async with initialized() as client:
        call = asyncio.create_task(client.call_tool("wait", {}))
        # The pong is behind the start of the call.
        await asyncio.sleep(0)
        await client.send_ping()
        check(text(await client.call_tool("cancelled")), ["0"])
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled(), f"expected a cancelled call, got {call!r}"
        check(text(await client.call_tool("cancelled")), ["1"])


async def a_call_that_times_out_is_cancelled():
    async with initialized() as client:
        try:
            await client.call_tool("wait", {}, read_timeout_seconds=0.3)
            raise AssertionError("the call should have timed out")
        except mcp.MCPError:
            pass
        check(text(await client.call_tool("cancelled")), ["1"])


async def a_tool_asks_the_client():
    async with initialized() as client:
        check(text(await client.call_tool("roots")), ["a, b"])


run("mcp", [
    initialize_agrees_on_the_newest_revision,
    another_revision_is_negotiated,
    a_probe_for_a_later_protocol_falls_back,
    tools_are_listed,
    a_tool_is_called,
    errors_have_their_codes,
    calls_at_once_find_their_answers,
    progress_comes_before_the_result,
    a_cancelled_call_is_dropped_and_the_session_goes_on,
    a_call_that_times_out_is_cancelled,
    a_tool_asks_the_client,
])
