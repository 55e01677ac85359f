"""The client of the Python MCP SDK against `sabir demo --mcp`, over standard input and output and over HTTP. Both eras.
And what no SDK lets one see: what is on the wire after a cancel."""

import asyncio
import json
import os
from contextlib import asynccontextmanager

import httpx
import mcp
import mcp_types as types
from mcp.client.stdio import StdioServerParameters, stdio_client

from tap import check, run

SERVER = StdioServerParameters(command=os.environ["SABIR"], args=["demo", "--mcp"])
NEWEST_LEGACY, MODERN = "2025-11-25", "2026-07-28"


async def roots(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///a", name="a"), types.Root(uri="file:///b", name="b")])


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"name": "Ann", "color": "blue", "username": "ann", "email": "a@b"})


async def sample(context, params):
    content = types.TextContent(type="text", text="Hi")
    return types.CreateMessageResult(role="assistant", content=content, model="parrot")


CALLBACKS = dict(list_roots_callback=roots, elicitation_callback=elicit, sampling_callback=sample)


@asynccontextmanager
async def session(**options):
    async with stdio_client(SERVER) as (read, write):
        async with mcp.ClientSession(read, write, **CALLBACKS, **options) as session:
            yield session


@asynccontextmanager
async def initialized():
    async with session() as client:
        await client.initialize()
        yield client


def client(mode):
    return mcp.Client(stdio_client(SERVER), mode=mode, **CALLBACKS)


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
        check(result.protocol_version, NEWEST_LEGACY)
        check(result.server_info.name, "sabir-everything")
        await client.send_ping()


async def every_revision_with_a_handshake_is_negotiated():
    for offered, agreed in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", NEWEST_LEGACY),
    ]:
        async with session() as client:
            params = types.InitializeRequestParams(
                protocol_version=offered,
                capabilities=types.ClientCapabilities(),
                client_info=types.Implementation(name="interop", version="0"),
            )
            result = await client.send_request(types.InitializeRequest(params=params), types.InitializeResult)
            check(result.protocol_version, agreed)


async def a_probe_finds_the_modern_era():
    async with client("auto") as session:
        check(text(await session.call_tool("add", {"a": 20, "b": 22})), ["42"])
        check(session.protocol_version, MODERN)


async def tools_resources_and_prompts_are_listed_and_used():
    for mode in ["legacy", "auto"]:
        async with client(mode) as session:
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            check(tools["add"].input_schema["required"], ["a", "b"])
            check(tools["add"].description, "The sum of two integers")
            check(tools["divide"].output_schema["required"], ["quotient"])
            divided = await session.call_tool("divide", {"dividend": 1, "divisor": 4})
            check(divided.structured_content, {"quotient": 0.25})
            resources = [str(resource.uri) for resource in (await session.list_resources()).resources]
            check("test://static-text" in resources, True)
            read = await session.read_resource("test://template/7/data")
            check(json.loads(read.contents[0].text), {"data": "Data for ID: 7", "id": "7", "templateTest": True})
            prompts = (await session.list_prompts()).prompts
            check([argument.name for argument in prompts[1].arguments], ["arg1", "arg2"])
            prompt = await session.get_prompt("test_prompt_with_arguments", {"arg1": "x", "arg2": "y"})
            check(prompt.messages[0].content.text, "Prompt with arguments: arg1='x', arg2='y'")


async def what_a_tool_cannot_do_is_a_result():
    for mode in ["legacy", "auto"]:
        async with client(mode) as session:
            result = await session.call_tool("add", {"a": 2**63 - 1, "b": 1})
            check((text(result), result.is_error), (["too large"], True))
            result = await session.call_tool("add", {"a": 1})
            check((text(result), result.is_error), (['invalid arguments: "b" is a required property'], True))


async def errors_have_their_codes():
    for mode in ["legacy", "auto"]:
        async with client(mode) as session:
            check(await refusal(session.call_tool("nothing", {})), types.INVALID_PARAMS)
            check(await refusal(session.get_prompt("nothing")), types.INVALID_PARAMS)
            code = -32002 if mode == "legacy" else types.INVALID_PARAMS
            check(await refusal(session.read_resource("test://nothing")), code)


async def calls_at_once_find_their_answers():
    for mode in ["legacy", "auto"]:
        async with client(mode) as session:
            results = await asyncio.gather(*(session.call_tool("add", {"a": n, "b": n}) for n in range(50)))
            check([text(result) for result in results], [[str(2 * n)] for n in range(50)])


async def progress_comes_before_the_result():
    for mode in ["legacy", "auto"]:
        async with client(mode) as session:
            seen = []

            async def note(progress, total, message):
                seen.append((progress, total, message))

            result = await session.call_tool("count", {"steps": 5}, progress_callback=note)
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


async def tools_ask_the_client_in_both_eras():
    for mode in ["legacy", "auto"]:
        async with client(mode) as session:
            for tool, said in [
                ("roots", "a, b"),
                ("test_input_required_result_elicitation", "Hello, Ann!"),
                ("test_input_required_result_sampling", "Hi"),
                ("test_input_required_result_multiple_inputs", "Hello, Ann! Hi a, b"),
                ("test_input_required_result_multi_round", "Hello, Ann! Your color is blue."),
            ]:
                check(text(await session.call_tool(tool)), [said])


@asynccontextmanager
async def serving():
    """The server over HTTP: its URL."""
    process = await asyncio.create_subprocess_exec(
        SERVER.command, *SERVER.args, "--listen", "http://127.0.0.1:0/mcp", stderr=asyncio.subprocess.PIPE)
    try:
        yield (await process.stderr.readline()).decode().split()[-1]
    finally:
        process.terminate()
        await process.wait()


async def the_same_is_served_over_streamable_http():
    async with serving() as url:
        for mode, agreed in [("legacy", NEWEST_LEGACY), ("auto", MODERN)]:
            async with mcp.Client(url, mode=mode, **CALLBACKS) as session:
                check(session.protocol_version, agreed)
                results = await asyncio.gather(*(session.call_tool("add", {"a": n, "b": n}) for n in range(50)))
                check([text(result) for result in results], [[str(2 * n)] for n in range(50)])
                seen = []

                async def note(progress, total, message):
                    seen.append(progress)

                await session.call_tool("test_tool_with_progress", progress_callback=note)
                check(seen, [0, 50, 100])
                for tool, said in [("roots", "a, b"), ("test_input_required_result_multi_round", "Hello, Ann! Your color is blue.")]:
                    check(text(await session.call_tool(tool)), [said])
                before = int(text(await session.call_tool("cancelled"))[0])
                waits = asyncio.Event()

                async def begun(*_):
                    waits.set()

                call = asyncio.create_task(session.call_tool("wait", progress_callback=begun))
                await waits.wait()
                call.cancel()
                await asyncio.wait([call])
                while int(text(await session.call_tool("cancelled"))[0]) == before:
                    await asyncio.sleep(0.05)


async def the_server_exits_at_the_end_of_its_input():
    for mode in ["", '{"jsonrpc":"2.0","id":1,"method":"ping"}\n', "nonsense\n"]:
        process = await asyncio.create_subprocess_exec(
            SERVER.command, *SERVER.args, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        await process.communicate(mode.encode())
        check(process.returncode, 0)


def of_era(era, id, method, **params):
    """A request as it goes over the wire."""
    if era == "modern":
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


INITIALIZE = dict(protocolVersion=NEWEST_LEGACY, capabilities={}, clientInfo={"name": "raw", "version": "0"})
CANCEL = json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})


async def nothing_is_sent_for_a_cancelled_call():
    for era in ["legacy", "modern"]:
        process = await asyncio.create_subprocess_exec(
            SERVER.command, *SERVER.args, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        lines = [
            of_era("legacy", 0, "initialize", **INITIALIZE),
            of_era(era, 7, "tools/call", name="wait"),
            CANCEL,
            of_era(era, 8, "tools/call", name="cancelled"),
        ]
        said, _ = await process.communicate("".join(f"{line}\n" for line in lines).encode())
        answers = {answer["id"]: answer for answer in map(json.loads, said.splitlines())}
        check(sorted(answers), [0, 8])
        check(answers[8]["result"]["content"][0]["text"], "1")


async def nothing_is_sent_for_a_cancelled_call_over_http():
    async with serving() as url, httpx.AsyncClient(timeout=20) as http:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

        async def post(body):
            return await http.post(url, content=body, headers=headers)

        opened = await post(of_era("legacy", 0, "initialize", **INITIALIZE))
        headers["Mcp-Session-Id"] = opened.headers["mcp-session-id"]
        headers["MCP-Protocol-Version"] = NEWEST_LEGACY
        call = asyncio.create_task(post(of_era("legacy", 7, "tools/call", name="wait")))
        # The cancel may overtake the call.
        while not call.done():
            check((await post(CANCEL)).status_code, 202)
            await asyncio.wait([call], timeout=0.05)
        assert '"id":7' not in call.result().text, call.result().text


run("mcp python", [
    initialize_agrees_on_the_newest_revision,
    every_revision_with_a_handshake_is_negotiated,
    a_probe_finds_the_modern_era,
    tools_resources_and_prompts_are_listed_and_used,
    what_a_tool_cannot_do_is_a_result,
    errors_have_their_codes,
    calls_at_once_find_their_answers,
    progress_comes_before_the_result,
    a_cancelled_call_is_dropped_and_the_session_goes_on,
    a_call_that_times_out_is_cancelled,
    tools_ask_the_client_in_both_eras,
    the_same_is_served_over_streamable_http,
    the_server_exits_at_the_end_of_its_input,
    nothing_is_sent_for_a_cancelled_call,
    nothing_is_sent_for_a_cancelled_call_over_http,
])
