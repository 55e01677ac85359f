"""Sessions of real pairs, recorded by `sabir tap`: replayed to the same server they are the same, to a changed one the
difference is named, and `sabir mock` takes the server's place for the real client."""

import asyncio
import json
import os
import re
from contextlib import asynccontextmanager

import mcp
import mcp_types as types
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from program import SABIR, demo, folder, free_port, sabir, server
from tap import check, run

EVERYTHING = ["node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js"]


async def sample(context, params):
    content = types.TextContent(type="text", text="sampled")
    return types.CreateMessageResult(role="assistant", content=content, model="parrot")


def text(result):
    return [part.text for part in result.content]


async def talk(streams):
    """A session with the `everything` server that has a bit of each: what the tools say."""
    asked = asyncio.Event()

    async def roots(context):
        asked.set()
        return types.ListRootsResult(roots=[types.Root(uri="file:///a", name="a")])

    async with streams as (read, write, *_):
        callbacks = dict(sampling_callback=sample, list_roots_callback=roots)
        async with mcp.ClientSession(read, write, **callbacks) as client:
            await client.initialize()
            # The server asks for the roots a third of a second later, whatever the client does meanwhile.
            await asked.wait()
            for _ in range(50):
                tools = [tool.name for tool in (await client.list_tools()).tools]
                if "trigger-sampling-request" in tools:
                    break
                await asyncio.sleep(0.1)
            said = [text(await client.call_tool("echo", {"message": "žluťoučký 🐎"}))]
            said.append(text(await client.call_tool("get-sum", {"a": 2, "b": 3})))

            async def progress(done, total, message):
                said.append((done, total))

            arguments = {"duration": 0.2, "steps": 2}
            await client.call_tool("trigger-long-running-operation", arguments, progress_callback=progress)
            said.append(text(await client.call_tool("trigger-sampling-request", {"prompt": "hello", "maxTokens": 10})))
            at_once = [client.call_tool("echo", {"message": str(n)}) for n in range(10)]
            said.append([text(result) for result in await asyncio.gather(*at_once)])
            await client.list_prompts()
            said.append((await client.call_tool("no such tool", {})).is_error)
            return said


def over_stdio(*command):
    return stdio_client(StdioServerParameters(command=command[0], args=list(command[1:])))


async def replay(*args):
    """Exit code, standard output, standard error."""
    return await sabir("replay", *args)


def same(result):
    code, out, err = result
    assert code == 0, f"exit code {code}\n{out}{err}"


def different(result, *names):
    code, out, err = result
    check(code, 1)
    for name in names:
        assert name in out, f"{name} is not named in\n{out}{err}"


@asynccontextmanager
async def listening(*args):
    """The program with these arguments: its URL, which it announces. It must end well when it is told to."""
    process = await asyncio.create_subprocess_exec(SABIR, *args, stderr=asyncio.subprocess.PIPE)
    try:
        line = (await process.stderr.readline()).decode()
        yield re.search(r"\w+://[^\s,]+", line)[0]
        process.terminate()
        _, err = await process.communicate()
        check((process.returncode, err.decode() if process.returncode else ""), (0, ""))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def tapped(record, listen, target):
    """A tap that listens in front of a target."""
    return listening("tap", "--record", record, "--listen", listen, target)


def mocked(record, listen):
    return listening("mock", record, "--listen", listen)


async def mcp_on_stdio():
    async with folder() as path:
        record = os.path.join(path, "s.jrl")
        said = await talk(over_stdio(SABIR, "tap", "--record", record, "--", *EVERYTHING, "stdio"))
        same(await replay(record, "--", *EVERYTHING, "stdio"))
        again = os.path.join(path, "again.jrl")
        same(await replay(record, "--record", again, "--pace", "recorded", "--", *EVERYTHING, "stdio"))
        same(await sabir("diff", record, again))
        changed = f"{' '.join(EVERYTHING)} stdio | sed -u 's/Echo: /Changed: /'"
        result = await replay(record, "--", "sh", "-c", changed)
        different(result, "tools/call echo", "$.result.content[0].text", "Changed: ")
        check(await talk(over_stdio(SABIR, "mock", record)), said)
        check(await talk(over_stdio(SABIR, "replay", "--server", record)), said)


async def mcp_over_http():
    port = free_port()
    async with folder() as path, server(*EVERYTHING, "streamableHttp", port=port, env={"PORT": str(port)}):
        record, url = os.path.join(path, "s.jrl"), f"http://127.0.0.1:{port}/mcp"
        async with tapped(record, "http://127.0.0.1:0/mcp", url) as at:
            said = await talk(streamable_http_client(at))
        same(await replay(record, url))
        # The same session over another transport, where the server can tell of more by itself.
        changed = ["--ignore", "notifications/tools/list_changed"]
        same(await replay(record, *changed, "--", *EVERYTHING, "stdio"))
        async with demo("--mcp", scheme="http") as (host, demo_port):
            result = await replay(record, f"http://{host}:{demo_port}/")
            different(result, "initialize", "$.result.serverInfo.name")
        async with mocked(record, "http://127.0.0.1:0/mcp") as at:
            check(await talk(streamable_http_client(at)), said)


async def vscode_jsonrpc_and_clangd():
    async with folder() as path:
        record = os.path.join(path, "s.jrl")

        async def client(*server):
            process = await asyncio.create_subprocess_exec(
                "node", "lsp_client.mjs", *server, stdout=asyncio.subprocess.PIPE)
            out, _ = await process.communicate()
            return process.returncode, out.decode()

        code, said = await client(SABIR, "tap", "--record", record, "--", "clangd", "--log=error")
        check(code, 0)
        same(await replay(record, "--", "clangd", "--log=error"))
        # Letter by letter, so that the headers stay true; by lines would wait for the end of one.
        changed = "clangd --log=error | stdbuf -o0 tr V W"
        different(await replay(record, "--", "sh", "-c", changed), "textDocument/hover", "$.result.contents.value")
        check(await client(SABIR, "mock", record), (0, said))


async def sabir_call_and_demo():
    async with folder(batch__json='[{"id":1,"method":"add","params":[1,2]},{"method":"log","params":["x"]},{"id":2,"method":"nothing"}]') as path:
        record = os.path.join(path, "s.jrl")
        async with demo() as (host, port):
            async with tapped(record, "tcp://127.0.0.1:0", f"tcp://{host}:{port}") as at:
                for call in (["add", "2", "3"], ["echo", "a=b"], ["nothing"], ["--batch", os.path.join(path, "batch.json")]):
                    await sabir("call", at, *call)
            same(await replay(record, f"tcp://{host}:{port}"))
            same(await replay(record, f"http://{host}:{port}/"))
            same(await replay(record, f"ws://{host}:{port}/", "--speed", "10"))
        with open(record) as file:
            changed = file.read().replace('"result":5', '"result":6')
        with open(record, "w") as file:
            file.write(changed)
        different(await replay(record, "demo:"), "add", "$.result: recorded 6, came 5")


@asynccontextmanager
async def aria2(*options):
    port = free_port()
    async with folder() as path:
        command = ["aria2c", "--no-conf", "--enable-rpc", f"--rpc-listen-port={port}", f"--dir={path}", *options]
        async with server(*command, port=port):
            yield f"127.0.0.1:{port}/jsonrpc"


async def aria2_and_its_downloads():
    async with folder() as path:
        record = os.path.join(path, "s.jrl")
        async with aria2() as at, tapped(record, "ws://127.0.0.1:0/jsonrpc", f"ws://{at}") as url:
            # The id of the download is another each time, and the calls below repeat it.
            code, out, _ = await sabir("call", url, "aria2.addUri", '["http://127.0.0.1:9/none"]', '{"pause":"true"}')
            check(code, 0)
            gid = json.loads(out)
            code, _, err = await sabir("call", url, "aria2.tellStatus", gid, '["gid","status"]')
            check((code, err), (0, ""))
            await sabir("call", url, "aria2.getGlobalOption")
            await sabir("call", url, "aria2.tellStatus", "0000000000000000")
        async with aria2() as at:
            same(await replay(record, f"ws://{at}", "--ignore", "$.result.dir", "--ignore", "$.result.rpc-listen-port"))
            same(await replay(record, f"http://{at}", "--ignore", "$.result.dir", "--ignore", "$.result.rpc-listen-port"))
        async with aria2("--max-tries=7") as at:
            different(await replay(record, f"ws://{at}"), "aria2.getGlobalOption", '$.result.max-tries: recorded "5", came "7"')


async def ethers_and_ganache():
    """Subscriptions over WebSocket: their ids are others each time, and so is what a chain says of time."""
    def chain(port, *more):
        return ["node", "node_modules/ganache/dist/node/cli.js", "--server.port", str(port), "--wallet.deterministic",
                "--chain.time", "2026-01-01T00:00:00Z", *more]

    volatile = [word for name in ("timestamp", "hash", "parentHash", "stateRoot", "receiptsRoot", "transactionsRoot", "blockHash", "size")
                for word in ("--ignore", f"$..{name}")]
    async with folder() as path:
        record, port = os.path.join(path, "s.jrl"), free_port()
        async with server(*chain(port), port=port):
            async with tapped(record, "ws://127.0.0.1:0", f"ws://127.0.0.1:{port}") as at:
                client = await asyncio.create_subprocess_exec("node", "tap_client.mjs", "ethers", at)
                check(await client.wait(), 0)
        assert '"eth_subscription"' in open(record).read()
        for more, judge in ((), same), (("--chain.chainId", "1338"), lambda result: different(result, "eth_chainId", '"0x539"', '"0x53a"')):
            port = free_port()
            async with server(*chain(port, *more), port=port):
                judge(await replay(record, f"ws://127.0.0.1:{port}", *volatile))


async def curl_and_the_demo():
    async with folder() as path:
        record = os.path.join(path, "s.jrl")
        async with demo(scheme="http") as (host, port):
            async with tapped(record, "http://127.0.0.1:0/", f"http://{host}:{port}/") as at:
                for params in "[2,3]", "[3,3]":
                    call = '{"jsonrpc":"2.0","id":1,"method":"add","params":%s}' % params
                    curl = await asyncio.create_subprocess_exec(
                        "curl", "-sS", "-o", os.devnull, "-H", "Content-Type: application/json", "-d", call, at)
                    check(await curl.wait(), 0)
            same(await replay(record, f"http://{host}:{port}/"))
            async with mocked(record, "http://127.0.0.1:0/") as at:
                same(await replay(record, at))
        with open(record) as file:
            changed = file.read().replace('"result":6', '"result":7')
        with open(record, "w") as file:
            file.write(changed)
        different(await replay(record, "demo:"), "add", "$.result: recorded 7, came 6", "1 same, 1 different")


async def faults_reach_a_real_client():
    async with folder() as path:
        record = os.path.join(path, "s.jrl")
        await talk(over_stdio(SABIR, "tap", "--record", record, "--", *EVERYTHING, "stdio"))

        async def echo(*faults):
            async with over_stdio(SABIR, "mock", record, "--fault", *faults) as (read, write):
                async with mcp.ClientSession(read, write) as client:
                    await client.initialize()
                    return text(await asyncio.wait_for(client.call_tool("echo", {"message": "1"}), 2))

        check(await echo("delay 10ms"), ["Echo: 1"])
        for fault in ("error -5 on tools/call", "drop on tools/call", "close on tools/call"):
            try:
                result = await echo(fault)
            except (Exception, asyncio.CancelledError):
                continue
            raise AssertionError(f"{fault}: {result}")


run("replay", [
    sabir_call_and_demo,
    mcp_on_stdio,
    mcp_over_http,
    vscode_jsonrpc_and_clangd,
    aria2_and_its_downloads,
    ethers_and_ganache,
    curl_and_the_demo,
    faults_reach_a_real_client,
])
