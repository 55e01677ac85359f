"""`subscriptions/listen` of `sabir demo --mcp`, with httpx over HTTP and line by line on stdio: the acknowledgement comes
first, calls beside it are answered, and leaving it ends it."""

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
            await send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
            # No answer is owed to what was cancelled: the next one is to what is asked now.
            await send(request(2, "tools/list"))
            check((await receive())["id"], 2)
        server.stdin.close()
        check(await server.wait(), 0)
    finally:
        if server.returncode is None:
            server.kill()


async def over_http():
    server = await asyncio.create_subprocess_exec(
        SABIR, "demo", "--mcp", "--listen", "http://127.0.0.1:0/mcp", stderr=asyncio.subprocess.PIPE)
    try:
        url = (await server.stderr.readline()).decode().split()[-1]
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
                    async for line in stream.aiter_lines():
                        if line.startswith("data: {"):
                            check_acknowledged(json.loads(line[6:]), id)
                            break
                    named = {**headers, "Mcp-Method": "tools/list"}
                    answer = await client.post(url, json=request(9, "tools/list"), headers=named)
                    check(answer.json()["id"], 9)
        server.terminate()
        check(await server.wait(), 0)
    finally:
        if server.returncode is None:
            server.kill()


run("subscriptions/listen", [on_stdio, over_http])
