// The client of the TypeScript MCP SDK against `sabir demo --mcp`, over standard input and output and over HTTP. Both
// eras.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

const ERAS = ["legacy", "modern"];
const COMMAND = [process.env.SABIR, "demo", "--mcp"];

let server, url;
before(async () => {
    const args = [...COMMAND.slice(1), "--listen", "http://127.0.0.1:0/mcp"];
    server = spawn(COMMAND[0], args, { stdio: ["ignore", "ignore", "pipe"] });
    const [said] = await once(server.stderr.setEncoding("utf8"), "data");
    url = new URL(said.trim().split(" ").at(-1));
});
after(() => server.kill());

const WAYS = {
    stdio: () => new StdioClientTransport({ command: COMMAND[0], args: COMMAND.slice(1) }),
    http: () => new StreamableHTTPClientTransport(url),
};

async function connected(era, way) {
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
    await client.connect(WAYS[way]());
    return client;
}

/** One test in both eras, on both ways. */
function everywhere(name, body) {
    for (const way of Object.keys(WAYS)) {
        for (const era of ERAS) {
            test(`mcp typescript, ${era}, ${way}: ${name}`, { timeout: 30_000 }, async () => {
                const client = await connected(era, way);
                try {
                    await body(client);
                } finally {
                    await client.close();
                }
            });
        }
    }
}

const text = result => result.content.map(part => part.text).join("");

everywhere("tools are listed and called", async client => {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.find(tool => tool.name === "add").inputSchema.required, ["a", "b"]);
    assert.equal(text(await client.callTool({ name: "add", arguments: { a: 2, b: 3 } })), "5");
    const divided = await client.callTool({ name: "divide", arguments: { dividend: 1, divisor: 4 } });
    assert.deepEqual(divided.structuredContent, { quotient: 0.25 });
    const failed = await client.callTool({ name: "test_error_handling", arguments: {} });
    assert.equal(failed.isError, true);
});

everywhere("resources and prompts are read", async client => {
    const { contents } = await client.readResource({ uri: "test://static-text" });
    assert.equal(contents[0].text, "This is the content of the static text resource.");
    const prompt = await client.getPrompt({ name: "test_simple_prompt" });
    assert.equal(prompt.messages[0].content.text, "This is a simple prompt for testing.");
});

everywhere("fifty calls at once find their answers", async client => {
    const calls = Array.from({ length: 50 }, (_, n) => client.callTool({ name: "add", arguments: { a: n, b: n } }));
    assert.deepEqual((await Promise.all(calls)).map(text), calls.map((_, n) => String(2 * n)));
});

everywhere("progress comes before the result", async client => {
    const seen = [];
    const onprogress = ({ progress }) => seen.push(progress);
    // This client forgets its callback when the answer comes in the same read, so the tool pauses in between.
    await client.callTool({ name: "test_tool_with_progress", arguments: {} }, { onprogress });
    assert.deepEqual(seen, [0, 50, 100]);
});

everywhere("a cancelled call is dropped", async client => {
    const count = async () => Number(text(await client.callTool({ name: "cancelled", arguments: {} })));
    const cancel = new AbortController();
    const before = await count();
    const onprogress = () => cancel.abort("enough");
    await assert.rejects(client.callTool({ name: "wait", arguments: {} }, { signal: cancel.signal, onprogress }));
    // Over HTTP the cancel has a connection of its own.
    while ((await count()) === before) await pause(20);
    assert.equal(await count(), before + 1);
});

everywhere("tools ask the client", async client => {
    const call = name => client.callTool({ name, arguments: {} }).then(text);
    assert.equal(await call("roots"), "a");
    assert.equal(await call("test_input_required_result_elicitation"), "Hello, Ann!");
    assert.equal(await call("test_input_required_result_multiple_inputs"), "Hello, Ann! Hi a");
});
