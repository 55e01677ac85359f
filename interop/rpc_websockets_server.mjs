// A server with `rpc-websockets` on a free port, which it says: a method, and an event that comes a few times a second.
import { Server } from "rpc-websockets";

const server = new Server({ port: 0, host: "127.0.0.1" });
server.on("listening", () => console.log(`ws://127.0.0.1:${server.wss.address().port}`));
server.register("add", ([a, b]) => a + b);
server.event("feed");
let n = 0;
setInterval(() => server.emit("feed", n++), 50);
