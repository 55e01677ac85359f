// The program under test, left running while a test talks to it.

import { spawn } from "node:child_process";
import { once } from "node:events";

/** `sabir demo` on a free port: calls `use` with its address, and must end well when it is told to. */
export async function withDemo(args, use, scheme = "tcp") {
  const demo = spawn(process.env.SABIR, ["demo", "--listen", `${scheme}://127.0.0.1:0`, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(demo, "exit");
  try {
    const [line] = await once(demo.stderr.setEncoding("utf8"), "data");
    await use(line.trim().split("://")[1]);
    demo.kill("SIGTERM");
    const [code] = await ended;
    if (code !== 0) throw new Error(`sabir demo ended with ${code}`);
  } finally {
    demo.kill("SIGKILL");
  }
}
