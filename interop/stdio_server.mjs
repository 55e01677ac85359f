// A server on standard input and output with `vscode-jsonrpc`. It still has much to send when its input is closed. Node.js
// crashes with a trace if nobody reads that.
import { createMessageConnection, StreamMessageReader, StreamMessageWriter } from "vscode-jsonrpc/node";

const writer = new StreamMessageWriter(process.stdout);
const connection = createMessageConnection(new StreamMessageReader(process.stdin), writer);
connection.onRequest("add", (a, b) => a + b);
connection.listen();

// More than a pipe holds. The connection counts as closed by now, its writer does not.
process.stdin.on("end", async () => {
  for (let n = 0; n < 20; n++) {
    await writer.write({ jsonrpc: "2.0", method: "late", params: { n, text: "x".repeat(50_000) } });
  }
  process.stderr.write("finished\n");
});
