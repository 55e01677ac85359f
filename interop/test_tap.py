"""Clients and servers that others wrote, with `sabir tap` between them: both sides must see the same bytes.

On each side of the tap stands a double that keeps a copy (`between.py`). So one run is compared with itself, whatever ids
and times the peers choose."""

import asyncio
import json
import os
import pty
import sys
import tempfile
from contextlib import asynccontextmanager

import mcp
import mcp_types as types
from mcp.client.stdio import StdioServerParameters, stdio_client

from between import between, same
from program import SABIR, demo, free_port, sabir
from tap import check, run

EVERYTHING = ["node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js"]
PYTHON = [sys.executable, "mcp_server.py"]
DOUBLE = [sys.executable, "between.py"]

# Of both eras of MCP. The server of the TypeScript SDK has the older one alone, whatever a client offers.
LEGACY, MODERN = "2025-11-25", "2026-07-28"


async def sample(context, params):
    content = types.TextContent(type="text", text="Hi")
    return types.CreateMessageResult(role="assistant", content=content, model="parrot")


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"name": "Ann"})


CALLBACKS = dict(sampling_callback=sample, elicitation_callback=elicit)


async def records(path, noise):
    """The record, which must be whole: one object per line, each answer with its request. `noise` is what was said that
    is not a message, and must be there as it was."""
    with open(path, "rb") as file:
        text = file.read()
    assert text.endswith(b"\n")
    lines = [json.loads(line) for line in text.splitlines()]
    lost = [line for line in lines if line.get("k") == "gap"]
    check([line["raw"] for line in lines if line.get("k") == "noise"], noise)
    alone = [line for line in lines if line.get("k") in ("res", "err") and "ms" not in line and line.get("id") is not None]
    assert not lost and not alone, (lost, alone)
    return lines


def era(lines):
    """The revision of MCP that the calls of tools in a record are of: they name it, or `initialize` has agreed on it before."""
    agreed, found = None, set()
    for message in (line["msg"] for line in lines if "msg" in line):
        agreed = (message.get("result") or {}).get("protocolVersion", agreed)
        if message.get("method") == "tools/call":
            found.add(message["params"].get("_meta", {}).get("io.modelcontextprotocol/protocolVersion", agreed))
    check(len(found), 1)
    return found.pop()


@asynccontextmanager
async def on_stdio(*command, revision=None):
    """A command to start in place of `command`. At the end, both sides of the tap are compared, and the calls
    in the record are of this revision of MCP."""
    with tempfile.TemporaryDirectory() as folder:
        client, server, record = (os.path.join(folder, name) for name in ("client", "server", "s.jrl"))
        yield [*DOUBLE, client, SABIR, "tap", "--record", record, "--", *DOUBLE, server, *command]
        for way in "in", "out":
            sides = []
            for side in client, server:
                with open(f"{side}.{way}", "rb") as file:
                    sides.append(file.read())
            assert sides[0] == sides[1] and sides[0], f"{way}\n client {sides[0]!r}\n server {sides[1]!r}"
        lines = await records(record, [])
        assert [line for line in lines if "msg" in line]
        if revision:
            check(era(lines), revision)


@asynccontextmanager
async def on_socket(port, scheme="http", path="", noise=(), revision=None):
    """A URL in place of that of a server. At the end, both sides of the tap are compared, and the calls
    in the record are of this revision of MCP."""
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "s.jrl")
        async with between(port) as (behind, server):
            target = f"{scheme}://127.0.0.1:{behind}{path}"
            tap = await asyncio.create_subprocess_exec(
                SABIR, "tap", "--record", record, "--listen", f"http://127.0.0.1:0{path}", target,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                line = (await tap.stderr.readline()).decode()
                at = int(line.partition("://127.0.0.1:")[2].partition("/")[0].partition(",")[0])
                async with between(at) as (front, client):
                    yield f"{scheme}://127.0.0.1:{front}{path}"
                    # What is under way may still arrive.
                    await asyncio.sleep(0.2)
                tap.terminate()
                check(await tap.wait(), 0)
            finally:
                if tap.returncode is None:
                    tap.kill()
                    await tap.wait()
        same(client, server)
        lines = await records(record, list(noise))
        if revision:
            check(era(lines), revision)


@asynccontextmanager
async def server(*command, port, **environment):
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL, env={**os.environ, **environment},
    )
    try:
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            except OSError:
                assert process.returncode is None, f"{command[0]} ended with {process.returncode}"
                await asyncio.sleep(0.05)
        yield
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def client(*command):
    process = await asyncio.create_subprocess_exec(*command)
    try:
        check(await process.wait(), 0)
    finally:
        if process.returncode is None:
            process.kill()


async def everything(session):
    """What is asked of the server of the TypeScript SDK."""
    text = (await session.call_tool("echo", {"message": "žluťoučký 🐎"})).content[0].text
    check(text, "Echo: žluťoučký 🐎")
    assert len((await session.list_tools()).tools) > 5
    seen = []

    async def progress(done, total, message):
        seen.append(done)

    await session.call_tool("trigger-long-running-operation", {"duration": 1, "steps": 3}, progress_callback=progress)
    check(seen, [1, 2, 3])


async def python(session):
    """What is asked of the server of the Python SDK."""
    check((await session.call_tool("add", {"a": 2, "b": 3})).content[0].text, "5")
    check((await session.call_tool("greet", {})).content[0].text, "Hello, Ann: Hi")


async def mcp_on_stdio():
    for mode in "legacy", "auto":
        for command, talk, modern in ([*EVERYTHING, "stdio"], everything, LEGACY), (PYTHON, python, MODERN):
            async with on_stdio(*command, revision=modern if mode == "auto" else LEGACY) as words:
                parameters = StdioServerParameters(command=words[0], args=words[1:], env=dict(os.environ))
                async with mcp.Client(stdio_client(parameters), mode=mode, **CALLBACKS) as session:
                    await talk(session)


async def mcp_over_streamable_http():
    for mode in "legacy", "auto":
        port = free_port()
        async with server(*EVERYTHING, "streamableHttp", port=port, PORT=str(port)):
            async with on_socket(port, path="/mcp", revision=LEGACY) as url, mcp.Client(url, mode=mode, **CALLBACKS) as session:
                await everything(session)


async def mcp_over_streamable_http_with_the_python_sdk():
    for mode in "legacy", "auto":
        process = await asyncio.create_subprocess_exec(*PYTHON, "http", stdout=asyncio.subprocess.PIPE)
        try:
            port = int((await process.stdout.readline()).decode().rpartition(":")[2].partition("/")[0])
            revision = MODERN if mode == "auto" else LEGACY
            async with on_socket(port, path="/mcp", revision=revision) as url, mcp.Client(url, mode=mode, **CALLBACKS) as session:
                await python(session)
        finally:
            process.kill()
            await process.wait()


async def vscode_jsonrpc_with_clangd():
    async with on_stdio("clangd", "--log=error") as words:
        await client("node", "tap_client.mjs", "clangd", *words)


async def ethers_with_ganache_over_websocket():
    port = free_port()
    ganache = ["node", "node_modules/ganache/dist/node/cli.js", "--server.port", str(port), "--wallet.deterministic"]
    async with server(*ganache, port=port):
        async with on_socket(port, scheme="ws") as url:
            await client("node", "tap_client.mjs", "ethers", url)


async def aria2_over_http_and_websocket():
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        aria2 = ["aria2c", "--no-conf", "--enable-rpc", f"--rpc-listen-port={port}", f"--dir={folder}"]
        async with server(*aria2, port=port):
            for scheme in "http", "ws":
                async with on_socket(port, scheme=scheme, path="/jsonrpc") as url:
                    code, out, err = await sabir("call", url, "aria2.getVersion")
                    check((code, err), (0, ""))
                    assert "version" in json.loads(out), out
                    check((await sabir("call", url, "aria2.tellStatus", "none"))[0], 1)


async def curl_with_the_demo():
    async with demo(scheme="http") as (_, port):
        call = '{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}'
        # Two bodies are joined by curl, which makes no JSON of them.
        async with on_socket(port, noise=[" &" + call, "{&" + call]) as url:
            extras = [], ["-H", "Expect: 100-continue"], ["--http1.0"], ["-X", "OPTIONS"], ["-I"], ["-d", " "], ["-d", "{"]
            for extra in extras:
                words = ["curl", "-sS", "-o", "/dev/null", "-H", "Content-Type: application/json", *extra, url]
                await client(*words, *([] if "-I" in extra else ["-d", call]))


async def on_a_terminal(which, *words, stdin=b"", **variables):
    """What a program says where its standard output or error is a terminal, and what it says on the other."""
    master, slave = pty.openpty()
    pipe = asyncio.subprocess.PIPE
    streams = {"stdin": pipe, "stdout": pipe, "stderr": pipe, which: slave}
    process = await asyncio.create_subprocess_exec(
        SABIR, *words, **streams, env={**os.environ, "TERM": "xterm-256color", **variables})
    os.close(slave)
    others = await process.communicate(stdin)
    check(process.returncode, 0)
    said = b""
    while True:
        try:
            part = os.read(master, 1 << 16)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(master)
    return said.decode(), next(other for other in others if other is not None)


async def rows_on_a_terminal_have_colours():
    """Rows have colours where they are printed on a terminal, and what is not on one has none."""
    call = '{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}\n'
    error = '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}\n'
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "s.rpc")
        with open(capture, "w") as file:
            file.write(f"> {call}< {error}")
        for variables, painted in ({}, True), ({"NO_COLOR": "1"}, False):
            text, out = await on_a_terminal(
                "stderr", "tap", "--print", "--", SABIR, "demo", stdin=call.encode(), **variables)
            check(json.loads(out)["result"], 5)
            assert "add" in text and ("\x1b[36m> req" in text) == painted and ("\x1b[" in text) == painted, text
            text, _ = await on_a_terminal("stdout", "view", "--print", capture, **variables)
            for part in "\x1b[36m> req", "\x1b[1;31m< err":
                assert "add" in text and (part in text) == painted and ("\x1b[" in text) == painted, text


async def the_lines_for_neovim_are_lua():
    """They put the tap before the words of a server. Neovim has `vim.lsp.config` from 0.11 on: before, something stands for it."""
    code, lines, err = await sabir("tap", "wrap", "clangd", "--host", "neovim", "--record", "/tmp/it's \"s\".jrl")
    check((code, err), (0, ""))
    with tempfile.TemporaryDirectory() as folder:
        path, said = os.path.join(folder, "wrap.lua"), os.path.join(folder, "words.json")
        with open(path, "w") as file:
            file.write("""
                local known = {}
                vim.lsp.config = setmetatable({}, {
                  __index = known,
                  __call = function(_, name, config) known[name] = vim.tbl_extend("force", known[name] or {}, config) end,
                })
                vim.lsp.config("clangd", { cmd = { "clangd", "--log=error" } })
            """ + lines + f"""
                vim.fn.writefile({{ vim.json.encode(vim.lsp.config["clangd"].cmd) }}, "{said}")
            """)
        nvim = await asyncio.create_subprocess_exec(
            "nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", f"luafile {path}", "-c", "qa!",
            stdin=asyncio.subprocess.DEVNULL)
        check(await nvim.wait(), 0)
        with open(said) as file:
            words = json.load(file)
        check((words[1], words[-3:], "/tmp/it's \"s\".jrl" in words), ("tap", ["--", "clangd", "--log=error"], True))


run("sabir tap", [
    mcp_on_stdio,
    mcp_over_streamable_http,
    mcp_over_streamable_http_with_the_python_sdk,
    vscode_jsonrpc_with_clangd,
    ethers_with_ganache_over_websocket,
    aria2_over_http_and_websocket,
    curl_with_the_demo,
    rows_on_a_terminal_have_colours,
    the_lines_for_neovim_are_lua,
])
