// Servers of others on the port that the variable PORT names: `jayson-tcp`, `jayson-http` or `rpc-websockets`.
import jayson from "jayson/promise/index.js";
import { Server } from "rpc-websockets";

const port = Number(process.env.PORT);
const add = ([a, b]) => a + b;
switch (process.argv[2]) {
  case "jayson-tcp":
    new jayson.Server({ add: async (args) => add(args) }).tcp().listen(port, "127.0.0.1");
    break;
  case "jayson-http":
    new jayson.Server({ add: async (args) => add(args) }).http().listen(port, "127.0.0.1");
    break;
  case "rpc-websockets":
    new Server({ port, host: "127.0.0.1" }).register("add", add);
    break;
  default:
    process.exit(2);
}
