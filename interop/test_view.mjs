// The page of `sabir view` in Chromium, over a real session: a client and a server of MCP with `sabir tap` in between.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { folder, launch, open, start } from "./view_page.mjs";
import { session, toolCalls } from "./view_session.mjs";

const SABIR = process.env.SABIR;
const here = folder();
const capture = join(here, "session.jrl");
const T = { timeout: 60_000 };
let browser, view;

before(async () => {
  browser = await launch();
  await session(["--record", capture], [SABIR, "demo", "--mcp"], toolCalls);
  view = await start(["view", capture]);
}, T);
after(async () => {
  await browser?.close();
  await view?.stop();
});

/** A test on a page of its own, which must have no errors. */
function onPage(name, body, options) {
  test(`view: ${name}`, T, async () => {
    const page = await open(browser, view.url, options);
    try {
      await page.waitForSelector("#grid .row.req");
      await body(page);
      assert.deepEqual(page.problems, []);
    } finally {
      await page.context().close();
    }
  });
}

const matches = (page) => page.textContent("#matches");
const rows = (page) => page.$$eval("#grid .body .row", (rows) => rows.map((row) => row.textContent));
async function filter(page, text) {
  await page.fill("#filter", text);
  await page.press("#filter", "Enter");
  await page.waitForFunction(() => document.getElementById("scan").hidden);
  await page.waitForFunction(() => / of |rows/.test(document.getElementById("matches").textContent));
  await page.waitForTimeout(200);
}
const json = (line) => JSON.parse(line);

onPage("the list has a row for each call, with its answer, and for all else", async (page) => {
  const lines = readFileSync(capture, "utf8").trim().split("\n").map(json);
  const paired = lines.filter((line) => line.ms !== undefined).length;
  assert.equal(await matches(page), `${lines.length - paired} rows`);
  const shown = (await rows(page)).join("\n");
  for (const part of ["start", "open", "initialize", "✓ ok", "tools/list", "⇒", "notifications/initialized"]) assert.ok(shown.includes(part), part);
  assert.match(await page.textContent("#state"), /ended: (code 0|killed)/);
  assert.equal(await page.getAttribute("#grid", "aria-rowcount"), String(lines.length - paired + 1));
});

onPage("a filter of the grammar leaves rows out, and says how many match", async (page) => {
  const all = Number((await matches(page)).match(/\d+/)[0]);
  await filter(page, "tool:add");
  const [found, of] = (await matches(page)).split(" of ").map(Number);
  assert.equal(of, all);
  assert.ok(found >= 12 && found < all, `${found}`);
  for (const row of await rows(page)) assert.match(row, /tools\/call add/);
  assert.match(page.url(), /#filter=tool%3Aadd/);
  await filter(page, "tool:add -status:error status:ok");
  for (const row of await rows(page)) assert.match(row, /✓ ok/);
  await filter(page, "$.params.name=divide");
  for (const row of await rows(page)) assert.match(row, /divide/);
  await page.fill("#filter", "methd:x");
  await page.waitForFunction(() => document.getElementById("problem").textContent);
  assert.match(await page.textContent("#problem"), /`methd:` is not a filter; did you mean `method:`\?/);
  assert.equal(await page.getAttribute("#filter", "aria-invalid"), "true");
  await page.click("#filter");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.waitForFunction((all) => document.getElementById("matches").textContent === `${all} rows`, all);
});

onPage("the filter offers words and names", async (page) => {
  await page.focus("#filter");
  await page.keyboard.type("tool:ad");
  await page.waitForSelector("#words li");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.getAttribute("#filter", "aria-activedescendant"), "word-0");
  await page.keyboard.press("Enter");
  assert.equal(await page.inputValue("#filter"), "tool:add");
});

onPage("the detail has request and response side by side, pretty and raw", async (page) => {
  await filter(page, "tool:add status:ok");
  await page.click("#grid .body .row >> nth=0");
  await page.waitForSelector("#detail pre.json");
  const headings = await page.$$eval("#detail .pair h3", (all) => all.map((one) => one.textContent));
  assert.match(headings.join("|"), /^Request .*\|Response /);
  const [left, right] = await page.$$eval("#detail .pair > section", (all) => all.map((one) => one.getBoundingClientRect().x));
  assert.ok(left < right);
  await page.click("#part-Raw");
  const raw = await page.textContent("#detail pre.raw");
  assert.equal(json(raw).method, "tools/call");
});

onPage("progress and related messages are with their call", async (page) => {
  await filter(page, "tool:test_tool_with_progress");
  await page.click("#grid .body .row >> nth=0");
  await page.click("#part-Progress");
  assert.match(await page.textContent("#part"), /notifications\/progress/);
});

onPage("findings of the rules are on their rows, with the explanation", async (page) => {
  const broken = join(here, "broken.rpc");
  writeFileSync(broken, '> {"jsonrpc":"2.0","id":1,"method":"a"}\n< {"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"x"}}\n');
  const other = await start(["view", broken]);
  try {
    await page.goto("about:blank");
    await page.goto(other.url);
    await page.waitForSelector("#grid .finding.error");
    const rule = (await page.textContent("#grid .finding.error")).split(" ")[1];
    await page.click("#grid .finding.error");
    await page.click("#detail .rule summary");
    const text = await page.textContent("#detail .rule");
    const told = execFileSync(SABIR, ["explain", rule], { encoding: "utf8" });
    assert.ok(told.replace(/\s+/g, " ").includes(text.match(/error \w+/)[0].split(" ")[1]));
    assert.ok((await page.isVisible("#detail .rule .why")) && text.length > 100, text);
  } finally {
    await other.stop();
  }
});

onPage("the sequence draws arrows between lifelines", async (page) => {
  await page.click("#tab-sequence");
  await page.waitForSelector("#diagram .arrow.right");
  assert.deepEqual(await page.$$eval(".actor", (all) => all.map((one) => one.textContent)), ["client", "sabir"]);
  assert.ok(await page.isVisible("#diagram .arrow.left"));
  const [call, answer] = await page.$$eval("#diagram .label", (all) => all.map((one) => one.textContent).filter((text) => text.startsWith("initialize")));
  assert.match(call, /initialize #0/);
  assert.match(answer, /initialize .*(ms|µs)/);
});

onPage("statistics count calls, errors, percentiles and bytes of each method", async (page) => {
  await page.click("#tab-stats");
  await page.waitForSelector("#tables tbody tr");
  const head = await page.$$eval("#tables thead th", (all) => all.map((one) => one.textContent));
  for (const name of ["Method", "Errors", "p50", "p95", "p99", "Size"]) assert.ok(head.some((text) => text.startsWith(name)), name);
  const add = (await page.$$eval("#tables tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)))).find(([name]) => name === "tools/call add");
  assert.equal(add[1], "13");
  assert.match(add[4], /µs|ms/);
  assert.ok(await page.isVisible("#tables svg .fill"));
  await page.click("#tables tbody .link:text-is('tools/call add')");
  await page.waitForSelector("#grid .body .row");
  await page.waitForFunction(() => / of /.test(document.getElementById("matches").textContent));
  assert.equal((await matches(page)).split(" of ")[0], "13");
});

onPage("the timeline chooses a range of time", async (page) => {
  await page.waitForFunction(() => /\d+ in/.test(document.getElementById("timeline").getAttribute("aria-label")));
  const all = Number((await matches(page)).match(/\d+/)[0]);
  const box = await (await page.$("#timeline")).boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 20);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width, box.y + 20);
  await page.mouse.up();
  await page.waitForFunction(() => / of /.test(document.getElementById("matches").textContent));
  await page.waitForTimeout(300);
  const [found] = (await matches(page)).split(" of ").map(Number);
  assert.ok(found > 0 && found < all, `${found} of ${all}`);
  await page.focus("#timeline");
  await page.keyboard.press("Escape");
  await page.waitForFunction((all) => document.getElementById("matches").textContent === `${all} rows`, all);
});

onPage("find goes through rows without leaving out the others", async (page) => {
  const all = await matches(page);
  await page.focus("#grid");
  await page.keyboard.press("f");
  await page.keyboard.type("tool:divide");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /1 of \d/.test(document.getElementById("hits").textContent));
  assert.match(await page.textContent("#grid [aria-selected=true]"), /divide/);
  await page.focus("#grid");
  await page.keyboard.press("n");
  await page.waitForFunction(() => /2 of \d/.test(document.getElementById("hits").textContent));
  await page.keyboard.press("N");
  await page.waitForFunction(() => /1 of \d/.test(document.getElementById("hits").textContent));
  assert.equal(await matches(page), all);
  await page.waitForSelector("#grid .row.hit");
});

onPage("errors: only them, and from one to the next", async (page) => {
  await page.focus("#grid");
  await page.keyboard.press("e");
  await page.waitForSelector("#grid .row.bad[aria-selected=true]");
  await page.click("#errors");
  await page.waitForFunction(() => / of /.test(document.getElementById("matches").textContent));
  await page.waitForTimeout(300);
  for (const row of await rows(page)) assert.match(row, /✗/);
});

onPage("marks, and the time since a marked row", async (page) => {
  await page.focus("#grid");
  for (const key of ["j", "j", "j", "m", "j", "j"]) await page.keyboard.press(key);
  await page.waitForSelector("#grid .row.marked");
  assert.match(await page.textContent("#grid .row.marked .number"), /★/);
  assert.equal(await page.inputValue("#time"), "mark");
  assert.match(await page.textContent("#grid [aria-selected=true] .time"), /^\+/);
  await page.keyboard.press("M");
  await page.waitForSelector("#grid .row.marked[aria-selected=true]");
});

onPage("copies as sabir call, curl, transcript, JSON and link", async (page) => {
  await filter(page, "tool:add status:ok");
  await page.click("#grid .body .row >> nth=0");
  await page.waitForSelector("[data-copy]");
  const copied = async (as) => {
    await page.evaluate(() => navigator.clipboard.writeText("nothing"));
    await page.click(`[data-copy=${as}]`);
    for (;;) {
      const text = await page.evaluate(() => navigator.clipboard.readText());
      if (text !== "nothing") return text;
      await page.waitForTimeout(50);
    }
  };
  const call = await copied("call");
  assert.match(call, /^sabir call tools\/call -d '\{.*\}' -- .*sabir demo --mcp$/);
  const answer = execFileSync("sh", ["-c", call.replace(/^sabir/, SABIR)], { encoding: "utf8" });
  assert.match(answer, /"text":"\d+"/);
  assert.match(await copied("curl"), /^curl \S+ -H 'Content-Type: application\/json' -d '\{/);
  const [sent, came] = (await copied("transcript")).trim().split("\n");
  assert.equal(json(sent.slice(2)).id, json(came.slice(2)).id);
  assert.equal(json(await copied("json")).method, "tools/call");
  const link = await copied("link");
  const row = new URLSearchParams(new URL(link).hash.slice(1)).get("row");
  const other = await open(browser, link);
  // Seen once in many runs: a page that opens with a row in its link does not show it until it is loaded again.
  await other.waitForSelector("#detail h2", { timeout: 10_000 }).catch(() => other.reload());
  await other.waitForSelector("#detail h2");
  assert.match(await other.textContent("#detail"), new RegExp(`#${Number(row) + 1} `));
  await other.context().close();
});

onPage("exports a selection as capture, transcript and HAR", async (page) => {
  await filter(page, "tool:add status:ok");
  const found = Number((await matches(page)).split(" of ")[0]);
  const save = async (label) => {
    await page.click("#export");
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(`#dialog button:text-is("${label}")`)]);
    const path = join(here, download.suggestedFilename());
    await download.saveAs(path);
    return path;
  };
  const saved = await save("Capture (.jrl)");
  const printed = execFileSync(SABIR, ["view", "--print", saved, "--filter", "kind:req"], { encoding: "utf8" });
  assert.equal(printed.trim().split("\n").length, found);
  assert.match(execFileSync(SABIR, ["view", "--print", saved, "--filter", "kind:res"], { encoding: "utf8" }), /tools\/call add .* (ms|s) /);
  const lines = readFileSync(await save("Transcript (.rpc)"), "utf8").trim().split("\n");
  assert.equal(lines.filter((line) => line.startsWith("> ")).length, found);
  assert.equal(lines.filter((line) => line.startsWith("< ")).length, found);
  const har = json(readFileSync(await save("HAR"), "utf8"));
  assert.equal(har.log.entries.length, found);
  assert.equal(json(har.log.entries[0].response.content.text).jsonrpc, "2.0");
});

onPage("captured text is inert, and the token is out of sight", async (page) => {
  await filter(page, "onerror");
  await page.waitForFunction(() => document.querySelector("#grid .body").textContent.includes("<img src=x onerror="));
  await page.click("#grid .body .row >> nth=0");
  await page.waitForSelector("#detail pre");
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.$("#grid img, #detail img"), null);
  assert.doesNotMatch(page.url(), /t=/);
  const blocked = await page.evaluate(() => {
    try {
      document.body.innerHTML = "<b>x</b>";
      return false;
    } catch (error) {
      return error instanceof TypeError;
    }
  });
  assert.ok(blocked, "trusted types");
  page.problems.length = 0;
});

onPage("with the keyboard alone: open, filter, show a pair, copy, export", async (page) => {
  const keys = async (...all) => {
    for (const key of all) await page.keyboard.press(key);
  };
  await keys("/");
  await page.keyboard.type("tool:add status:ok");
  await keys("Enter");
  await page.waitForFunction(() => / of /.test(document.getElementById("matches").textContent));
  await page.waitForTimeout(300);
  await keys("j", "j", "Enter");
  await page.waitForSelector("#detail pre.json");
  assert.equal(await page.evaluate(() => document.activeElement.id), "detail");
  await keys("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.id), "grid");
  await keys("y");
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("sabir call"));
  await keys("x");
  await page.waitForSelector("#dialog[open]");
  const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Enter")]);
  assert.equal(download.suggestedFilename(), "capture.jrl");
  await keys("2");
  await page.waitForSelector("#diagram .arrow");
  await keys("3");
  await page.waitForSelector("#tables tbody tr");
  await keys("1", "?");
  await page.waitForSelector("#dialog[open] kbd");
  await keys("Escape", "t");
  // Everything that can be clicked can be reached.
  const reached = new Set();
  for (let n = 0; n < 40; n += 1) {
    await keys("Tab");
    reached.add(await page.evaluate(() => document.activeElement.id));
  }
  for (const id of ["tab-list", "filter", "errors", "pause", "time", "export", "help", "timeline", "grid"]) assert.ok(reached.has(id), `${id} in ${[...reached]}`);
});

for (const colorScheme of ["light", "dark"]) {
  onPage(`names, roles and contrast, ${colorScheme}`, async (page) => {
    await page.click("#grid .row.req >> nth=1");
    await page.waitForSelector("#detail pre");
    const found = await page.evaluate(() => {
      const problems = [];
      const name = (one) => (one.getAttribute("aria-label") ?? one.labels?.[0]?.textContent ?? one.textContent ?? "").trim();
      for (const one of document.querySelectorAll("button, input, select, textarea, [role=tab], [role=grid], [role=tabpanel], canvas")) {
        if (!name(one) && !one.getAttribute("aria-labelledby") && !one.placeholder) problems.push(`no name: ${one.outerHTML.slice(0, 80)}`);
      }
      for (const row of document.querySelectorAll("#grid .body [role=row]")) {
        if (!row.getAttribute("aria-rowindex")) problems.push("a row without its number");
        if ([...row.children].some((cell) => cell.getAttribute("role") !== "gridcell")) problems.push("a cell without a role");
      }
      const luminance = ([r, g, b]) => {
        const part = [r, g, b].map((value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
      };
      const colour = (text) => text.match(/[\d.]+/g).map(Number);
      const back = (one) => {
        for (let at = one; at; at = at.parentElement) {
          const found = getComputedStyle(at).backgroundColor;
          if (found.startsWith("rgb(")) return colour(found);
        }
        return [255, 255, 255];
      };
      for (const one of document.querySelectorAll("header *, #grid .row *, #detail *")) {
        const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!own || one.tagName === "OPTION" || one.closest("[hidden]")) continue;
        const [a, b] = [luminance(colour(getComputedStyle(one).color)), luminance(back(one))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) problems.push(`contrast ${ratio.toFixed(2)}: ${one.className} ${one.textContent.slice(0, 30)}`);
      }
      return [...new Set(problems)];
    });
    assert.deepEqual(found, []);
  }, { colorScheme, reducedMotion: "reduce" });
}

test("view: the types of the page's scripts hold", T, () => {
  const options = "--checkJs --allowJs --noEmit --strict --target es2023 --module esnext --moduleResolution bundler --lib es2023,dom,dom.iterable";
  const app = join(import.meta.dirname, "../crates/cli/src/view/page/app.js");
  execFileSync("node_modules/.bin/tsc", [...options.split(" "), app], { stdio: "inherit", cwd: import.meta.dirname });
});
