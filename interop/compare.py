"""Measures `sabir` beside other programs on the same tasks, for docs/comparison.md: keystrokes, and the median of the time
until the command ends. The programs must be on the path: curl, jq, http (httpie), wscat, mcp-inspector, fastmcp.

    SABIR=sabir .venv/bin/python compare.py
"""

import os
import shutil
import statistics
import subprocess
import sys
import time

SABIR = os.environ.get("SABIR", "sabir")
ROUNDS = int(os.environ.get("ROUNDS", "7"))
EVERYTHING = "node node_modules/@modelcontextprotocol/server-everything/dist/index.js stdio"
CALL = '{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}'

TASKS = {
    "call a method over HTTP": {
        "sabir": "sabir call http://127.0.0.1:4980 add 2 3",
        "curl and jq": f"curl -s http://127.0.0.1:4980 -H 'content-type: application/json' -d '{CALL}' | jq .result",
        "httpie and jq": "http :4980 jsonrpc=2.0 id:=1 method=add params:='[2,3]' --ignore-stdin | jq .result",
    },
    "call a method over WebSocket": {
        "sabir": "sabir call ws://127.0.0.1:4980 add 2 3",
        "wscat": f"wscat -c ws://127.0.0.1:4980 -w 0 -x '{CALL}'",
    },
    "list what an MCP server offers": {
        "sabir": f"sabir list -- {EVERYTHING}",
        "MCP Inspector": f"mcp-inspector --cli {EVERYTHING} --method tools/list",
        "fastmcp": f"fastmcp list --resources --prompts --command '{EVERYTHING}'",
    },
    "call a tool of an MCP server": {
        "sabir": f"sabir call get-sum a=2 b=3 -- {EVERYTHING}",
        "MCP Inspector": f"mcp-inspector --cli {EVERYTHING} --method tools/call --tool-name get-sum --tool-arg a=2 b=3",
        "fastmcp": f"fastmcp call --command '{EVERYTHING}' --target get-sum --input-json '{{\"a\":2,\"b\":3}}'",
    },
}


def main():
    demo = subprocess.Popen([SABIR, "demo", "--listen", "tcp://127.0.0.1:4980"], stderr=subprocess.PIPE)
    demo.stderr.readline()
    try:
        print("| task | program | keystrokes | time |\n|---|---|---|---|")
        for task, commands in TASKS.items():
            for program, command in commands.items():
                print(f"| {task} | {program} | {keystrokes(command)} | {measured(command)} |", flush=True)
    finally:
        demo.terminate()


def keystrokes(command):
    """The server's own command, which is the same for all, is not counted."""
    return len(command.replace(EVERYTHING, ""))


def measured(command):
    name = command.split()[0]
    if name != "sabir" and shutil.which(name) is None:
        return "not installed"
    shell = command.replace("sabir ", SABIR + " ", 1) if name == "sabir" else command
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        done = subprocess.run(["sh", "-c", shell], capture_output=True, stdin=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
        if done.returncode != 0:
            return f"fails ({done.returncode}): {done.stderr.decode().strip().splitlines()[-1:]}"
    return f"{statistics.median(times) * 1000:.0f} ms"


sys.exit(main())
