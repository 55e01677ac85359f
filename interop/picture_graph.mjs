// Records the session of docs/model.md: the TypeScript SDK's client and the reference server of MCP. The capture is
// crates/cli/tests/data/everything.jrl, by which a test compares the page and its pictures.
//
// Run with: SABIR=../target/debug/sabir node picture_graph.mjs
// and then: UPDATE=1 cargo test -p sabir-cli --test documents

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { session } from "./view_session.mjs";

process.env.SABIR = resolve(process.env.SABIR);
const folder = mkdtempSync(join(tmpdir(), "sabir-graph-"));
const capture = join(folder, "everything.jrl");
const kept = resolve(import.meta.dirname, "../crates/cli/tests/data/everything.jrl");
const server = fileURLToPath(new URL("node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url));

/** What the page asks about: calls that go well, one with progress, two with questions, one that fails. */
async function calls(client) {
  const call = (name, args = {}, options = {}) => client.callTool({ name, arguments: args }, options).catch(() => {});
  await call("echo", { message: "hello" });
  await call("get-sum", { a: 2, b: 3 });
  await call("get-sum", { a: "two", b: 3 });
  await call("trigger-long-running-operation", { duration: 1, steps: 2 }, { onprogress() {} });
  await call("trigger-sampling-request", { prompt: "Say hi" });
  await call("trigger-elicitation-request");
  await call("no-such-tool");
  await client.readResource({ uri: "demo://resource/static/document/features.md" }).catch(() => {});
}

/** Without the long texts of the server, which are not ours, and without the paths of this machine. */
function shortened(key, value) {
  if (key === "cmd") return ["npx", "mcp-server-everything", "stdio"];
  if (key === "raw") return value.startsWith("node ") ? "npx mcp-server-everything stdio" : value;
  if (typeof value !== "string") return value;
  if (["description", "instructions", "title"].includes(key)) return undefined;
  return value.length > 120 ? `${value.slice(0, 60)}…` : value;
}

try {
  await session(["--record", capture], ["node", server, "stdio"], calls);
  const lines = readFileSync(capture, "utf8").trimEnd().split("\n");
  writeFileSync(kept, `${lines.map((line) => JSON.stringify(JSON.parse(line, shortened))).join("\n")}\n`);
} finally {
  rmSync(folder, { recursive: true });
}
