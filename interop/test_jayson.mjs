// jayson over HTTP, both ways: its client calls the demo, `sabir call` calls its server.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { promisify } from "node:util";
import jayson from "jayson/promise/index.js";
import { withDemo } from "./demo.mjs";

const run = promisify(execFile);
const call = (...args) => run(process.env.SABIR, ["call", ...args]);

const client = (address) => {
  const [hostname, port] = address.split(":");
  return jayson.Client.http({ hostname, port: Number(port) });
};

test("jayson: its client calls, gets errors, and sends batches", async () => {
  await withDemo([], async (address) => {
    const peer = client(address);
    assert.equal((await peer.request("add", [2, 3])).result, 5);
    assert.equal((await peer.request("nothing", [])).error.code, -32601);
    const batch = [peer.request("add", [1, 1], undefined, false), peer.request("add", [2, 2], undefined, false)];
    const answers = await peer.request(batch);
    assert.deepEqual(answers.map((answer) => answer.result), [2, 4]);
  });
});

test("jayson: 100 calls of its client at once", async () => {
  await withDemo([], async (address) => {
    const peer = client(address);
    const sums = await Promise.all(Array.from({ length: 100 }, (_, n) => peer.request("add", [n, n])));
    assert.deepEqual(sums.map((answer) => answer.result), Array.from({ length: 100 }, (_, n) => 2 * n));
  });
});

test("jayson: its server is called by sabir call", async () => {
  const server = new jayson.Server({
    add: async ([a, b]) => a + b,
    fail: async () => { throw { code: 7, message: "no" }; },
  }).http();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const url = `http://127.0.0.1:${server.address().port}/`;
    assert.equal((await call(url, "add", "2", "3")).stdout, "5\n");
    await assert.rejects(call(url, "fail"), (error) => error.code === 1 && /no/.test(error.stderr));
  } finally {
    server.close();
    server.closeAllConnections();
  }
});
