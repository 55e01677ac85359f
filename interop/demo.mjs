// The program under test, left running while a test talks to it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** `sabir demo` on a free port: calls `use` with its address, and must end well when it is told to. */
export function withDemo(args, use, scheme = "tcp") {
  return withServer(process.env.SABIR, ["demo", "--listen", `${scheme}://127.0.0.1:0`, ...args], use);
}

/** The proxy of the examples, with a `sabir demo` for each client. */
export function withProxy(args, use, scheme = "tcp") {
  return withServer(process.env.PROXY, [`${scheme}://127.0.0.1:0`, process.env.SABIR, "demo", ...args], use);
}

/** A server that says on standard error where it listens. */
async function withServer(program, args, use) {
  const server = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(server, "exit");
  try {
    const [line] = await once(createInterface({ input: server.stderr }), "line");
    await use(line.split("://")[1]);
    server.kill("SIGTERM");
    const [code] = await ended;
    if (code !== 0) throw new Error(`${[program, ...args].join(" ")} ended with ${code}`);
  } finally {
    server.kill("SIGKILL");
  }
}
