// The page of `sabir view` in Firefox: list, filter, detail. All else is tested in Chromium.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { firefox } from "./firefox.mjs";
import { eventually, folder, start } from "./view_page.mjs";
import { session, toolCalls } from "./view_session.mjs";

const ENTER = "\uE007";

test("view: list, filter and detail in Firefox", { timeout: 120_000 }, async () => {
  const capture = join(folder(), "session.jrl");
  await session(["--record", capture], [process.env.SABIR, "demo", "--mcp"], toolCalls);
  const view = await start(["view", capture]);
  const page = await firefox(view.url);
  const text = (selector) => page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`);
  try {
    await eventually(async () => assert.match(await text("#grid .row.req"), /initialize/));
    await page.type("/");
    await eventually(async () => assert.equal(await page.evaluate("document.activeElement.id"), "filter"));
    await page.type(`tool:divide${ENTER}j${ENTER}`);
    await eventually(async () => assert.match(await text("#matches"), /^\d+ of \d+$/));
    await eventually(async () => assert.match(await text("#grid [aria-selected=true]"), /divide/));
    await eventually(async () => assert.match(await text("#detail pre.json"), /"divide"/));
  } finally {
    page.end();
    await view.stop();
  }
});
