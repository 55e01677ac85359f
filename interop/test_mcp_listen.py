"""`subscriptions/listen` of `sabir demo --mcp`, with httpx over HTTP and line by line on stdio: the acknowledgement comes
first, calls beside it are answered, a change is told with the id of the subscription, and leaving it ends it: no change
comes any more, and the request is not open any more."""

import asyncio
import json
import os

import httpx

from tap import check, run

SABIR = os.environ["SABIR"]
REVISION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": REVISION,
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
WANTED = {"toolsListChanged": True}
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def request(id, method, **params):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}}


def change(id):
    return request(id, "tools/call", name="test_trigger_tool_change", arguments={})


def check_changed(message, id):
    check(message["method"], "notifications/tools/list_changed")
    check(message["params"]["_meta"][SUBSCRIPTION], id)


def check_acknowledged(message, id):
    check(message["method"], "notifications/subscriptions/acknowledged")
    check(message["params"]["notifications"], WANTED)
    check(message["params"]["_meta"][SUBSCRIPTION], id)


async def on_stdio():
    server = await asyncio.create_subprocess_exec(
        SABIR, "demo", "--mcp", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)

    async def send(message):
        server.stdin.write(json.dumps(message).encode() + b"\n")
        await server.stdin.drain()

    async def receive():
        return json.loads(await server.stdout.readline())

    try:
        for id in ("first", "again"):
            await send(request(id, "subscriptions/listen", notifications=WANTED))
            check_acknowledged(await receive(), id)
            await send(request(1, "tools/list"))
            check((await receive())["id"], 1)
            # The change and the answer to the call that makes it come in any order.
            await send(change(3))
            first, second = await receive(), await receive()
            told, answered = (first, second) if "method" in first else (second, first)
            check_changed(told, id)
            check(answered["id"], 3)
            await send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
            # No answer is owed to what was cancelled, and no change is told: the next ones are to what is asked now.
            await send(change(4))
            check((await receive())["id"], 4)
            await send(request(2, "tools/list"))
            check((await receive())["id"], 2)
        server.stdin.close()
        check(await server.wait(), 0)
    finally:
        if server.returncode is None:
            server.kill()


async def listening(client, metrics):
    """How many requests the server has open."""
    for line in (await client.get(metrics)).text.splitlines():
        if line.startswith('jsonrpc_inflight_requests{direction="received"}'):
            return int(line.split()[-1])
    return 0


async def call_change(client, url, headers):
    named = {**headers, "Mcp-Method": "tools/call", "Mcp-Name": "test_trigger_tool_change"}
    answer = await client.post(url, json=change(8), headers=named)
    check(answer.status_code, 200)
    check(json.loads(answer.text.split("data: ")[-1])["id"], 8)


async def over_http():
    server = await asyncio.create_subprocess_exec(
        SABIR, "demo", "--mcp", "--listen", "http://127.0.0.1:0/mcp", "--metrics", "0", stderr=asyncio.subprocess.PIPE)
    try:
        lines = [(await server.stderr.readline()).decode() for _ in range(2)]
        [metrics] = [line.split()[-1] for line in lines if "metrics at" in line]
        [url] = [line.split()[-1] for line in lines if "serving on" in line]
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": REVISION,
        }
        async with httpx.AsyncClient() as client:
            for id in (1, 2):
                body = request(id, "subscriptions/listen", notifications=WANTED)
                named = {**headers, "Mcp-Method": "subscriptions/listen"}
                async with client.stream("POST", url, json=body, headers=named) as stream:
                    check(stream.status_code, 200)
                    check(stream.headers["content-type"].split(";")[0], "text/event-stream")
                    lines = stream.aiter_lines()

                    async def receive():
                        async for line in lines:
                            if line.startswith("data: {"):
                                return json.loads(line[6:])

                    check_acknowledged(await receive(), id)
                    check(await listening(client, metrics), 1)
                    named = {**headers, "Mcp-Method": "tools/list"}
                    answer = await client.post(url, json=request(9, "tools/list"), headers=named)
                    check(answer.json()["id"], 9)
                    await call_change(client, url, headers)
                    check_changed(await receive(), id)
                # The client has closed the stream: the server drops the request.
                while await listening(client, metrics) > 0:
                    await asyncio.sleep(0.01)
        server.terminate()
        check(await server.wait(), 0)
    finally:
        if server.returncode is None:
            server.kill()


run("subscriptions/listen", [on_stdio, over_http])
