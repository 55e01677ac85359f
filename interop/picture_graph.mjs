// Makes the picture of docs/model.md from a real session: the TypeScript SDK's client and `sabir demo --mcp`.
//
// Run with: SABIR=../target/debug/sabir node picture_graph.mjs

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { folder } from "./view_page.mjs";
import { session, toolCalls } from "./view_session.mjs";

process.env.SABIR = resolve(process.env.SABIR);
process.env.PATH = `${dirname(process.env.SABIR)}${delimiter}${process.env.PATH}`;
const capture = join(folder(), "session.jrl");
await session(["--record", capture], ["sabir", "demo", "--mcp"], toolCalls);
const svg = execFileSync(process.env.SABIR, ["graph", capture, "--svg", "calls"]);
writeFileSync(resolve(import.meta.dirname, "../docs/images/graph-calls.svg"), svg);
