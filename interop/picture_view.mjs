// Makes the pictures of the documents from a real session: the TypeScript SDK's client and `sabir demo --mcp`.
//
// Run with: SABIR=../target/debug/sabir node picture_view.mjs

import { mkdirSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { folder, launch, open, start } from "./view_page.mjs";
import { session, toolCalls } from "./view_session.mjs";

process.env.SABIR = resolve(process.env.SABIR);
process.env.PATH = `${dirname(process.env.SABIR)}${delimiter}${process.env.PATH}`;
const to = resolve(import.meta.dirname, "../docs/images");
mkdirSync(to, { recursive: true });
const capture = join(folder(), "session.jrl");
await session(["--record", capture], ["sabir", "demo", "--mcp"], toolCalls);
const view = await start(["view", capture]);
const browser = await launch();
const page = await open(browser, view.url, { viewport: { width: 1180, height: 560 }, colorScheme: "light" });
await page.waitForSelector("#grid .row.req");
await page.waitForTimeout(1200);
const picture = (name) => page.screenshot({ path: join(to, `view-${name}.png`) });

await page.focus("#grid");
await page.keyboard.press("e");
await page.waitForSelector("#grid [aria-selected=true]");
await page.keyboard.press("Enter");
await page.waitForSelector("#detail pre");
await page.waitForTimeout(300);
await picture("list");
await page.keyboard.press("Escape");
await page.keyboard.press("Home");
await page.keyboard.press("2");
await page.waitForSelector("#diagram .arrow");
await page.waitForTimeout(300);
await picture("sequence");
await page.keyboard.press("3");
await page.waitForSelector("#tables tbody tr");
await page.waitForTimeout(300);
await picture("stats");
await browser.close();
await view.stop();
