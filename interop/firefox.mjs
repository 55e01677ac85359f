// Debian's Firefox, driven by WebDriver BiDi: Playwright's own protocol needs a Firefox that was built for it.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Starts it without a window, and opens a page: `evaluate` gives the value of an expression in it, `type` presses keys. */
export async function firefox(url) {
  const profile = mkdtempSync(join(tmpdir(), "sabir-firefox-"));
  const program = process.env.FIREFOX ?? "/usr/bin/firefox-esr";
  const child = spawn(program, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"], { stdio: ["ignore", "ignore", "pipe"] });
  const end = () => {
    child.kill("SIGKILL");
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  };
  process.once("exit", end);
  const address = await new Promise((done, failed) => {
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
      const found = said.match(/ws:\/\/\S+/);
      if (found) done(found[0]);
    });
    child.once("exit", (code) => failed(new Error(`firefox ended with ${code}: ${said}`)));
  });
  const socket = new WebSocket(`${address}/session`);
  await new Promise((done, failed) => Object.assign(socket, { onopen: done, onerror: failed }));
  const open = new Map();
  socket.onmessage = ({ data }) => {
    const answer = JSON.parse(data);
    const [done, failed] = open.get(answer.id) ?? [];
    open.delete(answer.id);
    if (answer.type === "error") failed?.(new Error(`${answer.error}: ${answer.message}`));
    else done?.(answer.result);
  };
  let last = 0;
  const call = (method, params) =>
    new Promise((done, failed) => {
      open.set(++last, [done, failed]);
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  await call("session.new", { capabilities: {} });
  const { context } = await call("browsingContext.create", { type: "tab" });
  await call("browsingContext.navigate", { context, url, wait: "complete" });
  return {
    async evaluate(expression) {
      const { result, exceptionDetails } = await call("script.evaluate", { expression, target: { context }, awaitPromise: true });
      if (exceptionDetails) throw new Error(exceptionDetails.text);
      return result.value;
    },
    type: (keys) => call("input.performActions", { context, actions: [{ type: "key", id: "keys", actions: [...keys].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]) }] }),
    end() {
      process.removeListener("exit", end);
      socket.close();
      end();
    },
  };
}
