// Measures the page of `sabir view` in Chromium: a capture of a million rows, and a tap under load.
//
// Run with: SABIR=target/dist/sabir node measure_view.mjs

import { createWriteStream, statSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { folder, launch, open, start } from "./view_page.mjs";

const ROWS = Number(process.env.ROWS ?? 1_000_000);
const METHODS = ["tools/call", "resources/read", "textDocument/hover", "eth_call", "ping", "tools/list"];
const here = folder();

/** A capture of so many rows: calls with answers, errors and notifications. */
async function generated(path) {
  const out = createWriteStream(path);
  let text = '{"jrl":1,"at":"2026-11-15T12:00:00.000Z","tool":"measure","transport":"stdio","profile":"jsonrpc","cmd":["server"]}\n';
  let n = 0;
  const line = (d, k, rest, message) => {
    n += 1;
    const msg = JSON.stringify(message);
    text += `{"n":${n},"t":${n * 100_000},"d":"${d}","c":1,"k":"${k}"${rest},"b":${msg.length},"msg":${msg}}\n`;
  };
  for (let row = 0; row < ROWS; row += 1) {
    const method = METHODS[row % 7] ?? "log";
    if (row % 7 === 6) line(">", "note", ',"m":"log"', { jsonrpc: "2.0", method, params: { text: `row ${row}` } });
    else {
      const params = method === "tools/call" ? { name: `tool${row % 20}`, arguments: { q: `query ${row}` } } : { path: `/a/${row}`, deep: { list: [row, row + 1] } };
      line(">", "req", `,"id":${row},"m":"${method}"`, { jsonrpc: "2.0", id: row, method, params });
      if (row % 50 === 0) line("<", "err", `,"id":${row},"m":"${method}","ms":0.1`, { jsonrpc: "2.0", id: row, error: { code: -32602, message: "no" } });
      else line("<", "res", `,"id":${row},"m":"${method}","ms":0.1`, { jsonrpc: "2.0", id: row, result: { text: `answer ${row}`.repeat(4) } });
    }
    if (text.length > 1 << 20) {
      if (!out.write(text)) await once(out, "drain");
      text = "";
    }
  }
  out.end(text);
  await once(out, "finish");
  return n;
}

const ms = (from) => `${Math.round(performance.now() - from)} ms`;
const told = (name, value) => console.log(`${name.padEnd(44)} ${value}`);

async function million(browser) {
  const path = join(here, "million.jrl");
  const records = await generated(path);
  told("capture", `${ROWS} rows, ${records} records, ${Math.round(statSync(path).size / 1e6)} MB`);
  const began = performance.now();
  const view = await start(["view", path]);
  const context = await browser.newContext({ viewport: { width: 1400, height: 800 } });
  const page = await context.newPage();
  await page.goto(view.url);
  await page.waitForSelector("#grid .row.req", { polling: 10 });
  told("first rows, from the start of the program", ms(began));
  await page.waitForFunction((rows) => Number(document.getElementById("matches").textContent.replace(/\D/g, "")) >= rows, ROWS, { timeout: 600_000 });
  told("all rows read", ms(began));
  // Any place of the scroll bar: until the rows of that place are there.
  const worst = [];
  for (let n = 0; n < 40; n += 1) {
    worst.push(await page.evaluate(async (part) => {
      const pane = document.querySelector("#grid .pane");
      const from = performance.now();
      pane.scrollTop = Math.round((pane.scrollHeight - pane.clientHeight) * part);
      await new Promise((done) => {
        const look = () => (document.querySelector("#grid .row.loading") || Math.abs(Number(document.querySelector("#grid .row").dataset.place) / Number(document.getElementById("grid").ariaRowCount) - part) > 0.01 ? requestAnimationFrame(look) : done());
        requestAnimationFrame(look);
      });
      return performance.now() - from;
    }, (n * 0.618) % 1));
  }
  worst.sort((a, b) => a - b);
  told("scroll to any place, median and worst of 40", `${Math.round(worst[20])} ms, ${Math.round(worst[39])} ms`);
  for (const text of ["method:eth_call", "status:error", "tool:tool7", "$.params.deep.list[0]=777777", '"answer 999999"']) {
    await page.fill("#filter", "");
    await page.press("#filter", "Enter");
    await page.waitForFunction(() => /rows/.test(document.getElementById("matches").textContent));
    const from = performance.now();
    await page.fill("#filter", text);
    await page.press("#filter", "Enter");
    await page.waitForFunction(() => / of /.test(document.getElementById("matches").textContent) && document.getElementById("scan").hidden && document.querySelector("#grid .row:not(.loading)"), undefined, { polling: 10, timeout: 120_000 });
    told(`filter ${text}`, `${ms(from)}, ${await page.textContent("#matches")}`);
  }
  const session = await context.newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  told("heap of the page", `${(usedSize / 1e6).toFixed(1)} MB`);
  await memory(browser);
  await view.stop();
  await context.close();
}

/**
 * The memory of the processes that draw pages: what is theirs alone, their share of what several have mapped, and all that is
 * resident, most of which is the browser itself.
 */
async function memory(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const { readFileSync } = await import("node:fs");
  for (const { type, id } of processInfo.filter((one) => one.type === "renderer")) {
    const field = (file, name) => Math.round(Number(readFileSync(`/proc/${id}/${file}`, "utf8").match(new RegExp(`^${name}:\\s+(\\d+)`, "m"))?.[1] ?? 0) / 1000);
    told(`${type} process, own / share / resident`, `${field("status", "RssAnon")} / ${field("smaps_rollup", "Pss")} / ${field("status", "VmRSS")} MB`);
  }
}

async function live(browser) {
  const tap = await start(["tap", "--view", "--", "cat"], { input: "pipe", env: { XDG_STATE_HOME: here } });
  const page = await open(browser, tap.url);
  tap.child.stdout.resume();
  const [rate, seconds] = [5000, 10];
  const from = performance.now();
  let sent = 0;
  while (sent < rate * seconds) {
    const due = Math.min(rate * seconds, Math.floor(((performance.now() - from) / 1000) * rate));
    let text = "";
    for (; sent < due; sent += 1) text += `{"jsonrpc":"2.0","method":"tick","params":{"n":${sent}}}\n`;
    if (text && !tap.child.stdin.write(text)) await once(tap.child.stdin, "drain");
    await new Promise((done) => setTimeout(done, 2));
  }
  // Each is seen twice: on its way to the command, and back.
  const want = 2 * sent + 2;
  await page.waitForFunction((want) => Number(document.getElementById("matches").textContent.replace(/\D/g, "")) >= want, want, { timeout: 60_000 });
  told(`${sent} messages, ${rate} a second, and back`, `${await page.textContent("#matches")} of ${want}, ${ms(from)}`);
  const gaps = await page.evaluate(() => document.querySelectorAll("#grid .row.gap").length);
  told("gaps on the last screen", gaps);
  await tap.stop("SIGTERM");
  await page.context().close();
}

const browser = await launch();
const what = process.argv[2];
const blank = await (await browser.newContext()).newPage();
await blank.goto("about:blank");
told("a blank page", "");
await memory(browser);
await blank.context().close();
if (what !== "live") await million(browser);
if (what !== "million") await live(browser);
await browser.close();
