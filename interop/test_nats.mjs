// npm's @nats-io/transport-node calls our workers.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import { once } from "node:events";
import net from "node:net";
import { test } from "node:test";
import { Svcm } from "@nats-io/services";
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

test("nats: services finds a worker", async () => {
  await withWorker(async (client) => {
    await client.request("jr.demo.rpc", request(1, "add", [2, 3]), { timeout: 5000 });
    const services = new Svcm(client).client();
    const gathered = async (answers) => {
      const all = [];
      for await (const answer of await answers) all.push(answer);
      assert.equal(all.length, 1);
      return all[0];
    };
    const ping = await gathered(services.ping("demo"));
    assert.deepEqual([ping.type, ping.name], ["io.nats.micro.v1.ping_response", "demo"]);
    const info = await gathered(services.info("demo", ping.id));
    assert.deepEqual([info.id, info.version, info.metadata], [ping.id, ping.version, ping.metadata]);
    assert.deepEqual(
      info.endpoints.map(({ name, subject, queue_group }) => [name, subject, queue_group]),
      [["rpc", "jr.demo.rpc", "q"]],
    );
    const stats = await gathered(services.stats("demo"));
    assert.deepEqual([stats.id, stats.endpoints[0].num_requests, stats.endpoints[0].num_errors], [ping.id, 1, 0]);
    // The document that it says it has.
    const answer = await client.request("jr.demo.rpc", request(1, "rpc.discover"), { timeout: 5000 });
    const document = answer.string().match(/^\{"jsonrpc":"2\.0","id":1,"result":(.*)\}$/)[1];
    assert.equal(info.metadata.openrpc, `sha256:${createHash("sha256").update(document).digest("hex")}`);
    assert.ok(JSON.parse(document).methods.length > 1);
  });
});

test("nats: what is not JSON is answered with a parse error", async () => {
  await withWorker(async (client) => {
    const answer = await client.request("jr.demo.rpc", "nonsense", { timeout: 5000 });
    assert.equal(answer.json().error.code, -32700);
  });
});
