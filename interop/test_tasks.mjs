// Tasks of npm's `@modelcontextprotocol/ext-tasks` against `sabir demo --mcp`: the same calls by both designs. Its requests
// of 2026-07-28 go over HTTP as they are, since the SDK's client refuses them.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, test } from "node:test";

const COMMAND = [process.env.SABIR, "demo", "--mcp"];
const EXTENSION = "io.modelcontextprotocol/tasks";
const INFO = { name: "interop", version: "0" };

let server, url;
before(async () => {
    server = spawn(COMMAND[0], [...COMMAND.slice(1), "--listen", "http://127.0.0.1:0/mcp"], {
        stdio: ["ignore", "ignore", "pipe"],
    });
    const [said] = await once(server.stderr.setEncoding("utf8"), "data");
    url = new URL(said.trim().split(" ").at(-1));
});
after(() => server.kill());

async function drive(session, failing) {
    const settled = async (tool, args) => {
        const execution = await session.callTool(tool, args, { task: { preference: "prefer" } });
        const { outcome } = await execution.settle();
        return resultFromTaskOutcome(outcome);
    };
    const slow = await settled("slow_compute", { seconds: 1, label: "sum" });
    assert.equal(slow.content[0].text, "sum took 1 s");
    const plain = await settled("greet", { name: "Ann" });
    assert.equal(plain.content[0].text, "Hello, Ann!");
    await failing(settled("failing_job", {}));
    return settled;
}

test("ext-tasks, 2025-11-25, stdio", async () => {
    const client = new Client(INFO, { capabilities: { elicitation: {} }, versionNegotiation: { mode: "legacy" } });
    await client.connect(new StdioClientTransport({ command: COMMAND[0], args: COMMAND.slice(1) }));
    const session = createTaskSessionFromClient(client, { endpointId: "demo" });
    try {
        // What a tool could not do is a failed task here.
        await drive(session, (failed) => assert.rejects(failed, { name: "TaskFailedError" }));
    } finally {
        await session.close();
        await client.close();
    }
});

test("ext-tasks, 2026-07-28, http", async () => {
    const capabilities = { elicitation: {}, extensions: { [EXTENSION]: {} } };
    const mode = { pin: "2026-07-28" };
    const client = new Client(INFO, { capabilities, versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(url));
    let last = 0;
    const rawDispatch = async (request) => {
        const name = request.params.taskId ?? request.params.name;
        const answer = await fetch(url, {
            method: "POST",
            headers: {
                "Content-Type": "application/json",
                Accept: "application/json, text/event-stream",
                "MCP-Protocol-Version": "2026-07-28",
                "Mcp-Method": request.method,
                ...(name === undefined ? {} : { "Mcp-Name": name }),
            },
            body: JSON.stringify({ jsonrpc: "2.0", id: ++last, ...request }),
        });
        const { result, error } = await answer.json();
        return error === undefined ? { kind: "result", result } : { kind: "error", error };
    };
    // In 2025-11-25 it answers no task: it waits until the task has ended before it asks for the result.
    const questions = [];
    const onInputRequest = async ({ kind, params }) => {
        assert.equal(kind, "elicitation");
        questions.push(params.message);
        const content = params.message === "What is your name?" ? { name: "Ann" } : { confirm: true };
        return { action: "accept", content };
    };
    const v2RequestFraming = { protocolVersion: "2026-07-28", clientInfo: INFO, clientCapabilities: capabilities };
    const session = createTaskSessionFromClient(client, {
        endpointId: "demo",
        onInputRequest,
        rawDispatch,
        v2RequestFraming,
    });
    try {
        const settled = await drive(session, async (failed) => assert.equal((await failed).isError, true));
        // It asks while it runs, both things at once.
        const asked = await settled("multi_input", {});
        assert.equal(asked.content[0].text, "Hello, Ann!");
        assert.deepEqual(questions.sort(), ["Shall it be greeted?", "What is your name?"]);
    } finally {
        await session.close();
        await client.close();
    }
});
