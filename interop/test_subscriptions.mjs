// The clients of chains, and of rpc-websockets, against `sabir demo --chain` over WebSocket, and through a proxy to one on
// standard input and output. Each subscribes, gets two items, unsubscribes, subscribes again, and closes.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { WsProvider } from "@polkadot/rpc-provider";
import { createSolanaRpcSubscriptions } from "@solana/kit";
import { WebSocketProvider } from "ethers";
import { Client } from "rpc-websockets";
import { createPublicClient, webSocket } from "viem";
import { Web3 } from "web3";
import { withDemo, withProxy } from "./demo.mjs";

const check = (name, talk) => {
  const use = (address) => talk(`ws://${address}`);
  test(name, { timeout: 30_000 }, () => withDemo(["--chain"], use, "ws"));
  test(`${name}, through a proxy`, { timeout: 30_000 }, () => withProxy(["--chain"], use, "ws"));
};

/** Resolves with the first `count` values that `start` hands to the function that it is given. */
const first = (count, start) =>
  new Promise((resolve, reject) => {
    const values = [];
    start((value) => {
      values.push(value);
      // More may come before the caller goes on.
      if (values.length === count) resolve([...values]);
    }, reject);
  });

/** Numbers that follow each other. */
const follow = (values) => {
  const numbers = values.map(Number);
  assert.deepEqual(numbers, numbers.map((_, n) => numbers[0] + n));
  assert.ok(numbers[0] > 1000, `${numbers[0]}`);
};

check("ethers: blocks, twice", async (url) => {
  const provider = new WebSocketProvider(url);
  for (let round = 0; round < 2; round += 1) {
    follow(await first(2, (next) => provider.on("block", next)));
    await provider.off("block");
  }
  assert.equal((await provider.getNetwork()).chainId, 1337n);
  // It does not wait for the answer to its unsubscribe, which comes before this one.
  await provider.send("eth_blockNumber", []);
  await provider.destroy();
});

check("viem: block numbers and blocks, twice", async (url) => {
  const client = createPublicClient({ transport: webSocket(url, { keepAlive: { interval: 50 } }) });
  for (let round = 0; round < 2; round += 1) {
    let stop;
    follow(await first(2, (onBlockNumber, onError) => {
      stop = client.watchBlockNumber({ onBlockNumber, onError });
    }));
    stop();
  }
  let stop;
  const blocks = await first(2, (onBlock, onError) => {
    stop = client.watchBlocks({ onBlock, onError });
  });
  stop();
  follow(blocks.map((block) => block.number));
  // Its keep-alives, whose id is null, were answered: it would have closed the socket.
  assert.equal(await client.getChainId(), 1337);
  (await client.transport.getRpcClient()).close();
});

check("web3: heads, twice", async (url) => {
  const web3 = new Web3(url);
  for (let round = 0; round < 2; round += 1) {
    const heads = await web3.eth.subscribe("newBlockHeaders");
    const blocks = await first(2, (next, failed) => {
      heads.on("data", next);
      heads.on("error", failed);
    });
    follow(blocks.map((block) => block.number));
    await heads.unsubscribe();
  }
  assert.equal(await web3.eth.getChainId(), 1337n);
  web3.provider.disconnect();
});

check("@polkadot/rpc-provider: heads, twice", async (url) => {
  const provider = new WsProvider(url);
  await provider.isReady;
  for (let round = 0; round < 2; round += 1) {
    let id;
    const heads = await first(2, (next, failed) => {
      const told = (error, head) => (error ? failed(error) : next(head));
      id = provider.subscribe("chain_newHead", "chain_subscribeNewHead", [], told);
    });
    follow(heads.map((head) => head.number));
    id = await id;
    assert.equal(await provider.unsubscribe("chain_newHead", "chain_unsubscribeNewHead", id), true);
    assert.equal(await provider.send("chain_unsubscribeNewHead", [id]), false);
  }
  await provider.disconnect();
});

check("@solana/kit: slots, twice, on one connection and on another", async (url) => {
  for (let connection = 0; connection < 2; connection += 1) {
    const rpc = createSolanaRpcSubscriptions(url, { intervalMs: 50 });
    for (let round = 0; round < 2; round += 1) {
      const abort = new AbortController();
      const slots = [];
      for await (const slot of await rpc.slotNotifications().subscribe({ abortSignal: abort.signal })) {
        slots.push(slot);
        if (slots.length === 2) break;
      }
      abort.abort();
      follow(slots.map((slot) => slot.slot));
      assert.equal(slots[0].parent, slots[0].slot - 1n);
    }
  }
});

check("rpc-websockets: ticks, as notifications of JSON-RPC", async (url) => {
  const client = new Client(url, { reconnect: false });
  await once(client, "open");
  for (let round = 0; round < 2; round += 1) {
    let id;
    const seen = await first(2, (next) => {
      client.on("ticks", next);
      id = client.call("subscribe_ticks", [1_000_000, 1]);
    });
    id = await id;
    assert.deepEqual(seen, [{ subscription: id, result: 0 }, { subscription: id, result: 1 }]);
    client.removeAllListeners("ticks");
    assert.equal(await client.call("unsubscribe_ticks", [id]), true);
    assert.equal(await client.call("unsubscribe_ticks", [id]), false);
  }
  client.close();
});

// Names that begin with `rpc.` are the protocol's: a router has none, and a fallback can give them.
test("rpc-websockets: its own way to subscribe, twice", { timeout: 30_000 }, async () => {
  const server = spawn(process.env.RPC_ON, { stdio: ["pipe", "pipe", "inherit"] });
  try {
    const [line] = await once(server.stdout.setEncoding("utf8"), "data");
    const client = new Client(line.trim(), { reconnect: false });
    await once(client, "open");
    await assert.rejects(client.subscribe("nothing"));
    for (let round = 0; round < 2; round += 1) {
      assert.deepEqual(await client.subscribe("feed"), { feed: "ok" });
      follow((await first(2, (next) => client.on("feed", next))).map(([n]) => 1001 + n));
      client.removeAllListeners("feed");
      assert.deepEqual(await client.unsubscribe("feed"), { feed: "ok" });
    }
    client.close();
  } finally {
    server.kill("SIGKILL");
  }
});

test("rpc-websockets: its own way to subscribe is refused by the demo with a reason", { timeout: 30_000 }, () =>
  withDemo([], async (address) => {
    const client = new Client(`ws://${address}`, { reconnect: false });
    await once(client, "open");
    await assert.rejects(client.subscribe("feed"), (error) => error.code === -32601);
    client.close();
  }, "ws"));
