// A server with the TypeScript MCP SDK, for the client of `sabir-mcp` to visit.

import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

serveStdio(() => {
    const server = new McpServer({ name: "typescript", version: "0" });
    server.registerTool("add", { inputSchema: z.object({ a: z.number(), b: z.number() }) }, async ({ a, b }) => ({
        content: [{ type: "text", text: String(a + b) }],
    }));
    return server;
});
