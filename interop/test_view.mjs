// The page of `sabir view` in Chromium, over a real session: a client and a server of MCP with `sabir tap` in between.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, open, start } from "./view_page.mjs";
import { SABIR, T, browser, capture, here, json, view } from "./view_setup.mjs";

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

onPage("the list has a row for each call, with its answer, and for all else", async (page) => {
  const lines = readFileSync(capture, "utf8").trim().split("\n").map(json);
  const paired = lines.filter((line) => line.ms !== undefined).length;
  await eventually(async () => assert.equal(await matches(page), `${lines.length - paired} rows`));
  await eventually(async () => {
    const shown = (await rows(page)).join("\n");
    for (const part of ["start", "open", "initialize", "✓ ok", "tools/list", "⇒", "notifications/initialized"]) assert.ok(shown.includes(part), part);
  });
  await eventually(async () => assert.match(await page.textContent("#state"), /ended: (code 0|killed)/));
  await eventually(async () => assert.equal(await page.getAttribute("#grid", "aria-rowcount"), String(lines.length - paired + 1)));
});

onPage("a filter of the grammar leaves rows out, and says how many match", async (page) => {
  const all = Number((await matches(page)).match(/\d+/)[0]);
  await filter(page, "tool:add");
  await eventually(async () => {
    const [found, of] = (await matches(page)).split(" of ").map(Number);
    assert.equal(of, all);
    assert.ok(found >= 12 && found < all, `${found}`);
  });
  await eventually(async () => { for (const row of await rows(page)) assert.match(row, /tools\/call add/); });
  assert.match(page.url(), /#filter=tool%3Aadd/);
  await filter(page, "tool:add -status:error status:ok");
  await eventually(async () => { for (const row of await rows(page)) assert.match(row, /✓ ok/); });
  await filter(page, "$.params.name=divide");
  await eventually(async () => { for (const row of await rows(page)) assert.match(row, /divide/); });
  await page.fill("#filter", "methd:x");
  await page.waitForFunction(() => document.getElementById("problem").textContent);
  await eventually(async () => assert.match(await page.textContent("#problem"), /`methd:` is not a filter; did you mean `method:`\?/));
  await eventually(async () => assert.equal(await page.getAttribute("#filter", "aria-invalid"), "true"));
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
  await eventually(async () => assert.equal(await page.getAttribute("#filter", "aria-activedescendant"), "word-0"));
  await page.keyboard.press("Enter");
  await eventually(async () => assert.equal(await page.inputValue("#filter"), "tool:add"));
});

onPage("the detail has request and response side by side, pretty and raw", async (page) => {
  await filter(page, "tool:add status:ok");
  await page.click("#grid .body .row >> nth=0");
  await page.waitForSelector("#detail pre.json");
  await eventually(async () => assert.match((await page.$$eval("#detail .pair h3", (all) => all.map((one) => one.textContent))).join("|"), /^Request .*\|Response /));
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
  await eventually(async () => assert.match(await page.textContent("#part"), /notifications\/progress/));
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
    await eventually(async () => assert.ok((await page.isVisible("#detail .rule .why")) && text.length > 100, text));
  } finally {
    await other.stop();
  }
});

onPage("the sequence draws arrows between lifelines", async (page) => {
  await page.click("#tab-sequence");
  await page.waitForSelector("#diagram .arrow.right");
  await eventually(async () => assert.deepEqual(await page.$$eval(".actor", (all) => all.map((one) => one.textContent)), ["client", "sabir"]));
  await eventually(async () => assert.ok(await page.isVisible("#diagram .arrow.left")));
  await eventually(async () => {
    const [call, answer] = await page.$$eval("#diagram .label", (all) => all.map((one) => one.textContent).filter((text) => text.startsWith("initialize")));
    assert.match(call, /initialize id 0/);
    assert.match(answer, /initialize .*(ms|µs)/);
  });
  assert.ok(await page.isHidden("#more"));
});

onPage("keys that come before the rows of a filter act on those", async (page) => {
  let release;
  const held = new Promise((done) => (release = done));
  await page.route("**/api/filter", async (route) => {
    await held;
    await route.continue();
  });
  await page.keyboard.press("/");
  await page.keyboard.type("tool:divide");
  for (const key of ["Enter", "j", "Enter"]) await page.keyboard.press(key);
  // What would act at once has had the time for it.
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.id), "grid"));
  assert.equal(await page.isVisible("#detail pre.json"), false);
  release();
  await eventually(async () => assert.match(await page.textContent("#detail"), /"divide"/));
  await eventually(async () => assert.match(await page.textContent("#grid [aria-selected=true]"), /divide/));
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.id), "detail"));
});

onPage("half a word of a filter is not wrong yet", async (page) => {
  await page.focus("#filter");
  await page.keyboard.type("method:");
  await page.waitForTimeout(500);
  assert.equal(await page.textContent("#problem"), "");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.getElementById("problem").textContent);
});

onPage("the detail says if the filter leaves its row out", async (page) => {
  await filter(page, "tool:add");
  await page.click("#grid .body .row >> nth=0");
  await page.waitForSelector("#detail h2");
  await filter(page, "tool:divide");
  await page.waitForSelector("#detail .left-out");
  await filter(page, "tool:add");
  await page.waitForSelector("#grid .row[aria-selected=true]");
  await eventually(async () => assert.equal(await page.$("#detail .left-out"), null));
});

onPage("a tool that fails is an error, and pictures are shown", async (page) => {
  const path = join(here, "failed.rpc");
  const data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
  const content = [{ type: "image", mimeType: "image/png", data }, { type: "image", mimeType: "image/svg+xml", data }];
  writeFileSync(path, `> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"draw","arguments":{}}}\n< ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: { content, isError: true } })}\n`);
  const other = await start(["view", path]);
  try {
    await page.goto("about:blank");
    await page.goto(other.url);
    await page.waitForSelector("#grid .row.bad");
    await eventually(async () => assert.match(await page.textContent("#grid .row.bad"), /✗ error/));
    await page.click("#grid .row.bad");
    await page.waitForSelector("#detail img");
    await eventually(async () => assert.deepEqual(await page.$$eval("#detail img", (all) => all.map((one) => one.src.slice(0, 15))), ["data:image/png;"]));
    await page.waitForFunction(() => document.querySelector("#detail img").naturalWidth === 1);
  } finally {
    await other.stop();
  }
});

onPage("statistics count calls, errors, percentiles and bytes of each method", async (page) => {
  await page.click("#tab-stats");
  await page.waitForSelector("#tables tbody tr");
  const head = await page.$$eval("#tables thead th", (all) => all.map((one) => one.textContent));
  for (const name of ["Method", "Errors", "p50", "p95", "p99", "Size"]) assert.ok(head.some((text) => text.startsWith(name)), name);
  const add = await eventually(async () => {
    const found = (await page.$$eval("#tables tbody tr", (all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)))).find(([name]) => name === "tools/call add");
    assert.equal(found?.[1], "13");
    return found;
  });
  assert.match(add[4], /µs|ms/);
  await eventually(async () => assert.ok(await page.isVisible("#tables svg .fill")));
  // Of what the filter leaves.
  await filter(page, "tool:divide");
  await page.waitForFunction(() => document.querySelectorAll("#tables tbody tr").length === 1);
  await filter(page, "");
  await page.waitForFunction(() => document.querySelectorAll("#tables tbody tr").length > 5);
  await page.click("#tables tbody .link:text-is('tools/call add')");
  await page.waitForSelector("#grid .body .row");
  await page.waitForFunction(() => /^13 of /.test(document.getElementById("matches").textContent));
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
  await eventually(async () => {
    const [found] = (await matches(page)).split(" of ").map(Number);
    assert.ok(found > 0 && found < all, `${found} of ${all}`);
  });
  await page.focus("#timeline");
  await page.keyboard.press("Escape");
  await page.waitForFunction((all) => document.getElementById("matches").textContent === `${all} rows`, all);
});

/** 1280 x 720 at a zoom of 200 %. */
const ZOOMED = { viewport: { width: 640, height: 360 }, deviceScaleFactor: 2 };

onPage("at a zoom of 200 % the selected row stays in sight, the message has room, and the help begins at its start", async (page) => {
  const inSight = () => page.$eval("#grid [aria-selected=true]", (row) => {
    const [at, pane] = [row, row.closest(".pane")].map((box) => box.getBoundingClientRect());
    return at.top >= pane.top - 1 && at.bottom <= pane.bottom + 1;
  });
  await page.focus("#grid");
  for (let n = 0; n < 6; n += 1) await page.keyboard.press("j");
  await eventually(async () => assert.ok(await inSight()));
  await page.keyboard.press("Enter");
  await page.waitForSelector("#detail .pair pre");
  await eventually(async () => assert.ok(await inSight(), "it is behind the message"));
  assert.ok(await page.$eval("#detail", (box) => box.clientHeight) >= 120);
  // A bar without words takes no room.
  await eventually(async () => assert.equal(await page.isVisible("footer"), false));
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await eventually(async () => assert.equal(await page.$eval("dialog", (box) => box.scrollTop), 0));
  assert.ok(await page.isVisible("dialog kbd"));
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 640);
}, ZOOMED);

onPage("find goes through rows without leaving out the others", async (page) => {
  const all = await matches(page);
  await page.focus("#grid");
  await page.keyboard.press("f");
  await page.keyboard.type("tool:divide");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /1 of \d/.test(document.getElementById("hits").textContent));
  await eventually(async () => assert.match(await page.textContent("#grid [aria-selected=true]"), /divide/));
  await page.focus("#grid");
  await page.keyboard.press("n");
  await page.waitForFunction(() => /2 of \d/.test(document.getElementById("hits").textContent));
  await page.keyboard.press("N");
  await page.waitForFunction(() => /1 of \d/.test(document.getElementById("hits").textContent));
  assert.equal(await matches(page), all);
  await page.waitForSelector("#grid .row.hit");
});

onPage("what is found is marked, however late the page hears of it", async (page) => {
  let asked = 0;
  await page.route(/\/api\/rows\?.*find=/, async (route) => {
    asked += 1;
    if (asked > 1) return route.continue();
    // The rows as they are before the search has looked at them, which come when it has.
    const early = await route.fetch({ url: route.request().url().replace(/&find=\d+/, "") });
    await page.waitForFunction(() => /\d found$/.test(document.getElementById("hits").textContent));
    await route.fulfill({ response: early });
  });
  await page.focus("#grid");
  await page.keyboard.press("f");
  await page.keyboard.type("tool:divide");
  await page.waitForSelector("#grid .row.hit");
  assert.ok(asked > 1);
});

onPage("errors: only them, and from one to the next", async (page) => {
  await page.focus("#grid");
  await page.keyboard.press("e");
  await page.waitForSelector("#grid .row.bad[aria-selected=true]");
  await page.click("#errors");
  await page.waitForFunction(() => / of /.test(document.getElementById("matches").textContent));
  await page.waitForTimeout(300);
  await eventually(async () => { for (const row of await rows(page)) assert.match(row, /✗/); });
});

onPage("marks, and the time since a marked row", async (page) => {
  await page.focus("#grid");
  for (const key of ["j", "j", "j", "m", "j", "j"]) await page.keyboard.press(key);
  await page.waitForSelector("#grid .row.marked");
  await eventually(async () => assert.match(await page.textContent("#grid .row.marked .number"), /★/));
  await eventually(async () => assert.equal(await page.inputValue("#time"), "mark"));
  await eventually(async () => assert.match(await page.textContent("#grid [aria-selected=true] .time"), /^\+/));
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
  // What was no HTTP has no command of curl.
  assert.equal(await page.$("[data-copy=curl]"), null);
  const [sent, came] = (await copied("transcript")).trim().split("\n");
  assert.equal(json(sent.slice(2)).id, json(came.slice(2)).id);
  assert.equal(json(await copied("json")).method, "tools/call");
  const link = await copied("link");
  const row = new URLSearchParams(new URL(link).hash.slice(1)).get("row");
  const other = await open(browser, link);
  await other.waitForSelector("#detail h2");
  await eventually(async () => assert.match(await other.textContent("#detail"), new RegExp(`#${row} `)));
  await other.context().close();
});

onPage("a link shows its row, however late the page hears of it", async (page) => {
  await filter(page, "tool:add status:ok");
  await page.click("#grid .body .row >> nth=5");
  await page.waitForSelector("#detail h2");
  const link = `${page.url()}&t=${new URL(view.url).hash.slice(3)}`;
  const row = new URL(link).hash.match(/row=(\d+)/)[1];
  const other = await open(browser, link, {
    // What comes after the first news comes a second late.
    prepare: (context) => context.addInitScript(() => {
      const ask = window.fetch;
      window.fetch = async (address, options) => {
        const answer = await ask(address, options);
        if (!String(address).endsWith("api/feed")) return answer;
        let wait = 0;
        const late = new TransformStream({
          async transform(part, out) {
            await new Promise((done) => setTimeout(done, wait));
            wait = 1000;
            out.enqueue(part);
          },
        });
        return new Response(answer.body.pipeThrough(late), answer);
      };
    }),
  });
  await other.waitForSelector("#detail h2");
  await eventually(async () => assert.match(await other.textContent("#detail"), new RegExp(`#${row} `)));
  await other.waitForSelector("#grid .row[aria-selected=true] .number");
  await eventually(async () => assert.equal(await other.textContent("#grid .row[aria-selected=true] .number"), row));
  assert.deepEqual(other.problems, []);
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
  await keys("Enter", "j", "j", "Enter");
  await page.waitForSelector("#detail pre.json");
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.id), "detail"));
  await keys("Escape");
  await eventually(async () => assert.equal(await page.evaluate(() => document.activeElement.id), "grid"));
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
    const look = () => page.evaluate(() => {
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
      for (const one of document.querySelectorAll("header *, footer *, #grid .row *, #detail *, #diagram *, #tables *, #dialog *")) {
        const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!own || one.tagName === "OPTION" || one.closest("[hidden]")) continue;
        const [a, b] = [luminance(colour(getComputedStyle(one).color)), luminance(back(one))].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) problems.push(`contrast ${ratio.toFixed(2)}: ${one.className} ${one.textContent.slice(0, 30)}`);
      }
      return [...new Set(problems)];
    });
    assert.deepEqual(await look(), []);
    for (const [key, there] of [["2", "#diagram .label"], ["3", "#tables tbody tr"], ["?", "#dialog[open] kbd"]]) {
      await page.keyboard.press(key);
      await page.waitForSelector(there);
      assert.deepEqual(await look(), [], there);
    }
  }, { colorScheme, reducedMotion: "reduce" });
}

test("view: the types of the page's scripts hold", T, () => {
  const options = "--checkJs --allowJs --noEmit --strict --target es2023 --module esnext --moduleResolution bundler --lib es2023,dom,dom.iterable";
  const app = join(import.meta.dirname, "../crates/cli/src/view/page/app.js");
  execFileSync("node_modules/.bin/tsc", [...options.split(" "), app], { stdio: "inherit", cwd: import.meta.dirname });
});
