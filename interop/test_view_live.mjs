// What `sabir view` and `sabir tap --view` serve while traffic goes by, and to whom.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, folder, open, start } from "./view_page.mjs";
import { SABIR, T, browser, capture, here, json, view } from "./view_setup.mjs";

test("view: a live tap: rows come, calls are settled in place, and nothing moves that is looked at", T, async () => {
  const tap = await start(["tap", "--view", "--", SABIR, "demo"], { input: "pipe", env: { XDG_STATE_HOME: here } });
  const page = await open(browser, tap.url);
  try {
    const answers = createInterface(tap.child.stdout);
    let id = 0;
    const send = (method, params) => tap.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: (id += 1), method, params })}\n`);
    send("sleep", { ms: 1500 });
    await page.waitForSelector("#grid .row.pending");
    await eventually(async () => assert.match(await page.textContent("#grid .row.pending"), /… pending/));
    await page.waitForSelector("#grid .row.req:not(.pending)");
    await eventually(async () => assert.match(await page.textContent("#grid .row.req"), /✓ ok1\.\d+ s/));
    assert.equal((await page.$$("#grid .row.req")).length, 1);
    // It follows.
    for (let n = 0; n < 200; n += 1) send("add", [n, 1]);
    await page.waitForFunction(() => /\[199,1\]/.test(document.querySelector("#grid .body").textContent));
    // Whoever looks at a row keeps it where it is.
    await page.focus("#grid");
    await page.keyboard.press("Home");
    for (let n = 0; n < 5; n += 1) await page.keyboard.press("j");
    await page.waitForTimeout(200);
    const place = () => page.$eval("#grid [aria-selected=true]", (row) => [row.textContent.slice(0, 3), row.getBoundingClientRect().y]);
    const was = await place();
    for (let n = 0; n < 300; n += 1) send("add", [n, 2]);
    await page.waitForSelector("#more:not([hidden])");
    await page.waitForFunction(() => /↓ 3\d\d new/.test(document.getElementById("more").textContent));
    assert.deepEqual(await place(), was);
    await page.click("#more");
    await page.waitForFunction(() => /\[299,2\]/.test(document.querySelector("#grid .body").textContent));
    // Paused, nothing is added; what came meanwhile comes afterwards.
    await page.keyboard.press("p");
    await page.waitForFunction(() => /paused/.test(document.getElementById("state").textContent));
    for (let n = 0; n < 50; n += 1) send("add", [n, 3]);
    await page.waitForFunction(() => /↓ 5\d new/.test(document.getElementById("more").textContent));
    assert.doesNotMatch(await page.textContent("#grid .body"), /,3\]/);
    // Nor does a filter bring it.
    await page.fill("#filter", "method:add");
    await page.waitForFunction(() => / of /.test(document.getElementById("matches").textContent) && document.getElementById("scan").hidden);
    assert.doesNotMatch(await page.textContent("#grid .body"), /,3\]/);
    await eventually(async () => assert.match(await page.textContent("#matches"), /^500 of 50\d$/));
    await page.fill("#filter", "");
    await page.press("#filter", "Enter");
    await page.waitForFunction(() => / rows/.test(document.getElementById("matches").textContent));
    await page.keyboard.press("End");
    await page.keyboard.press("p");
    await page.waitForFunction(() => /\[49,3\]/.test(document.querySelector("#grid .body").textContent));
    // A filter whose rows leave it again.
    await page.fill("#filter", "status:pending");
    await page.waitForFunction(() => / of /.test(document.getElementById("matches").textContent) && document.getElementById("scan").hidden);
    await page.waitForTimeout(300);
    const pending = parseInt(await page.textContent("#matches"), 10);
    const until = (count) => page.waitForFunction((count) => parseInt(document.getElementById("matches").textContent, 10) === count, count);
    send("sleep", { ms: 800 });
    await until(pending + 1);
    await until(pending);
    await page.fill("#filter", "");
    await page.press("#filter", "Enter");
    await page.waitForFunction(() => / rows/.test(document.getElementById("matches").textContent));
    await page.focus("#grid");
    await page.keyboard.press("End");
    // The last row says how the command has ended.
    const started = execFileSync("ps", ["-o", "pid=", "--ppid", String(tap.child.pid)], { encoding: "utf8" });
    const pid = Number(started.trim());
    assert.ok(pid > 1, started);
    process.kill(pid, "SIGKILL");
    await page.waitForFunction(() => /killed by SIGKILL/.test(document.querySelector("#grid .body").textContent));
    answers.close();
  } finally {
    await tap.stop("SIGKILL");
    await page.context().close();
  }
});

test("view: rows that came while it was paused are not new once they are in sight", T, async () => {
  const tap = await start(["tap", "--view", "--", SABIR, "demo"], { input: "pipe", env: { XDG_STATE_HOME: here } });
  const page = await open(browser, tap.url);
  try {
    const send = (id) => tap.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method: "add", params: [id, 1] })}\n`);
    send(1);
    await page.waitForSelector("#grid .row.req");
    await page.focus("#grid");
    await page.keyboard.press("Home");
    await page.keyboard.press("p");
    await page.waitForFunction(() => /paused/.test(document.getElementById("state").textContent));
    send(2);
    await page.waitForFunction(() => /↓ 1 new/.test(document.getElementById("more").textContent));
    await page.keyboard.press("p");
    await page.waitForFunction(() => /\[2,1\]/.test(document.querySelector("#grid .body").textContent));
    await eventually(async () => assert.equal(await page.isVisible("#more"), false));
  } finally {
    await page.context().close();
    await tap.stop();
  }
});

test("view: the page of a tap stays when its session ends, until it is closed", T, async () => {
  const env = { XDG_STATE_HOME: folder() };
  const taps = join(env.XDG_STATE_HOME, "sabir", "taps");
  const tap = await start(["tap", "--view", "--", "sh", "-c", `${SABIR} demo; exit 7`], { input: "pipe", env });
  const page = await open(browser, tap.url);
  try {
    for (let id = 1; id <= 300; id += 1) tap.child.stdin.write(`{"jsonrpc":"2.0","id":${id},"method":"add","params":[${id},1]}\n`);
    await page.fill("#filter", "method:add");
    await page.waitForFunction(() => /^300 of/.test(document.getElementById("matches").textContent));
    tap.child.stdin.end();
    const [code] = await once(tap.child, "exit");
    assert.equal(code, 7);
    await page.waitForFunction(() => /ended: code 7/.test(document.getElementById("state").textContent));
    // Another process answers by now: rows that the page does not have, the filter, statistics.
    await page.waitForFunction(() => /^300 of/.test(document.getElementById("matches").textContent));
    await page.focus("#grid");
    await page.keyboard.press("Home");
    await page.click("#grid .body .row:has-text('[1,1]')");
    await page.waitForFunction(() => /"id": 1,/.test(document.getElementById("detail").textContent));
    await page.click("#tab-stats");
    await page.waitForFunction(() => /add/.test(document.querySelector("#tables tbody")?.textContent ?? ""));
    assert.ok(await page.isHidden("#notice"));
    assert.equal(readdirSync(taps).length, 1);
  } finally {
    await tap.stop("SIGKILL");
    await page.context().close();
  }
  for (let tries = 0; readdirSync(taps).length && tries < 400; tries += 1) await new Promise((done) => setTimeout(done, 100));
  assert.deepEqual(readdirSync(taps), []);
});

test("view: a page whose program was killed says so", T, async () => {
  const path = join(here, "killed.rpc");
  writeFileSync(path, '> {"jsonrpc":"2.0","id":1,"method":"a"}\n');
  const other = await start(["view", path]);
  const page = await open(browser, other.url);
  try {
    await page.waitForSelector("#grid .row.req");
    await other.stop("SIGKILL");
    await page.waitForSelector("#notice:not([hidden])");
    await eventually(async () => assert.match(await page.textContent("#notice"), /has ended.*--record FILE/));
    await page.click("#grid .row.req");
    await page.waitForFunction(() => /no longer serves this page/.test(document.getElementById("detail").textContent));
  } finally {
    await page.context().close();
  }
});

test("view: taps are found in any order, and what has ended is removed", T, async () => {
  const env = { XDG_STATE_HOME: folder() };
  const taps = join(env.XDG_STATE_HOME, "sabir", "taps");
  const live = await start(["view", "--live"], { env });
  const page = await open(browser, live.url);
  const first = await start(["tap", "--view", "--", SABIR, "demo"], { input: "pipe", env });
  const second = await start(["tap", "--view", "--record", join(here, "second.jrl"), "--", SABIR, "demo"], { input: "pipe", env });
  try {
    assert.equal(statSync(join(taps, `${first.child.pid}.json`)).mode & 0o777, 0o600);
    assert.equal(statSync(join(taps, `${first.child.pid}.jrl`)).mode & 0o777, 0o600);
    const listed = execFileSync(SABIR, ["view"], { encoding: "utf8", env: { ...process.env, ...env } });
    assert.ok(listed.includes(first.url) && listed.includes(second.url), listed);
    first.child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"add","params":[1,1]}\n');
    second.child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"add","params":[2,2]}\n');
    await page.waitForFunction(() => /\[1,1\]/.test(document.querySelector("#grid .body").textContent) && /\[2,2\]/.test(document.querySelector("#grid .body").textContent));
    await second.stop("SIGKILL");
    first.child.stdin.end();
    await once(first.child, "exit");
    assert.ok(!existsSync(join(taps, `${first.child.pid}.jrl`)));
    assert.throws(() => execFileSync(SABIR, ["view"], { stdio: "pipe", env: { ...process.env, ...env } }));
    assert.deepEqual(readdirSync(taps), []);
    assert.ok(existsSync(join(here, "second.jrl")));
  } finally {
    await Promise.all([first.stop("SIGKILL"), second.stop("SIGKILL"), live.stop()]);
    await page.context().close();
  }
});

test("view: a file that grows is followed", T, async () => {
  const path = join(here, "growing.jrl");
  const line = (n, id) => `{"n":${n},"t":${n}000000,"d":">","c":1,"k":"req","id":${id},"m":"a","msg":{"jsonrpc":"2.0","id":${id},"method":"a"}}\n`;
  writeFileSync(path, `{"jrl":1,"at":"2026-11-15T12:00:00.000Z"}\n${line(1, 1)}`);
  const other = await start(["view", path]);
  const page = await open(browser, other.url);
  try {
    await page.waitForSelector("#grid .row.pending");
    const whole = line(2, 2);
    appendFileSync(path, whole.slice(0, 50));
    await page.waitForTimeout(300);
    appendFileSync(path, whole.slice(50));
    await page.waitForFunction(() => document.querySelectorAll("#grid .row.req").length === 2);
    await eventually(async () => assert.match(await page.textContent("#state"), /live/));
  } finally {
    await other.stop();
    await page.context().close();
  }
});

test("view: captures of several processes are joined by their trace", T, async () => {
  const trace = "0af7651916cd43dd8448eb211c80319c";
  const message = (id, span) => `{"jsonrpc":"2.0","id":${id},"method":"step","params":{"_meta":{"traceparent":"00-${trace}-${span}-01"}}}`;
  const made = (name, at, id, span) => {
    const path = join(here, `${name}.jrl`);
    writeFileSync(path, [
      `{"jrl":1,"at":"2026-11-15T12:00:00.${at}Z","transport":"stdio","cmd":["${name}"]}`,
      `{"n":1,"t":1000000,"d":">","c":1,"k":"req","msg":${message(id, span)}}`,
      `{"n":2,"t":9000000,"d":"<","c":1,"k":"res","msg":{"jsonrpc":"2.0","id":${id},"result":1}}`,
      "",
    ].join("\n"));
    return path;
  };
  const paths = [made("gateway", "000", 1, "b7ad6b7169203331"), made("store", "002", 7, "00f067aa0ba902b7")];
  const other = await start(["view", ...paths]);
  const page = await open(browser, other.url);
  try {
    await page.waitForFunction(() => document.querySelectorAll("#grid .row.req:not(.pending)").length === 2);
    await page.click("#grid .row.req >> nth=0");
    await page.click("#part-Related");
    await eventually(async () => assert.match(await page.textContent("#part"), /same trace.*step/));
    await page.keyboard.press("Escape");
    await page.click("#tab-sequence");
    await page.waitForSelector(".actor");
    await eventually(async () => assert.deepEqual(await page.$$eval(".actor", (all) => all.map((one) => one.textContent)), ["client", "gateway", "store"]));
    // The names of the lifelines are there before the rows.
    await eventually(async () => assert.equal(await page.$$eval("#diagram .arrow", (all) => all.map((one) => (one.classList.contains("left") ? "←" : "→")).join("")), "→→←←"));
  } finally {
    await other.stop();
    await page.context().close();
  }
});

test("view: the page is for this machine and this person alone", T, async () => {
  const url = new URL(view.url);
  const token = url.hash.slice(3);
  const ask = (path, headers = {}, method = "GET", body = undefined) =>
    new Promise((done, failed) => {
      const sent = request({ host: "127.0.0.1", port: url.port, path, method, headers: { host: url.host, ...headers } }, (answer) => {
        answer.resume();
        done(answer);
      });
      sent.on("error", failed).end(body);
    });
  const key = { authorization: `Bearer ${token}` };
  const post = { ...key, "content-type": "application/json" };
  for (const [want, path, headers, method] of [
    [200, "/", {}],
    [403, "/", { host: "evil.example" }],
    [403, "/", { host: `evil.example:${url.port}` }],
    [401, "/api/rows", {}],
    [401, "/api/rows", { authorization: "Bearer 00" }],
    [200, "/api/rows", key],
    [403, "/api/rows", { ...key, host: `evil.example:${url.port}` }],
    [403, "/api/rows", { ...key, origin: "http://evil.example" }],
    [403, "/api/rows", { ...key, "sec-fetch-site": "cross-site" }],
    [403, "/api/filter", { ...post, origin: "http://evil.example" }, "POST"],
    [415, "/api/filter", { ...key, "content-type": "text/plain" }, "POST"],
    [403, "/api/send", post, "POST"],
    [405, "/", {}, "PUT"],
    [404, "/../Cargo.toml", {}],
  ]) {
    const answer = await ask(path, headers, method, method === "POST" ? "{}" : undefined);
    assert.equal(answer.statusCode, want, `${method ?? "GET"} ${path} ${JSON.stringify(headers)}`);
    const policy = answer.headers["content-security-policy"];
    for (const part of ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'", "frame-ancestors 'none'"]) assert.ok(policy.includes(part), part);
    assert.equal(answer.headers["x-content-type-options"], "nosniff");
    assert.equal(answer.headers["access-control-allow-origin"], undefined);
  }
});

test("view: without the token there is no data", T, async () => {
  const page = await open(browser, view.url.split("#")[0]);
  await page.waitForSelector("#notice:not([hidden])");
  await eventually(async () => assert.match(await page.textContent("#notice"), /lacks the token.*that sabir printed/));
  assert.equal((await page.$$("#grid .body .row")).length, 0);
  await page.context().close();
});

test("view: an edited message is sent again, and its answer is beside the original", T, async () => {
  const tap = await start(["tap", "--view", "--allow-send", "--", SABIR, "demo"], { input: "pipe", env: { XDG_STATE_HOME: here } });
  const page = await open(browser, tap.url);
  try {
    const heard = [];
    createInterface(tap.child.stdout).on("line", (line) => heard.push(line));
    tap.child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}\n');
    await page.waitForSelector("#grid .row.req:not(.pending)");
    await page.click("#grid .row.req");
    await page.waitForSelector("#resend");
    await page.keyboard.press("r");
    await page.waitForSelector("textarea");
    await page.fill("textarea", '{"jsonrpc":"2.0","id":1,"method":"add","params":[20,30]}');
    await page.click("#send");
    await page.waitForFunction(() => /Answered in/.test(document.querySelector(".send")?.textContent ?? ""));
    await eventually(async () => assert.deepEqual(await page.$$eval(".send .pair pre", (all) => all.map((one) => JSON.parse(one.textContent).result)), [50, 5]));
    // The client hears of its own call alone; the record has both.
    tap.child.stdin.write('{"jsonrpc":"2.0","id":2,"method":"add","params":[1,1]}\n');
    await page.waitForFunction(() => document.querySelectorAll("#grid .row.req:not(.pending)").length === 3);
    await eventually(async () => assert.deepEqual(heard.map((line) => json(line).id), [1, 2]));
  } finally {
    await tap.stop("SIGKILL");
    await page.context().close();
  }
});

test("view: captures for agents", T, async () => {
  const client = new Client({ name: "agent", version: "1" }, { versionNegotiation: { mode: "legacy" } });
  await client.connect(new StdioClientTransport({ command: SABIR, args: ["view", "--mcp", capture] }));
  try {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name).sort(), ["check", "get", "list", "search", "stats"]);
    const call = async (name, args = {}) => json((await client.callTool({ name, arguments: args })).content[0].text);
    const found = await call("list", { filter: "tool:add status:ok", count: 5 });
    assert.ok(found.matched >= 5 && found.rows.length === 5, JSON.stringify(found));
    const one = await call("get", { row: found.rows[0].row });
    assert.equal(json(one.request.text).params.name, "add");
    assert.equal(json(one.answer.text).id, json(one.request.text).id);
    assert.ok((await call("search", { text: "ONERROR" })).matched >= 1);
    assert.ok((await call("stats")).methods.some((method) => method.tool === "add" && method.count === 13));
    assert.ok(Array.isArray((await call("check")).findings));
    const wrong = await client.callTool({ name: "list", arguments: { filter: "methd:x" } });
    assert.ok(wrong.isError && /did you mean/.test(wrong.content[0].text));
  } finally {
    await client.close();
  }
});
