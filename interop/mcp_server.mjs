// A server with the TypeScript MCP SDK, called by the client of `sabir-mcp`: on standard input and output, or with
// `http` on a free port, which it says. With `protected` and the URL of an authorization server it takes only tokens of
// that, by what the SDK has for it.

import {
    acceptedContent,
    createMcpHandler,
    getOAuthProtectedResourceMetadataUrl,
    inputRequired,
    inputResponse,
    isLegacyRequest,
    McpServer,
    OAuthError,
    OAuthErrorCode,
    oauthMetadataResponse,
    requireBearerAuth,
    WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { z } from "zod";

let tellGone;
const gone = new Promise(done => (tellGone = done));
const text = text => ({ content: [{ type: "text", text }] });

function progress(ctx, progress, total) {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    return ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total } });
}

function everything() {
    const server = new McpServer({ name: "typescript", version: "0" });
    const add = z.object({ a: z.number(), b: z.number() });
    server.registerTool("add", { inputSchema: add }, async ({ a, b }) => text(String(a + b)));
    server.registerTool("count", { inputSchema: z.object({ steps: z.number() }) }, async ({ steps }, ctx) => {
        for (let step = 1; step <= steps; step++) await progress(ctx, step, steps);
        return text("done");
    });
    server.registerTool("wait", { inputSchema: z.object({}) }, async (_, ctx) => {
        const { signal } = ctx.mcpReq;
        const cancelled = new Promise(done => signal.addEventListener("abort", done));
        await progress(ctx, 0);
        await cancelled;
        tellGone();
        return text("nobody hears this");
    });
    server.registerTool("cancelled", { inputSchema: z.object({}) }, async () => {
        await gone;
        return text("yes");
    });
    server.registerTool("greet", { inputSchema: z.object({}) }, async (_, ctx) => {
        const name = z.object({ name: z.string() });
        const { inputResponses } = ctx.mcpReq;
        const answer = acceptedContent(inputResponses, "who", name);
        const said = inputResponse(inputResponses, "greeting");
        if (answer && said.kind === "sampling") return text(`Hello, ${answer.name}: ${said.result.content.text}`);
        const messages = [{ role: "user", content: { type: "text", text: "Hi" } }];
        return inputRequired({
            inputRequests: {
                who: inputRequired.elicit({ message: "Who are you?", requestedSchema: name }),
                greeting: inputRequired.createMessage({ messages, maxTokens: 10 }),
            },
        });
    });
    server.registerTool("who", { inputSchema: z.object({}) }, async (_, ctx) => {
        const { authInfo } = ctx.http ?? {};
        return text(authInfo ? `${authInfo.clientId} ${authInfo.scopes}` : "anybody");
    });
    return server;
}

// Sessions for the legacy era, where a tool that asks needs one; every request for itself in the modern one.
const modern = createMcpHandler(everything, { legacy: "reject" });
const sessions = new Map();

async function legacy(request, options) {
    const known = sessions.get(request.headers.get("mcp-session-id"));
    if (known) return known.handleRequest(request, options);
    const transport = new WebStandardStreamableHTTPServerTransport({
        sessionIdGenerator: () => crypto.randomUUID(),
        onsessioninitialized: id => void sessions.set(id, transport),
    });
    await everything().connect(transport);
    return transport.handleRequest(request, options);
}

/** Answers what must not be served, and says who calls otherwise. */
async function protection(url, issuer) {
    const found = await fetch(`${issuer}/.well-known/openid-configuration`);
    const metadata = { oauthMetadata: await found.json(), resourceServerUrl: url, scopesSupported: ["mcp"] };
    const verifier = {
        async verifyAccessToken(token) {
            const body = new URLSearchParams({ token });
            const claims = await (await fetch(`${issuer}/introspect`, { method: "POST", body })).json();
            if (!claims.active) throw new OAuthError(OAuthErrorCode.InvalidToken, "the token is not active");
            if (claims.aud !== url.href) throw new OAuthError(OAuthErrorCode.InvalidToken, "it is for somebody else");
            return { token, clientId: claims.client_id, scopes: claims.scope.split(" "), expiresAt: claims.exp };
        },
    };
    const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(url);
    const gate = requireBearerAuth({ verifier, requiredScopes: ["mcp"], resourceMetadataUrl });
    return async request => oauthMetadataResponse(request, metadata) ?? (await gate(request));
}

let guard = async () => undefined;

async function served(request) {
    const authInfo = await guard(request);
    if (authInfo instanceof Response) return authInfo;
    const isLegacy = await isLegacyRequest(request.clone());
    return isLegacy ? legacy(request, { authInfo }) : modern.fetch(request, { authInfo });
}

async function answer(incoming, outgoing) {
    const left = new AbortController();
    outgoing.on("close", () => left.abort());
    const { method, headers, url } = incoming;
    const body = method === "POST" ? { body: Readable.toWeb(incoming), duplex: "half" } : {};
    const request = new Request(`http://${headers.host}${url}`, { method, headers, signal: left.signal, ...body });
    const response = await served(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    for await (const chunk of response.body ?? []) outgoing.write(chunk);
    outgoing.end();
}

const [how, issuer] = process.argv.slice(2);
if (how === "http" || how === "protected") {
    // Whoever has left is not answered.
    const server = createServer((incoming, outgoing) => answer(incoming, outgoing).catch(() => outgoing.destroy()));
    server.listen(0, "127.0.0.1", async () => {
        const url = new URL(`http://127.0.0.1:${server.address().port}/mcp`);
        if (issuer) guard = await protection(url, issuer);
        console.log(url.href);
    });
} else {
    serveStdio(everything);
}
