"""`sabir` as the client of real servers: one command each, as a person types it."""

import asyncio
import json
import os
import pty
import sys
from contextlib import asynccontextmanager

from program import SABIR, call, folder, free_port, sabir, server
from tap import check, run

MODULES = "node_modules/@modelcontextprotocol"
EVERYTHING = ["node", f"{MODULES}/server-everything/dist/index.js"]
PYTHON = [sys.executable, "mcp_server.py"]
BIN = os.path.dirname(sys.executable)


@asynccontextmanager
async def aria2():
    port = free_port()
    async with folder() as path:
        command = ["aria2c", "--no-conf", "--enable-rpc", f"--rpc-listen-port={port}", "--rpc-secret=s", f"--dir={path}"]
        async with server(*command, port=port):
            yield f"127.0.0.1:{port}/jsonrpc"


async def aria2_over_http_with_its_secret():
    async with aria2() as at:
        code, out, err = await call(f"http://{at}", "aria2.getVersion", "token:s")
        check((code, err), (0, ""))
        assert "version" in json.loads(out), out
        code, out, err = await call(f"http://{at}", "aria2.getVersion")
        check((code, out), (1, ""))
        assert "Unauthorized" in err, err


async def aria2_over_websocket_until_a_notification():
    async with aria2() as at:
        code, out, _ = await call(
            f"ws://{at}", "aria2.addUri", "token:s", '["http://127.0.0.1:9/none"]', "--until", "aria2.onDownloadError",
        )
        check(code, 0)
        # It may tell of all before it answers.
        lines = [json.loads(line) for line in out.splitlines()]
        [gid] = [line for line in lines if isinstance(line, str)]
        assert {"method": "aria2.onDownloadError", "params": [{"gid": gid}]} in lines, lines


async def aria2_notifications_are_followed():
    async with aria2() as at:
        following = asyncio.create_task(sabir("subscribe", f"ws://{at}", "--count", "2"))
        await asyncio.sleep(0.5)
        code, _, _ = await call(f"ws://{at}", "aria2.addUri", "token:s", '["http://127.0.0.1:9/none"]')
        check(code, 0)
        code, out, _ = await following
        check((code, len(out.splitlines())), (0, 2))


@asynccontextmanager
async def ganache():
    port = free_port()
    async with server("node", "node_modules/ganache/dist/node/cli.js", "--port", str(port), port=port):
        yield f"127.0.0.1:{port}"


async def ganache_answers_calls_and_batches():
    async with ganache() as at:
        check(await call(f"http://{at}", "eth_blockNumber"), (0, '"0x0"\n', ""))
        code, out, _ = await call(f"http://{at}", "eth_getBlockByNumber", "0x0", "false", "--pick", ".number")
        check((code, out), (0, "0x0\n"))
        batch = '[{"id":1,"method":"eth_chainId"},{"id":2,"method":"eth_blockNumber"}]'
        code, out, _ = await call(f"http://{at}", "--batch", "-", stdin=batch)
        check((code, len(out.splitlines())), (0, 2))


async def ganache_is_called_wrongly_and_told_how():
    async with ganache() as at:
        for scheme in ("http", "ws"):
            for args, why in [
                (["eth_chainid"], "did you mean `eth_chainId`?"),
                (["eth_chainid", "--as", "eth"], "did you mean `eth_chainId`?"),
                (["eth_getBalance"], "the argument `address` is missing; write it as: eth_getBalance ADDRESS [BLOCK]"),
                (["eth_getBalance", "xyz"], "the argument `address` must be 0x and 40 hexadecimal digits"),
                (["eth_getBalance", f"address=0x{'0' * 40}"], "takes its arguments by position"),
            ]:
                code, out, err = await call(f"{scheme}://{at}", *args)
                check((args, code, out, why in err), (args, 1, "", True))
        # What is suggested works.
        _, out, _ = await sabir("describe", f"http://{at}", "eth_getBalance")
        check((await sabir(*out.split("Try\n")[1].split()[1:]))[:2], (0, '"0x0"\n'))


async def ganache_heads_are_followed():
    async with ganache() as at:
        following = asyncio.create_task(sabir("subscribe", f"ws://{at}", "eth_subscribe", "newHeads", "--count", "2", "--trace"))
        await asyncio.sleep(1)
        for _ in range(2):
            check((await call(f"http://{at}", "evm_mine"))[0], 0)
        code, out, err = await following
        check(code, 0)
        check([json.loads(line)["number"] for line in out.splitlines()], ["0x1", "0x2"])
        assert "eth_unsubscribe" in err, err


C = "int add(int a, int b) { return a + b; }\nint main() { return add(1, 2) + nothing; }\n"


async def clangd_tells_what_is_under_the_cursor():
    async with folder(main__c=C) as path:
        code, out, err = await call("textDocument/hover", f"{path}/main.c:2:21", "--", "clangd", "--log=error")
        check(code, 0)
        assert "function add" in json.loads(out)["contents"]["value"], out


async def clangd_publishes_diagnostics():
    async with folder(main__c=C) as path:
        code, out, _ = await call(
            "textDocument/didOpen", f"{path}/main.c", "--until", "textDocument/publishDiagnostics",
            "--", "clangd", "--log=error",
        )
        check(code, 0)
        [diagnostics] = [json.loads(line) for line in out.splitlines() if "publishDiagnostics" in line]
        assert "nothing" in diagnostics["params"]["diagnostics"][0]["message"], out


async def clangd_is_ended_properly():
    async with folder(main__c=C) as path:
        code, _, err = await call("textDocument/documentSymbol", f"{path}/main.c", "--trace", "--", "clangd", "--log=error")
        check(code, 0)
        sent = [json.loads(line[2:]) for line in err.splitlines() if line.startswith("> ")]
        # It also asks, and is answered.
        sent = [message["method"] for message in sent if "method" in message]
        check(sent, ["initialize", "initialized", "textDocument/didOpen", "textDocument/documentSymbol", "shutdown", "exit"])


async def pylsp_tells_what_is_under_the_cursor():
    async with folder(x__py="import os\nos.getcwd()\n") as path:
        code, out, err = await call("textDocument/hover", f"{path}/x.py:2:5", "--", f"{BIN}/pylsp")
        check(code, 0)
        assert "getcwd" in out, out


async def ruff_finds_what_is_wrong():
    async with folder(x__py="import os\n") as path:
        code, out, _ = await call("textDocument/diagnostic", f"{path}/x.py", "--pick", ".items[].code", "--", f"{BIN}/ruff", "server")
        check((code, out), (0, "F401\n"))


async def everything_on_stdio_by_name():
    command = ["--", *EVERYTHING, "stdio"]
    check((await call("echo", "message=hi", *command))[:2], (0, "Echo: hi\n"))
    code, out, _ = await call("get-sum", "a=2", "b=3", *command)
    check((code, "5" in out), (0, True))
    code, out, err = await call("get-sum", "a=2", "b=x", *command)
    check((code, out), (2, ""))
    assert "the argument `b` must be a number" in err, err
    code, _, err = await call("get_sum", "a=2", "b=3", *command)
    check(code, 1)
    assert "did you mean `get-sum`?" in err, err


async def everything_has_resources_and_prompts():
    command = ["--", *EVERYTHING, "stdio"]
    code, out, _ = await call("resources/list", "--pick", ".resources[0].uri", *command)
    check(code, 0)
    code, out, _ = await call(out.strip(), *command)
    check((code, bool(out.strip())), (0, True))
    code, out, _ = await call("simple-prompt", *command)
    check((code, out.startswith("user: ")), (0, True))


async def everything_reports_progress_on_a_terminal():
    main, sub = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        SABIR, "call", "trigger-long-running-operation", "duration=2", "steps=4", "--", *EVERYTHING, "stdio",
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=sub,
    )
    os.close(sub)
    out = (await process.stdout.read()).decode()
    check(await process.wait(), 0)
    shown = os.read(main, 1 << 16).decode()
    assert "%" in shown, shown
    assert "completed" in out, out


async def everything_is_recorded_and_served_again():
    async with folder() as path:
        capture = f"{path}/session.jrl"
        recorded = ["--", SABIR, "tap", "--record", capture, "--", *EVERYTHING, "stdio"]
        check((await call("echo", "message=hi", "--as", "mcp", *recorded))[:2], (0, "Echo: hi\n"))
        # Nobody says what the mock speaks: it answers `ping`, as servers of MCP do.
        check((await call("echo", "message=hi", "--", SABIR, "mock", capture))[:2], (0, "Echo: hi\n"))


async def filesystem_reads_a_file():
    async with folder(hello__txt="hello there") as path:
        command = ["--", "node", f"{MODULES}/server-filesystem/dist/index.js", path]
        code, out, _ = await call("read_text_file", f"path={path}/hello.txt", *command)
        check((code, out), (0, "hello there\n"))
        code, out, err = await call("read_text_file", "path=/etc/passwd", *command)
        check((code, out), (1, ""))
        assert "denied" in err, err


async def memory_remembers():
    async with folder() as path:
        command = ["--", "env", f"MEMORY_FILE_PATH={path}/memory.json", "node", f"{MODULES}/server-memory/dist/index.js"]
        entity = '[{"name":"Ada","entityType":"person","observations":["counts"]}]'
        check((await call("create_entities", f"entities:={entity}", *command))[0], 0)
        code, out, _ = await call("read_graph", *command)
        check((code, "Ada" in out), (0, True))


async def everything_explains_wrong_arguments():
    command = ["--", *EVERYTHING, "stdio"]
    for args, why in [
        (["get-sum", "a=x", "b=y"], "the argument `a` must be a number"),
        (["get-annotated-message", "messageType=error", "includeImage=yes"], "the argument `includeImage` must be a boolean"),
        (["echo", "mesage=hi"], "did you mean `message`?"),
        (["tools/lst"], "did you mean `tools/list`?"),
        (["trigger-elicitation-request"], "--answer elicitation/create"),
    ]:
        code, out, err = await call(*args, *command)
        check((args, out, why in err), (args, "", True))
        assert code in (1, 2), (args, code)


async def everything_over_http():
    port = free_port()
    async with server(*EVERYTHING, "streamableHttp", port=port, env={"PORT": str(port)}):
        url = f"http://127.0.0.1:{port}/mcp"
        check((await call(url, "echo", "message=hi"))[:2], (0, "Echo: hi\n"))
        code, out, _ = await call(url, "get-sum", "a=2", "b=3")
        check((code, "5" in out), (0, True))


async def everything_over_sse():
    port = free_port()
    async with server(*EVERYTHING, "sse", port=port, env={"PORT": str(port)}):
        url = f"http://127.0.0.1:{port}/sse"
        check(await call(url, "echo", "message=hi"), (0, "Echo: hi\n", ""))
        for command in (["list"], ["list", "--as", "mcp"], ["list", "--as", "mcp@2024-11-05"], ["describe"]):
            code, out, err = await sabir(*command, url)
            check((command, code, "get-sum" in out, err), (command, 0, True, ""))
        code, out, _ = await sabir("describe", url, "echo")
        check((code, "message" in out), (0, True))
        code, out, _ = await sabir("generate", "--lang", "python", url)
        check((code, "get_sum" in out), (0, True))
        hello = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        steps = "".join([
            "> " + json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n",
            '< {"id":1,"result":{"protocolVersion":"2024-11-05"}}\n',
            '> {"jsonrpc":"2.0","method":"notifications/initialized"}\n',
            '> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hi"}}}\n',
            '< {"id":2,"result":{"content":[{"text":"Echo: hi"}]}}\n',
        ])
        check((await call(url, "-f", "-", stdin=steps))[0], 0)
        code, out, err = await sabir("shell", url, stdin="echo message=hi\n")
        check((code, out, "not delivered" in err), (0, "Echo: hi\n", False))
        # As it is configured for other programs, by whatever path.
        async with folder(**{"__claude__json": json.dumps({"mcpServers": {"cc": {"type": "sse", "url": url}}})}) as home:
            for command in (["list", "cc"], ["check", "cc"], ["call", "cc", "echo", "message=hi"]):
                code, out, err = await sabir(*command, env={"HOME": home})
                check((command, code), (command, 0))
                assert command[0] == "check" or "cho" in out, (command, out, err)


async def language_servers_say_what_they_offer():
    for command in (["clangd", "--log=error"], [f"{BIN}/pylsp"], [f"{BIN}/ruff", "server"]):
        code, out, err = await sabir("list", "--", *command)
        check((command, code, "textDocument/hover" in out), (command, 0, True))
        code, out, err = await sabir("describe", "textDocument/hover", "--", *command)
        check((command, code, "position" in out), (command, 0, True))
    async with folder(main__c=C) as path:
        code, _, err = await call("textDocument/hovr", f"{path}/main.c:1:5", "--", "clangd", "--log=error")
        check((code, "did you mean `textDocument/hover`?" in err), (1, True))
    code, out, err = await sabir("generate", "--lang", "python", "--", "clangd", "--log=error")
    check((code, out), (2, ""))
    assert "is a language server" in err, err


async def aria2_without_its_secret_wants_credentials():
    async with aria2() as url:
        code, out, err = await sabir("check", f"http://{url}")
        check((code, out), (3, ""))
        assert "wants credentials" in err and "Unauthorized" in err, err
        assert "in the params" in err, err
        # With it, what it answers can be judged.
        code, out, err = await sabir("check", f"http://{url}", "-d", '["token:s"]')
        check((code, "wants credentials" in err, " 0 answers" in err), (1, False, False))
        assert "LIVE" in out, out


ANSWERS = ["--answer", 'elicitation/create={"name":"Ada"}', "--answer", 'sampling/createMessage="good day"']


async def python_mcp_in_both_eras_on_stdio():
    for era in [], ["--as", "mcp"], ["--as", "mcp@2025-06-18"], ["--as", "mcp@2026-07-28"]:
        check((await call(*era, "add", "a=2", "b=3", "--", *PYTHON))[:2], (0, "5\n"))
        code, out, err = await call(*era, "greet", *ANSWERS, "--", *PYTHON)
        check((code, out), (0, "Hello, Ada: good day\n"))


async def python_mcp_in_both_eras_over_http():
    async with server(*PYTHON, "http", announces=True) as url:
        for era in [], ["--as", "mcp"], ["--as", "mcp@2025-06-18"], ["--as", "mcp@2026-07-28"]:
            check((await call(*era, url, "add", "a=2", "b=3"))[:2], (0, "5\n"))
            code, out, err = await call(*era, url, "greet", *ANSWERS)
            check((code, out), (0, "Hello, Ada: good day\n"))


async def python_mcp_tells_its_progress():
    code, out, _ = await call("count", "steps=3", "--progress", "--json", "--", *PYTHON)
    events = [json.loads(line) for line in out.splitlines()]
    check((code, [event["progress"]["progress"] for event in events if "progress" in event]), (0, [1.0, 2.0, 3.0]))


async def python_mcp_replays_a_transcript():
    """What --trace shows is a script, and a test of the server."""
    code, _, trace = await call("add", "a:=2", "b:=3", "--as", "mcp@2025-06-18", "--trace", "--", *PYTHON)
    check(code, 0)
    code, _, err = await call("-f", "-", "--", *PYTHON, stdin=trace)
    check((code, err), (0, ""))
    code, _, err = await call("-f", "-", "--", *PYTHON, stdin=trace.replace('"text":"5"', '"text":"6"'))
    check(code, 1)
    assert '.result.content[0].text is "5", not "6"' in err, err


async def python_mcp_asks_in_vain():
    code, out, err = await call("greet", "--", *PYTHON)
    check((code, out), (1, ""))
    assert "--answer" in err or "elicitation" in err.lower(), err


async def python_mcp_asks_the_person_at_the_terminal():
    main, sub = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        SABIR, "call", "greet", "--", *PYTHON, stdin=sub, stdout=asyncio.subprocess.PIPE, stderr=sub,
    )
    os.close(sub)
    os.write(main, b"a\nAda\ngood day\n")
    out = (await process.stdout.read()).decode()
    check((await process.wait(), out), (0, "Hello, Ada: good day\n"))


async def vscode_jsonrpc_with_headers():
    code, out, _ = await call("--framing", "headers", "add", "1", "2", "--", "node", "stdio_server.mjs")
    check((code, out), (0, "3\n"))


async def rpc_websockets_calls_and_events():
    async with server("node", "rpc_websockets_server.mjs", announces=True) as url:
        check((await call(url, "add", "1", "2"))[:2], (0, "3\n"))
        code, out, _ = await sabir("subscribe", url, "rpc.on", "feed", "--count", "3")
        check((code, len(out.splitlines())), (0, 3))
        first, second, third = [json.loads(line) for line in out.splitlines()]
        check((second[0] - first[0], third[0] - second[0]), (1, 1))


async def aiorpcx_over_tcp():
    port = free_port()
    async with server(sys.executable, "aiorpcx_server.py", port=port, env={"PORT": str(port)}):
        check((await call(f"tcp://127.0.0.1:{port}", "add", "1", "2"))[:2], (0, "3\n"))
        steps = '> {"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}\n< {"id":1,"result":3}\n'
        check((await call(f"tcp://127.0.0.1:{port}", "-f", "-", stdin=steps))[0], 0)


async def jayson_over_tcp():
    async with server("node", "jayson_server.mjs", announces=True) as url:
        check((await call(url, "add", "1", "2"))[:2], (0, "3\n"))


run("sabir as a client", [
    aria2_over_http_with_its_secret,
    aria2_over_websocket_until_a_notification,
    aria2_notifications_are_followed,
    ganache_answers_calls_and_batches,
    ganache_is_called_wrongly_and_told_how,
    ganache_heads_are_followed,
    clangd_tells_what_is_under_the_cursor,
    clangd_publishes_diagnostics,
    clangd_is_ended_properly,
    pylsp_tells_what_is_under_the_cursor,
    ruff_finds_what_is_wrong,
    everything_on_stdio_by_name,
    everything_has_resources_and_prompts,
    everything_reports_progress_on_a_terminal,
    everything_is_recorded_and_served_again,
    filesystem_reads_a_file,
    memory_remembers,
    everything_explains_wrong_arguments,
    everything_over_http,
    everything_over_sse,
    language_servers_say_what_they_offer,
    aria2_without_its_secret_wants_credentials,
    python_mcp_in_both_eras_on_stdio,
    python_mcp_in_both_eras_over_http,
    python_mcp_tells_its_progress,
    python_mcp_replays_a_transcript,
    python_mcp_asks_in_vain,
    python_mcp_asks_the_person_at_the_terminal,
    vscode_jsonrpc_with_headers,
    rpc_websockets_calls_and_events,
    aiorpcx_over_tcp,
    jayson_over_tcp,
])
