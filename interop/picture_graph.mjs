// Makes the pictures of docs/model.md from a real session: the TypeScript SDK's client and the reference server of MCP.
//
// Run with: SABIR=../target/debug/sabir node picture_graph.mjs [CAPTURE]; with a name, the capture stays there.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { session } from "./view_session.mjs";

process.env.SABIR = resolve(process.env.SABIR);
const folder = mkdtempSync(join(tmpdir(), "sabir-graph-"));
const capture = resolve(process.argv[2] ?? join(folder, "everything.jrl"));
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

try {
  await session(["--record", capture], ["node", server, "stdio"], calls);
  for (const what of ["calls", "sequence"]) {
    const svg = execFileSync(process.env.SABIR, ["graph", capture, "--svg", what]);
    writeFileSync(resolve(import.meta.dirname, `../docs/images/graph-${what}.svg`), svg);
  }
} finally {
  rmSync(folder, { recursive: true });
}
