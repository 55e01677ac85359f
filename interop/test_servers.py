"""`sabir call` against servers that others wrote, each started for one call."""

import json

from program import call
from tap import check, run

EVERYTHING = "stdio:node node_modules/@modelcontextprotocol/server-everything/dist/index.js stdio"
CLANGD = ["--framing", "headers", "stdio:clangd --log=error"]
NOTHING = ["processId:=null", "rootUri:=null", "capabilities:={}"]


async def clangd_initializes():
    code, out, err = await call(*CLANGD, "initialize", *NOTHING)
    check(code, 0)
    result = json.loads(out)
    check(result["serverInfo"]["name"], "clangd")
    check(result["capabilities"]["hoverProvider"], True)


async def clangd_refuses_before_it_is_initialized():
    code, out, err = await call(*CLANGD, "textDocument/hover", "--as", "plain")
    check((code, out), (1, ""))
    assert "-32002" in err, err


async def clangd_does_not_understand_lines():
    code, out, err = await call("--timeout", "1s", "--framing", "lines", "stdio:clangd --log=error", "initialize", *NOTHING)
    check((code, out), (4, ""))


async def clangd_dies_of_a_batch_and_both_calls_end():
    batch = '[{"id":1,"method":"initialize","params":{"capabilities":{}}},{"id":2,"method":"shutdown"}]'
    code, out, err = await call(*CLANGD, "--batch", "-", stdin=batch)
    check((code, out), (5, ""))


async def server_everything_initializes():
    code, out, _ = await call(
        EVERYTHING, "initialize", "protocolVersion=2025-11-25", "capabilities:={}",
        'clientInfo:={"name":"sabir","version":"0"}',
    )
    check(code, 0)
    result = json.loads(out)
    check(result["protocolVersion"], "2025-11-25")
    assert "tools" in result["capabilities"], result


async def server_everything_calls_a_tool():
    params = {"name": "get-sum", "arguments": {"a": 2, "b": 3}}
    code, out, _ = await call(EVERYTHING, "tools/call", "-d", json.dumps(params))
    check(code, 0)
    assert "5" in json.loads(out)["content"][0]["text"], out


async def server_everything_reports_progress():
    code, out, _ = await call(
        EVERYTHING, "--progress", "--json", "tools/call", "name=trigger-long-running-operation",
        'arguments:={"duration":0.4,"steps":4}',
    )
    check(code, 0)
    *told, last = [json.loads(line) for line in out.splitlines()]
    progress = [event["progress"] for event in told if "progress" in event]
    check([(step["progress"], step["total"]) for step in progress], [(n, 4) for n in range(1, 5)])
    check(last["ok"], True)


async def server_everything_refuses_an_unknown_method():
    code, out, err = await call(EVERYTHING, "foobar", "--as", "plain")
    check((code, out), (1, ""))
    assert "-32601" in err, err


async def node_finishes_what_it_has_to_send():
    code, out, err = await call("--framing", "headers", "stdio:node stdio_server.mjs", "add", "1", "2")
    check((code, out, err), (0, "3\n", "finished\n"))
    code, out, err = await call("--framing", "headers", "stdio:node stdio_server.mjs", "unknown", "--json")
    check((code, err), (1, "finished\n"))
    check(json.loads(out)["error"]["code"], -32601)


run("sabir call", [
    clangd_initializes,
    clangd_refuses_before_it_is_initialized,
    clangd_does_not_understand_lines,
    clangd_dies_of_a_batch_and_both_calls_end,
    server_everything_initializes,
    server_everything_calls_a_tool,
    server_everything_reports_progress,
    server_everything_refuses_an_unknown_method,
    node_finishes_what_it_has_to_send,
])
