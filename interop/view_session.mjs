// A real session for the page of `sabir view`: the TypeScript SDK's client and a server of MCP, with `sabir tap` in between.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

/**
 * Talks to a server through `sabir tap` with these options. `more` goes on with the connected client.
 * @param {string[]} options
 * @param {string[]} command
 * @param {(client: Client) => Promise<void>=} more
 * @param {Record<string, string>=} env
 */
export async function session(options, command, more, env) {
  const transport = new StdioClientTransport({
    command: process.env.SABIR,
    args: ["tap", ...options, "--", ...command],
    env: { ...process.env, ...env },
    stderr: "ignore",
  });
  const capabilities = { elicitation: {}, roots: {}, sampling: {} };
  const mode = "legacy";
  const client = new Client({ name: "editor", version: "1" }, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///project", name: "project" }] }));
  client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ann", color: "blue" } }));
  client.setRequestHandler("sampling/createMessage", async () => ({
    role: "assistant",
    model: "parrot",
    content: { type: "text", text: "Hi" },
  }));
  await client.connect(transport);
  try {
    await client.listTools();
    await client.listPrompts();
    await client.listResources();
    await more?.(client);
  } finally {
    await client.close();
  }
}

/** Calls of tools of `sabir demo --mcp`, some of which fail. */
export async function toolCalls(client) {
  const call = (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, options).catch(() => {});
  for (let round = 1; round <= 12; round += 1) {
    await call("add", { a: round, b: 3 });
    if (round % 3 === 0) await call("divide", { dividend: 1, divisor: 0 });
    await Promise.all([call("test_simple_text"), call("count", { steps: round % 4 })]);
  }
  await call("test_tool_with_progress", {}, { onprogress() {} });
  await call("test_tool_with_logging");
  await call("test_error_handling");
  await call("no_such_tool");
  await call("test_sampling", { prompt: "Say hi" });
  await call("test_elicitation", { message: "Who are you?" });
  await call("add", { a: "<img src=x onerror=\"window.hacked=1\">", b: 1 });
  await client.readResource({ uri: "test://static-text" }).catch(() => {});
  await client.getPrompt({ name: "test_simple_prompt" }).catch(() => {});
  await client.complete?.({ ref: { type: "ref/prompt", name: "x" }, argument: { name: "a", value: "" } }).catch(() => {});
}
