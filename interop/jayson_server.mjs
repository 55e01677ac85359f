// A server with `jayson` over TCP on a free port, which it says.
import jayson from "jayson/promise/index.js";

const server = new jayson.Server({ add: async ([a, b]) => a + b }).tcp();
server.listen(0, "127.0.0.1", () => console.log(`tcp://127.0.0.1:${server.address().port}`));
