"""Tasks as 2025-11-25 has them: the client of PyPI's `mcp` 1.30 against `sabir demo --mcp` on stdio, and our client against
its server. Later versions of it have none. Runs in an environment of its own."""

import asyncio
import os
import sys

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import McpError

failed = False


def report(name, wrong=None):
    global failed
    failed |= wrong is not None
    print(f"{'ok' if wrong is None else 'not ok'} - mcp 1.30 tasks: {name}", flush=True)
    if wrong is not None:
        print(repr(wrong), file=sys.stderr)


async def elicited(context, params):
    return types.ElicitResult(action="accept", content={"confirm": True})


async def settled(session, task_id):
    async for status in session.experimental.poll_task(task_id):
        if status.status == "input_required":
            break
    return await session.experimental.get_task_result(task_id, types.CallToolResult)


async def create_get_result(session):
    created = await session.experimental.call_tool_as_task("slow_compute", {"seconds": 1, "label": "sum"}, ttl=30000)
    assert created.task.status == "working" and created.task.ttl == 30000, created
    got = await session.experimental.get_task(created.task.taskId)
    assert got.taskId == created.task.taskId and got.pollInterval == 250, got
    result = await session.experimental.get_task_result(created.task.taskId, types.CallToolResult)
    assert result.content[0].text == "sum took 1 s", result
    related = result.meta["io.modelcontextprotocol/related-task"]
    assert related == {"taskId": created.task.taskId}, related
    listed = await session.experimental.list_tasks()
    assert created.task.taskId in [task.taskId for task in listed.tasks], listed


async def input_while_it_runs(session):
    created = await session.experimental.call_tool_as_task("confirm_delete", {"filename": "a.txt"})
    result = await settled(session, created.task.taskId)
    assert result.content[0].text == "Deleted a.txt", result


async def cancel(session):
    created = await session.experimental.call_tool_as_task("slow_compute", {"seconds": 60})
    cancelled = await session.experimental.cancel_task(created.task.taskId)
    assert cancelled.status == "cancelled", cancelled
    try:
        await session.experimental.cancel_task(created.task.taskId)
    except McpError as error:
        assert error.error.code == -32602, error
    else:
        raise AssertionError("a task was cancelled twice")


async def tool_error(session):
    created = await session.experimental.call_tool_as_task("failing_job", {})
    result = await session.experimental.get_task_result(created.task.taskId, types.CallToolResult)
    assert result.isError, result
    got = await session.experimental.get_task(created.task.taskId)
    assert got.status == "failed", got
    try:
        await session.call_tool("failing_job", {})
    except McpError as error:
        assert error.error.code == -32601, error
    else:
        raise AssertionError("a tool that is only a task was called without one")


async def as_client():
    server = StdioServerParameters(command=os.environ["SABIR"], args=["demo", "--mcp"])
    async with stdio_client(server) as streams:
        async with ClientSession(*streams, elicitation_callback=elicited) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            support = {tool.name: tool.execution and tool.execution.taskSupport for tool in tools}
            wrong = None if support["slow_compute"] == "optional" and support["failing_job"] == "required" else support
            report("tools say whether they are tasks", wrong)
            for test in [create_get_result, input_while_it_runs, cancel, tool_error]:
                try:
                    await asyncio.wait_for(test(session), 30)
                    report(test.__name__.replace("_", " "))
                except Exception as error:
                    report(test.__name__.replace("_", " "), error)


async def serve():
    """The server that our client is tried on."""
    server = Server("tasks-1.30")
    server.experimental.enable_tasks()

    @server.list_tools()
    async def list_tools():
        execution = types.ToolExecution(taskSupport="required")
        return [types.Tool(name="ask", description="Asks", inputSchema={"type": "object"}, execution=execution)]

    @server.call_tool()
    async def call_tool(name, arguments):
        async def work(task):
            await task.update_status("about to ask")
            schema = {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}
            answer = await task.elicit(message="Sure?", requestedSchema=schema)
            return types.CallToolResult(content=[types.TextContent(type="text", text=f"{answer.action}")])

        return await server.request_context.experimental.run_task(work)

    async with stdio_server() as streams:
        await server.run(*streams, server.create_initialization_options())


async def as_server():
    command = [os.environ["MCP_CLIENT"], sys.executable, __file__, "serve"]
    pipe = asyncio.subprocess.PIPE
    ran = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    try:
        said, _ = await asyncio.wait_for(ran.communicate(b"task ask {}\n"), 30)
    except asyncio.TimeoutError:
        ran.kill()
        said = b"it did not end"
    right = b"revision: 2025-11-25\n" in said and b"InputRequired accept\n" in said
    report("our client waits for a task, and answers it", None if right else said)


async def main():
    await as_client()
    await as_server()
    sys.exit(failed)


if sys.argv[1:] == ["serve"]:
    anyio.run(serve)
else:
    asyncio.run(main())
