"""The client of `sabir-mcp` calls the servers of the Python and the TypeScript MCP SDK: over standard input and output
and over HTTP, in both eras."""

import asyncio
import os
import sys
from contextlib import asynccontextmanager

from tap import check, run

SERVERS = {"python": [sys.executable, "mcp_server.py"], "typescript": ["node", "mcp_server.mjs"]}
# The revision that is requested, and the one that is negotiated.
REVISIONS = [(None, "2026-07-28"), ("2025-11-25", "2025-11-25"), ("2025-06-18", "2025-06-18")]
SCRIPT = """add {"a": 2, "b": 3}
50 add {"a": 1, "b": 1}
count {"steps": 3}
cancel wait
cancelled
greet
"""


def expected(server, revision):
    # Only one of them says who calls.
    more = " who" if server == "typescript" else ""
    return [
        f"revision: {revision}",
        f"server: {server}",
        f"tools: add count wait cancelled greet{more}",
        "1 add: 5",
        "50 add: 2",
        "1 count: [1.0,2.0,3.0] done",
        "cancel wait: given up",
        "1 cancelled: yes",
        "1 greet: Hello, Ann: you said: Hi",
        "end: shut down",
    ]


async def run_client(target, revision):
    environment = dict(os.environ, **({"REVISION": revision} if revision else {}))
    pipe = asyncio.subprocess.PIPE
    client = await asyncio.create_subprocess_exec(
        os.environ["MCP_CLIENT"], *target, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
    try:
        said, wrong = await client.communicate(SCRIPT.encode())
    finally:
        if client.returncode is None:
            client.kill()
    assert client.returncode == 0, f"{said.decode()}\n{wrong.decode()}"
    return said.decode().splitlines()


@asynccontextmanager
async def over_stdio(command):
    # The client starts it and waits for its end.
    yield command


@asynccontextmanager
async def over_http(command):
    server = await asyncio.create_subprocess_exec(
        *command, "http", stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
    try:
        yield [(await server.stdout.readline()).decode().strip()]
    finally:
        server.kill()
        await server.wait()


def client_test(server, way, revision, agreed):
    async def test():
        async with way(SERVERS[server]) as target:
            check(await run_client(target, revision), expected(server, agreed))

    test.__name__ = f"to the {server} server {way.__name__}, {agreed}"
    return test


run("mcp client", [
    client_test(server, way, revision, agreed)
    for server in SERVERS
    for way in [over_stdio, over_http]
    for revision, agreed in REVISIONS
])
