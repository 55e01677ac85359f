"""`sabir check` against live servers: our own, which must pass, and those of others, whose faults are known."""

import asyncio
import json
import os
import socket
from contextlib import asynccontextmanager

from program import SABIR, certificate, demo
from tap import check, run

EVERYTHING = ["node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js"]


async def findings(*args):
    """The exit code, and what was found: each rule once, in the order of the ids."""
    process = await asyncio.create_subprocess_exec(
        SABIR, "check", "--json", *args, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    # How many answers came, so that silence does not pass for a success.
    assert b"answers" in err and b" 0 answers" not in err, err.decode()
    return process.returncode, sorted({json.loads(line)["rule"] for line in out.decode().splitlines()})


@asynccontextmanager
async def everything_over_http():
    """A server of MCP on a free port: its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *EVERYTHING, "streamableHttp", env={**os.environ, "PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )
    try:
        while b"listening" not in (line := await process.stderr.readline()):
            assert line, "the server ended before it listened"
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        await process.wait()


async def our_service_passes_over_every_transport():
    async with demo() as (host, port):
        for scheme in ("tcp", "http", "ws"):
            check((scheme, await findings(f"{scheme}://{host}:{port}")), (scheme, (0, [])))
    async with certificate() as (cert, key), demo("--tls-cert", cert, "--tls-key", key) as (host, port):
        for scheme in ("tls", "https", "wss"):
            came = await findings("--cacert", cert, f"{scheme}://{host}:{port}")
            check((scheme, came), (scheme, (0, [])))


async def our_mcp_server_passes_over_stdio_and_http():
    for profile in ("mcp@2024-11-05", "mcp@2025-03-26", "mcp@2025-06-18", "mcp", "mcp@2026-07-28"):
        check((profile, await findings("--profile", profile, "--", SABIR, "demo", "--mcp")), (profile, (0, [])))
    async with demo("--mcp") as (host, port):
        for profile in ("mcp@2025-03-26", "mcp@2025-06-18", "mcp", "mcp@2026-07-28"):
            came = await findings("--profile", profile, f"http://{host}:{port}")
            check((profile, came), (profile, (0, [])))


async def server_everything_is_silent_about_what_it_cannot_read():
    check(await findings("--profile", "mcp", "--", *EVERYTHING, "stdio"), (1, ["LIVE003", "LIVE004"]))
    allowed = ["--allow", "LIVE003,LIVE004"]
    check(await findings("--profile", "mcp", *allowed, "--", *EVERYTHING, "stdio"), (0, []))


async def server_everything_says_over_http_that_an_invalid_request_is_no_json():
    async with everything_over_http() as url:
        check(await findings("--profile", "mcp", url), (1, ["LIVE004"]))


async def clangd_ends_on_an_invalid_request():
    came = await findings("--profile", "lsp", "--framing", "headers", "--", "clangd", "--log=error")
    check(came, (1, ["LIVE003", "LIVE008"]))


run("sabir check", [
    our_service_passes_over_every_transport,
    our_mcp_server_passes_over_stdio_and_http,
    server_everything_is_silent_about_what_it_cannot_read,
    server_everything_says_over_http_that_an_invalid_request_is_no_json,
    clangd_ends_on_an_invalid_request,
])
