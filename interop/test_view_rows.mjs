// The page of `sabir view` with rows of every kind, hostile ones among them, HTTP with its headers, and several pages at once.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventually, folder, launch, open, start } from "./view_page.mjs";

const T = { timeout: 60_000 };
const here = folder();
let browser, view;

const line = (members) => `${JSON.stringify(members)}\n`;
const head = (...lines) => lines.join("\n");
const message = (id, method, params) => ({ jsonrpc: "2.0", id, method, params });
const deep = (levels) => (levels ? [deep(levels - 1)] : "the bottom");
const HUGE = 1_500_000;

/** A session over HTTP, and what else a capture can have. */
const SESSION = [
  { jrl: 1, at: "2026-11-15T12:00:00Z", transport: "http", profile: "jsonrpc", target: "http://127.0.0.1:9/rpc" },
  { n: 1, t: 1e6, d: ">", c: 1, x: 1, k: "req", id: 1, m: "add", h: head("POST /rpc", "x-own: it's mine", "authorization: [redacted]"), msg: message(1, "add", { token: "HUNTER2", a: 1 }) },
  { n: 2, t: 3e6, d: "<", c: 1, x: 1, k: "res", id: 1, m: "add", ms: 2, h: head("200 OK POST /rpc", "x-server: one"), msg: { jsonrpc: "2.0", id: 1, result: 3 } },
  { n: 3, t: 4e6, d: ">", c: 1, x: 2, k: "req", id: 2, m: "refused", h: head("POST /rpc", "x-own: 2"), msg: message(2, "refused") },
  { n: 4, t: 5e6, d: "<", c: 1, x: 2, k: "http", raw: head("401 Unauthorized POST /rpc", "www-authenticate: Bearer") },
  { n: 5, t: 6e6, d: "<", c: 1, k: "noise", raw: "Starting the server" },
  { n: 6, t: 7e6, d: "<", c: 1, k: "stderr", raw: "warning: \u202etxt.exe" },
  { n: 7, t: 8e6, d: ">", c: 1, k: "req", id: 3, m: "hostile\u202e", msg: message(3, "hostile\u202e", { text: "a\u0000b\u200b<script>hacked=1</script>" }) },
  { n: 8, t: 9e6, d: ">", c: 1, k: "req", id: 4, m: "deep", msg: message(4, "deep", deep(120)) },
  { n: 9, t: 1e7, d: ">", c: 1, k: "req", id: 5, m: "huge", msg: message(5, "huge", ["a".repeat(HUGE)]) },
].map(line).join("");

before(async () => {
  const path = join(here, "session.jrl");
  writeFileSync(path, SESSION);
  browser = await launch();
  view = await start(["view", path]);
}, T);
after(async () => {
  await browser?.close();
  await view?.stop();
});

/** A test on a page of its own, which must have no errors. */
function onPage(name, body) {
  test(`view: ${name}`, T, async () => {
    const page = await open(browser, view.url);
    try {
      await page.waitForSelector("#grid .row.req");
      await body(page);
      assert.deepEqual(page.problems, []);
    } finally {
      await page.context().close();
    }
  });
}

/** Shows the row of this kind, or of this method. */
async function show(page, selector) {
  await page.click(`#grid .body .row${selector}`);
  await page.waitForSelector("#detail h2");
}

const ofMethod = (method) => `:has(.method:text-is("${method}"))`;

onPage("noise, standard error and refusals of HTTP are rows", async (page) => {
  const row = (kind) => page.textContent(`#grid .body .row.${kind}`);
  await eventually(async () => assert.match(await row("noise"), /noise.*Starting the server/));
  assert.match(await row("stderr"), /stderr.*warning: \\u202etxt\.exe/);
  assert.match(await row("http.bad"), /http.*✗ 401.*401 Unauthorized POST \/rpc/);
  await page.keyboard.press("e");
  await page.waitForSelector("#grid .row.http[aria-selected=true]");
});

onPage("headers of both sides are with their call, and a refusal is with its request", async (page) => {
  const headers = async (method, parts) => {
    await show(page, ofMethod(method));
    await page.click("#part-Headers");
    await eventually(async () => {
      const text = await page.textContent("#part");
      for (const part of parts) assert.ok(text.includes(part), `${part}: ${text}`);
    });
  };
  await headers("add", ["HTTP POST /rpc", "x-ownit's mine", "authorization[redacted]", "HTTP 200 OK POST /rpc", "x-serverone"]);
  await headers("refused", ["HTTP POST /rpc", "x-own2", "HTTP 401 Unauthorized POST /rpc", "www-authenticateBearer"]);
  await show(page, ".noise");
  await eventually(async () => assert.equal(await page.$("#part-Headers"), null));
});

onPage("curl gets the headers, and says what is left out", async (page) => {
  await show(page, ofMethod("add"));
  await page.click("[data-copy=curl]");
  const copied = await eventually(async () => {
    const text = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(text, /^curl /);
    return text;
  });
  assert.ok(copied.startsWith("curl http://127.0.0.1:9/rpc "), copied);
  // As a shell reads it.
  const words = execFileSync("sh", ["-c", copied.replace(/^curl/, "printf '%s\\n'")], { encoding: "utf8" }).split("\n");
  for (const word of ["x-own: it's mine", "authorization: [redacted]"]) assert.equal(words[words.indexOf(word) - 1], "-H", copied);
  await eventually(async () => assert.match(await page.textContent("#told"), /in place of \[redacted\]/));
});

onPage("[ and ] go from an answer to its request and back", async (page) => {
  await page.click("#tab-sequence");
  await page.waitForSelector("#diagram .step");
  const selected = () => page.textContent("#diagram [aria-selected=true] .label");
  await page.click("#diagram .step:has(.label:text-matches('^add id 1'))");
  await eventually(async () => assert.match(await selected(), /^add id 1/));
  await page.keyboard.press("]");
  await eventually(async () => assert.match(await selected(), /^add 2\.0 ms/));
  await page.keyboard.press("[");
  await eventually(async () => assert.match(await selected(), /^add id 1/));
  await page.click("#diagram .step:has(.label:text-matches('refused'))");
  await page.keyboard.press("]");
  await eventually(async () => assert.match(await page.textContent("#told"), /no other half/));
});

onPage("marked rows, or the selected one, are exported without secrets", async (page) => {
  const save = async (rows) => {
    await page.click("#export");
    await page.check(`#dialog input[value=${rows}]`);
    await page.fill("#redact", "token $.params[0]");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click('#dialog button:text-is("Capture (.jrl)")')]);
    const path = join(here, `${rows}.jrl`);
    await download.saveAs(path);
    const lines = readFileSync(path, "utf8").trim().split("\n").map((text) => JSON.parse(text));
    return lines.slice(1);
  };
  await page.click(`#grid .body .row${ofMethod("add")}`);
  await page.keyboard.press("m");
  await page.waitForSelector("#grid .row.marked");
  await page.click(`#grid .body .row${ofMethod("huge")}`);
  await page.keyboard.press("m");
  await eventually(async () => assert.equal((await page.$$("#grid .row.marked")).length, 2));
  const marked = await save("marked");
  // With the answer of the call, and the headers of both.
  assert.deepEqual(marked.map(({ k, x }) => [k, x]), [["req", 1], ["res", 1], ["req", undefined]]);
  assert.equal(marked[0].msg.params.token, "[redacted]");
  assert.deepEqual(marked[2].msg.params, ["[redacted]"]);
  assert.match(marked[0].h, /x-own: it's mine/);
  await show(page, ofMethod("refused"));
  const chosen = await save("selected");
  assert.deepEqual(chosen.map(({ m }) => m), ["refused"]);
});

onPage("hostile text is shown by its numbers, and does nothing", async (page) => {
  const row = await page.textContent(`#grid .body .row:has-text("hostile")`);
  assert.ok(row.includes("hostile\\u202e") && !row.includes("\u202e"), row);
  await page.click(`#grid .body .row:has-text("hostile")`);
  await page.waitForSelector("#detail pre.json");
  const shown = await page.textContent("#detail");
  assert.ok(!/[\u0000\u200b\u202e]/.test(shown) && shown.includes("<script>hacked=1</script>"), shown);
  await page.click("#part-Raw");
  const raw = await page.textContent("#detail pre.raw");
  assert.ok(!/[\u0000\u200b\u202e]/.test(raw), raw);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.$("#detail script"), null);
});

onPage("deep and huge messages are shown, as far as that is of use", async (page) => {
  await show(page, ofMethod("deep"));
  await eventually(async () => assert.match(await page.textContent("#detail pre.json"), /the bottom/));
  await show(page, ofMethod("huge"));
  const length = () => page.$eval("#detail pre.raw", (box) => box.textContent.length);
  await page.click("#part-Raw");
  await eventually(async () => assert.ok((await length()) <= 1 << 20));
  await page.click("#detail button:text-is('Show all of it')");
  await eventually(async () => assert.ok((await length()) > HUGE));
  await page.click("#part-Pretty");
  await eventually(async () => assert.match(await page.textContent("#detail .fold"), /more characters/));
});

test("view: a list that is taller than a browser lets it be", T, async () => {
  const path = join(here, "tall.rpc");
  const count = 5000;
  writeFileSync(path, Array.from({ length: count }, (_, n) => `> ${JSON.stringify({ jsonrpc: "2.0", method: `m${n + 1}` })}\n`).join(""));
  const tall = await start(["view", path]);
  // What is 8 million pixels in truth.
  const prepare = (context) => context.route("**/grid.js", async (route) => {
    const answer = await route.fetch();
    const body = (await answer.text()).replace("TALLEST = 8_000_000", "TALLEST = 20_000");
    assert.ok(body.includes("TALLEST = 20_000"));
    await route.fulfill({ response: answer, body });
  });
  const page = await open(browser, tall.url, { prepare });
  try {
    const numbers = () => page.$$eval("#grid .body .row .number", (all) => all.map((one) => Number(one.textContent.replace(/\D/g, ""))));
    const first = async () => (await numbers())[0];
    // It may have been opened before all was read, and then follows.
    await page.focus("#grid");
    await eventually(async () => assert.equal(await page.textContent("#matches"), "5,000 rows"));
    await page.keyboard.press("g");
    await eventually(async () => assert.equal(await first(), 1));
    assert.equal(await page.$eval("#grid .space", (space) => space.clientHeight), 20_000);
    await page.hover("#grid .pane");
    // The wheel moves rows, not a part of the whole.
    await page.mouse.wheel(0, 240);
    await eventually(async () => assert.equal(await first(), 11));
    // The bar leads to any place.
    const scroll = (part) => page.$eval("#grid .pane", (pane, part) => { pane.scrollTop = (pane.scrollHeight - pane.clientHeight) * part; }, part);
    await scroll(0.5);
    await eventually(async () => assert.ok(Math.abs((await first()) - count / 2) < 60, `${await first()}`));
    await scroll(1);
    await eventually(async () => assert.equal((await numbers()).at(-1), count));
    await scroll(0);
    await scroll(0);
    await eventually(async () => assert.equal(await first(), 1));
    await page.focus("#grid");
    for (const [key, row] of [["j", 2], ["j", 3], ["G", count], ["k", count - 1], ["g", 1]]) {
      await page.keyboard.press(key);
      await eventually(async () => assert.match(await page.textContent("#grid [aria-selected=true] .method"), new RegExp(`^m${row}$`)));
    }
    // Each row once, in order, wherever it is.
    await page.keyboard.press("G");
    for (let n = 0; n < 5; n += 1) await page.keyboard.press("PageUp");
    await eventually(async () => {
      const shown = await numbers();
      assert.deepEqual(shown, shown.map((_, index) => shown[0] + index));
    });
    assert.deepEqual(page.problems, []);
  } finally {
    await page.context().close();
    await tall.stop();
  }
});

onPage("the filter of a page lasts, however many pages filter beside it", async (page) => {
  await page.fill("#filter", "kind:req");
  await page.press("#filter", "Enter");
  await eventually(async () => assert.match(await page.textContent("#matches"), /^5 of /));
  for (let n = 0; n < 12; n += 1) {
    const other = await open(browser, `${view.url}&filter=kind:${n % 2 ? "stderr" : "noise"}`);
    await eventually(async () => assert.match(await other.textContent("#matches"), /^1 of /));
    await other.context().close();
  }
  // Other rows are asked for.
  await page.click("#tab-sequence");
  await eventually(async () => assert.equal((await page.$$("#diagram .step .label")).length, 6));
  await eventually(async () => assert.match(await page.textContent("#matches"), /^5 of /));
});
