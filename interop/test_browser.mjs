// A page in Chromium talks to one port with fetch, a stream, and WebSocket.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { withDemo } from "./demo.mjs";

const QUIET = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
  // A name of a stranger's that leads to this machine, as one does that was bound again.
  "--host-resolver-rules=MAP rebound.example 127.0.0.1",
];

let browser, pages, origin;

before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: QUIET });
  pages = createServer((_, response) => response.setHeader("content-type", "text/html").end("<title>page</title>"));
  pages.listen(0, "127.0.0.1");
  await once(pages, "listening");
  origin = `http://127.0.0.1:${pages.address().port}`;
});

after(async () => {
  await browser?.close();
  pages?.close();
  pages?.closeAllConnections();
});

/** Runs a function in a page of the origin. */
async function inPage(work, argument) {
  const page = await browser.newPage();
  try {
    await page.goto(origin);
    return await page.evaluate(work, argument);
  } finally {
    await page.close();
  }
}

test("chromium: a page that is allowed fetches", async () => {
  await withDemo(["--allow-origin", origin], async (address) => {
    const result = await inPage(async (address) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "add", params: [2, 3] });
      const headers = { "content-type": "application/json" };
      const answer = await fetch(`http://${address}/`, { method: "POST", headers, body });
      return (await answer.json()).result;
    }, address);
    assert.equal(result, 5);
  });
});

test("chromium: a page that is not allowed gets nothing", async () => {
  await withDemo(["--allow-origin", "https://other.example"], async (address) => {
    const outcome = await inPage(async (address) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "add", params: [2, 3] });
      const headers = { "content-type": "application/json" };
      return fetch(`http://${address}/`, { method: "POST", headers, body }).then(() => "read", () => "refused");
    }, address);
    assert.equal(outcome, "refused");
  });
});

test("chromium: progress is streamed to a page", async () => {
  await withDemo(["--allow-origin", origin], async (address) => {
    const text = await inPage(async (address) => {
      const params = { steps: 3, _meta: { progressToken: "t" } };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "progress", params });
      const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
      const answer = await fetch(`http://${address}/`, { method: "POST", headers, body });
      let text = "";
      for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) text += chunk;
      return text;
    }, address);
    assert.deepEqual(text.match(/"progress":\d/g), ['"progress":1', '"progress":2', '"progress":3']);
    assert.match(text, /"id":1,"result"/);
  });
});

test("chromium: a WebSocket of a page calls, and is called back", async () => {
  await withDemo(["--allow-origin", origin], async (address) => {
    const seen = await inPage((address) => new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://${address}/`);
      const seen = [];
      socket.onerror = () => reject(new Error("the socket failed"));
      socket.onopen = () => socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ask", params: ["sure?"] }));
      socket.onmessage = ({ data }) => {
        const message = JSON.parse(data);
        seen.push(message.method ?? message.result);
        if (message.method) socket.send(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: "yes" }));
        else { socket.close(); resolve(seen); }
      };
    }), address);
    assert.equal(seen.length, 2);
    assert.equal(typeof seen[0], "string");
  });
});

test("chromium: a WebSocket of a stranger's page is refused", async () => {
  await withDemo(["--allow-origin", "https://other.example"], async (address) => {
    const outcome = await inPage((address) => new Promise((resolve) => {
      const socket = new WebSocket(`ws://${address}/`);
      socket.onerror = () => resolve("refused");
      socket.onopen = () => resolve("open");
    }), address);
    assert.equal(outcome, "refused");
  });
});

test("chromium: a page on a name that was bound again executes nothing", async () => {
  for (const scheme of ["tcp", "http"]) {
    await withDemo([], async (address) => {
      const port = address.split(":")[1].split("/")[0];
      const there = `http://rebound.example:${port}`;
      const page = await browser.newPage();
      try {
        // The page came from its own server, before the name was bound again: from then on it calls its own origin.
        const html = { contentType: "text/html", body: "<title>page</title>" };
        await page.route(`${there}/page`, (route) => route.fulfill(html));
        await page.goto(`${there}/page`);
        const outcomes = await page.evaluate(async () => {
          const line = JSON.stringify({ jsonrpc: "2.0", method: "update", params: ["from a page"] });
          const body = `\n${line}\n${line}\n`;
          const outcomes = [];
          for (const method of ["FOO", "patch", "QUERY", "Content-Length", "POST", "PUT"]) {
            for (const type of ["text/plain", "application/json"]) {
              const answer = fetch("/", { method, headers: { "content-type": type }, body });
              outcomes.push(await answer.then(({ status }) => status, () => 0));
            }
          }
          return outcomes;
        });
        assert.deepEqual(outcomes.filter((status) => status >= 200 && status < 300), []);
      } finally {
        await page.close();
      }
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "notes" });
      const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body });
      assert.deepEqual((await answer.json()).result, []);
    }, scheme);
  }
});
