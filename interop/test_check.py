"""`sabir check` against live servers: our own, which must pass, and those of others, whose faults are known."""

import asyncio
import json
import os
import socket
import sys
import tempfile
from contextlib import asynccontextmanager

from program import SABIR, certificate, demo
from tap import check, run

# The folder of the programs that are installed beside this Python.
PYTHON = [sys.executable, "-m"]
EVERYTHING = ["node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js"]


async def judged(*args):
    """The exit code, the profile, and what was found: each rule once, in the order of the ids."""
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
    profile = err.decode().rsplit(", profile ", 1)[1].split()[0]
    return process.returncode, profile, sorted({json.loads(line)["rule"] for line in out.decode().splitlines()})


async def findings(*args):
    code, _, found = await judged(*args)
    return code, found


@asynccontextmanager
async def listening(command):
    """A server that is told its port by `{}` in its command or by the variable PORT. It is ready when it accepts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *(word.format(port) for word in command), env={**os.environ, "PORT": str(port)},
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        while True:
            assert process.returncode is None, f"{command} ended before it listened"
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.05)
        yield port
    finally:
        if process.returncode is None:
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


NPM = "node_modules/@modelcontextprotocol"


async def programs_are_recognised_and_judged_by_what_they_are():
    """No profile is given: each says itself what it is."""
    unread = ["LIVE003", "LIVE004"]
    for args, profile, faults in [
        (["--", *EVERYTHING, "stdio"], "mcp", unread),
        (["--", "node", f"{NPM}/server-filesystem/dist/index.js", "."], "mcp", unread),
        (["--", "node", f"{NPM}/server-memory/dist/index.js"], "mcp", unread),
        (["--", sys.executable, "mcp_server.py"], "mcp", unread),
        (["--framing", "headers", "--", "clangd", "--log=error"], "lsp", ["LIVE003", "LIVE008"]),
        # Known by their names.
        (["--", "clangd", "--log=error"], "lsp", ["LIVE003", "LIVE008"]),
        (["--", os.path.join(os.path.dirname(sys.executable), "ruff"), "server"], "lsp", ["LIVE008"]),
        (["--framing", "headers", "--", *PYTHON, "pylsp"], "lsp", ["LIVE003", "LIVE008"]),
        (["--framing", "headers", "--", *PYTHON, "ruff", "server"], "lsp", ["LIVE008"]),
        # It takes no batches, and numbers are doubles.
        (["--framing", "headers", "--", "node", "stdio_server.mjs"], "jsonrpc",
         ["LIVE003", "LIVE004", "LIVE005", "LIVE006", "LIVE007"]),
    ]:
        check((args, await judged(*args)), (args, (1, profile, faults)))


async def allowed_faults_are_no_faults():
    allowed = ["--allow", "LIVE003,LIVE004"]
    check(await findings("--profile", "mcp", *allowed, "--", *EVERYTHING, "stdio"), (0, []))


async def python_mcp_servers_of_the_newest_revision():
    came = await findings("--profile", "mcp@2026-07-28", "--", sys.executable, "mcp_server.py")
    check(came, (1, ["LIVE003", "LIVE004"]))


async def server_everything_says_over_http_that_an_invalid_request_is_no_json():
    async with listening([*EVERYTHING, "streamableHttp"]) as port:
        check(await judged(f"http://127.0.0.1:{port}/mcp"), (1, "mcp", ["LIVE004"]))


async def server_everything_is_recognised_over_the_old_transport():
    async with listening([*EVERYTHING, "sse"]) as port:
        code, profile, faults = await judged(f"http://127.0.0.1:{port}/sse")
        check((code, profile), (0, "mcp@2024-11-05"))
        # Over HTTP it refuses what it cannot read.
        check(faults, [])


async def servers_of_others_break_the_rules_that_are_known():
    double = ["LIVE007"]
    aria2 = ["LIVE002", "LIVE005", "LIVE006", "LIVE007", "RPC016"]
    ganache = ["LIVE002", "LIVE004", "LIVE005", "LIVE006", "LIVE007", "LIVE009", "RPC010", "RPC015", "RPC016"]
    for command, url, faults in [
        (["node", "rpc_servers.mjs", "jayson-tcp"], "tcp://127.0.0.1:{}", double),
        (["node", "rpc_servers.mjs", "jayson-http"], "http://127.0.0.1:{}", double),
        (["node", "rpc_servers.mjs", "rpc-websockets"], "ws://127.0.0.1:{}",
         ["LIVE006", "LIVE007", "LIVE009"]),
        ([sys.executable, "aiorpcx_server.py"], "tcp://127.0.0.1:{}", ["LIVE004"]),
        (["aria2c", "--enable-rpc", "--no-conf", "--rpc-listen-port={}"], "http://127.0.0.1:{}/jsonrpc", aria2),
        (["aria2c", "--enable-rpc", "--no-conf", "--rpc-listen-port={}"], "ws://127.0.0.1:{}/jsonrpc",
         [*aria2, "LIVE009"]),
        (["node", "node_modules/ganache/dist/node/cli.js", "--port", "{}"], "ws://127.0.0.1:{}", ganache),
    ]:
        async with listening(command) as port:
            code, _, came = await judged(url.format(port))
            check((command, url, code, came), (command, url, 1, sorted(faults)))


async def a_transcript_has_the_lines_that_are_named():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "session.rpc")
        process = await asyncio.create_subprocess_exec(
            SABIR, "check", "--json", "--save", path, "--", *EVERYTHING, "stdio",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )
        out, _ = await process.communicate()
        lines = open(path).read().splitlines()
        found = [json.loads(line) for line in out.decode().splitlines()]
        assert found
        for finding in found:
            check(finding["file"], path)
            said = lines[finding["line"] - 1]
            check(said[0], finding["direction"])
            assert finding["excerpt"][:20] in said, (finding, said)


run("sabir check", [
    our_service_passes_over_every_transport,
    our_mcp_server_passes_over_stdio_and_http,
    programs_are_recognised_and_judged_by_what_they_are,
    allowed_faults_are_no_faults,
    python_mcp_servers_of_the_newest_revision,
    server_everything_says_over_http_that_an_invalid_request_is_no_json,
    server_everything_is_recognised_over_the_old_transport,
    servers_of_others_break_the_rules_that_are_known,
    a_transcript_has_the_lines_that_are_named,
])
