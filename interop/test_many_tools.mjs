// What the TypeScript SDK makes of 5,000 tools, and of schemas in every way in which servers write them. docs/mcp.md says so
// in its table of clients.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

const COUNT = 5000;
const PYTHON = ".venv/bin/python";
const PRINT_NAMES = "import many_tools; print(*many_tools.SCHEMAS)";
const NAMES = execFileSync(PYTHON, ["-c", PRINT_NAMES], { encoding: "utf8" }).trim().split(" ");

async function connected(...page) {
    const client = new Client({ name: "interop", version: "0" }, { versionNegotiation: { mode: "legacy" } });
    const args = ["many_tools.py", String(COUNT), ...page];
    await client.connect(new StdioClientTransport({ command: PYTHON, args }));
    return client;
}

test("many tools: typescript follows sixty-four pages", { timeout: 60_000 }, async () => {
    for (const page of [[], ["100"]]) {
        const client = await connected(...page);
        assert.equal((await client.listTools()).tools.length, COUNT);
        await client.close();
    }
    const client = await connected("10");
    await assert.rejects(client.listTools(), /exceeded listMaxPages \(64\)/);
    await client.close();
});

test("many tools: typescript takes every schema", { timeout: 60_000 }, async () => {
    assert.ok(NAMES.includes("ref_07") && NAMES.includes("any_of"), NAMES.join(" "));
    const client = await connected();
    await client.listTools();
    for (const name of NAMES) {
        const taken = await client.callTool({ name: `in_${name}`, arguments: { x: 1 } });
        assert.deepEqual(JSON.parse(taken.content[0].text), { x: 1 }, name);
        const result = await client.callTool({ name: `good_${name}`, arguments: {} });
        assert.deepEqual(result.structuredContent, { x: 1 }, name);
        const bad = client.callTool({ name: `bad_${name}`, arguments: {} });
        await assert.rejects(bad, /does not match the tool's output schema/, name);
    }
    await client.close();
});
