// The TypeScript MCP SDK over standard input and output: its client against `sabir demo --mcp`, and its server
// against the client of `sabir-mcp`. Both eras.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ERAS = ["legacy", "modern"];

async function connected(era) {
    const mode = era === "legacy" ? "legacy" : { pin: "2026-07-28" };
    const capabilities = { elicitation: {}, roots: {}, sampling: {} };
    const client = new Client({ name: "interop", version: "0" }, { capabilities, versionNegotiation: { mode } });
    client.setRequestHandler("elicitation/create", async () => ({
        action: "accept",
        content: { name: "Ann", color: "blue" },
    }));
    client.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///a", name: "a" }] }));
    client.setRequestHandler("sampling/createMessage", async () => ({
        role: "assistant",
        model: "parrot",
        content: { type: "text", text: "Hi" },
    }));
    await client.connect(new StdioClientTransport({ command: process.env.SABIR, args: ["demo", "--mcp"] }));
    return client;
}

/** One test in both eras. */
function both(name, body) {
    for (const era of ERAS) {
        test(`mcp typescript, ${era}: ${name}`, { timeout: 30_000 }, async () => {
            const client = await connected(era);
            try {
                await body(client, era);
            } finally {
                await client.close();
            }
        });
    }
}

const text = result => result.content.map(part => part.text).join("");

both("tools are listed and called", async client => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.find(tool => tool.name === "add").inputSchema.required, ["a", "b"]);
    assert.equal(text(await client.callTool({ name: "add", arguments: { a: 2, b: 3 } })), "5");
    const divided = await client.callTool({ name: "divide", arguments: { dividend: 1, divisor: 4 } });
    assert.deepEqual(divided.structuredContent, { quotient: 0.25 });
    const failed = await client.callTool({ name: "test_error_handling", arguments: {} });
    assert.equal(failed.isError, true);
});

both("resources and prompts are read", async client => {
    const { contents } = await client.readResource({ uri: "test://static-text" });
    assert.equal(contents[0].text, "This is the content of the static text resource.");
    const prompt = await client.getPrompt({ name: "test_simple_prompt" });
    assert.equal(prompt.messages[0].content.text, "This is a simple prompt for testing.");
});

both("fifty calls at once find their answers", async client => {
    const calls = Array.from({ length: 50 }, (_, n) => client.callTool({ name: "add", arguments: { a: n, b: n } }));
    assert.deepEqual((await Promise.all(calls)).map(text), calls.map((_, n) => String(2 * n)));
});

both("progress comes before the result", async client => {
    const seen = [];
    const onprogress = ({ progress }) => seen.push(progress);
    // This client forgets its callback when the answer comes in the same read, so the tool pauses in between.
    await client.callTool({ name: "test_tool_with_progress", arguments: {} }, { onprogress });
    assert.deepEqual(seen, [0, 50, 100]);
});

both("a cancelled call is dropped", async client => {
    const cancel = new AbortController();
    const call = client.callTool({ name: "wait", arguments: {} }, { signal: cancel.signal });
    call.catch(() => {});
    await client.callTool({ name: "cancelled", arguments: {} });
    cancel.abort("enough");
    await assert.rejects(call);
    assert.equal(text(await client.callTool({ name: "cancelled", arguments: {} })), "1");
});

both("tools ask the client", async client => {
    const call = name => client.callTool({ name, arguments: {} }).then(text);
    assert.equal(await call("roots"), "a");
    assert.equal(await call("test_input_required_result_elicitation"), "Hello, Ann!");
    assert.equal(await call("test_input_required_result_multiple_inputs"), "Hello, Ann! Hi a");
});

function visit(script, revision) {
    const env = { ...process.env, ...(revision ? { REVISION: revision } : {}) };
    const server = fileURLToPath(new URL("mcp_server.mjs", import.meta.url));
    const visitor = spawn(process.env.MCP_VISIT, [process.execPath, server], { env, stdio: ["pipe", "pipe", "inherit"] });
    visitor.stdin.end(script);
    let said = "";
    visitor.stdout.on("data", bytes => (said += bytes));
    return new Promise(done => visitor.on("close", code => done([code, ...said.trimEnd().split("\n")])));
}

for (const [revision, agreed] of [[undefined, "2026-07-28"], ["2025-11-25", "2025-11-25"]]) {
    test(`mcp typescript: our client speaks ${agreed} to the SDK's server`, { timeout: 30_000 }, async () => {
        const script = 'add {"a": 2, "b": 3}\n50 add {"a": 1, "b": 1}\n';
        const said = await visit(script, revision);
        assert.deepEqual(said.slice(0, 6), [0, `revision: ${agreed}`, "server: typescript", "tools: add", "1 add: 5", "50 add: 2"]);
    });
}
