// What the tests of the page share: a browser, the record of a real session, and `sabir view` of it.

import { join } from "node:path";
import { after, before } from "node:test";
import { folder, launch, start } from "./view_page.mjs";
import { session, toolCalls } from "./view_session.mjs";

export const SABIR = process.env.SABIR;
export const T = { timeout: 60_000 };
export const here = folder();
export const capture = join(here, "session.jrl");
/** Both are there once the tests begin. */
export let browser, view;

export const json = (text) => JSON.parse(text);

before(async () => {
  browser = await launch();
  await session(["--record", capture], [SABIR, "demo", "--mcp"], toolCalls);
  view = await start(["view", capture]);
}, T);
after(async () => {
  await browser?.close();
  await view?.stop();
});
