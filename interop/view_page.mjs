// `sabir view` and its page in Chromium, for tests, measurements and pictures.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

export const launch = (args = []) =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", ...args],
  });

/** A folder that is removed when the process ends. */
export function folder() {
  const made = mkdtempSync(join(tmpdir(), "sabir-view-"));
  process.on("exit", () => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** What `check` gives once it no longer throws: a page draws when it has heard, which is later than what was clicked. */
export async function eventually(check, deadline = Date.now() + 15_000) {
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await new Promise((done) => setTimeout(done, 50));
  }
}

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** Starts the program, and gives the first address that it prints and a way to end it. */
export async function start(args, { env = {}, input = "ignore", pattern = /http:\/\/\S+#t=\w+/ } = {}) {
  const child = spawn(process.env.SABIR, args, { stdio: [input, "pipe", "pipe"], env: { ...process.env, ...env } });
  running.add(child);
  child.once("exit", () => running.delete(child));
  let said = "";
  const url = await new Promise((done, failed) => {
    const hear = (text) => {
      said += text;
      const found = said.match(pattern);
      if (found) done(found[0]);
    };
    child.stdout.setEncoding("utf8").on("data", hear);
    child.stderr.setEncoding("utf8").on("data", hear);
    child.once("exit", (code) => failed(new Error(`sabir ended with ${code}: ${said}`)));
  });
  const stop = async (signal = "SIGINT") => {
    if (child.exitCode !== null || child.signalCode !== null) return [child.exitCode, child.signalCode];
    const ended = once(child, "exit");
    child.kill(signal);
    return ended;
  };
  return { url, child, stop, said: () => said };
}

/** The page, once its rows are there. `prepare` is called with the context before it is opened. */
export async function open(browser, url, { prepare, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 800 }, acceptDownloads: true, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  // To work on the page without building the program: its files from a folder.
  const files = process.env.VIEW_FILES;
  if (files) {
    await context.route(/\/(\w+\.(js|css))?(#.*)?$/, async (route) => {
      const path = new URL(route.request().url()).pathname;
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: readFileSync(join(files, path === "/" ? "index.html" : path)) });
    });
  }
  await prepare?.(context);
  const page = await context.newPage();
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") page.problems.push(message.text());
  });
  await page.goto(url);
  await page.waitForFunction(() => !/connecting/.test(document.getElementById("state").textContent));
  return page;
}
