// npm's @nats-io/transport-node calls our workers.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import { test } from "node:test";
import { connect } from "@nats-io/transport-node";

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  return port;
}

async function reachable(port) {
  for (;;) {
    const socket = net.connect(port, "127.0.0.1");
    try {
      await once(socket, "connect");
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      socket.destroy();
    }
  }
}

/** A server and a worker: calls `use` with a client. */
async function withWorker(use) {
  const port = await freePort();
  const server = spawn(process.env.NATS_SERVER, ["-a", "127.0.0.1", "-p", String(port)], { stdio: "ignore" });
  let worker;
  try {
    await reachable(port);
    worker = spawn(process.env.SABIR, ["demo", "--listen", `nats://127.0.0.1:${port}/demo`], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    await once(worker.stderr, "data");
    const client = await connect({ servers: `127.0.0.1:${port}` });
    await use(client);
    await client.close();
  } finally {
    worker?.kill("SIGKILL");
    server.kill("SIGKILL");
  }
}

const request = (id, method, params) => JSON.stringify({ jsonrpc: "2.0", id, method, params });

test("nats: requests of transport-node are answered", async () => {
  await withWorker(async (client) => {
    const answer = await client.request("jr.demo.rpc", request(7, "add", [2, 3]), { timeout: 5000 });
    assert.deepEqual(answer.json(), { jsonrpc: "2.0", id: 7, result: 5 });
    const sums = await Promise.all(
      Array.from({ length: 200 }, (_, n) => client.request("jr.demo.rpc", request(1, "add", [n, n]), { timeout: 5000 })),
    );
    assert.deepEqual(sums.map((answer) => answer.json().result), Array.from({ length: 200 }, (_, n) => 2 * n));
    const refused = await client.request("jr.demo.rpc", request(1, "nothing", []), { timeout: 5000 });
    assert.equal(refused.json().error.code, -32601);
    assert.equal(refused.headers.get("Nats-Service-Error-Code"), "-32601");
  });
});

test("nats: what is not JSON is answered with a parse error", async () => {
  await withWorker(async (client) => {
    const answer = await client.request("jr.demo.rpc", "nonsense", { timeout: 5000 });
    assert.equal(answer.json().error.code, -32700);
  });
});
