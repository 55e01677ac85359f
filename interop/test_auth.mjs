// The client of the TypeScript MCP SDK logs in to `sabir demo --mcp` by an authorization server of others. Both eras.

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, before, test } from "node:test";

async function line(stream) {
    const [said] = await once(stream.setEncoding("utf8"), "data");
    return said.trim().split(" ").at(-1);
}

async function freePort() {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address();
    server.close();
    await once(server, "close");
    return port;
}

let authority, issuer, server, url;
before(async () => {
    authority = spawn(process.execPath, ["authority.mjs"], { stdio: ["ignore", "pipe", "inherit"] });
    issuer = await line(authority.stdout);
    url = new URL(`http://127.0.0.1:${await freePort()}/mcp`);
    const args = ["demo", "--mcp", "--listen", url.href, "--issuer", issuer, "--scope", "mcp"];
    server = spawn(process.env.SABIR, args, { stdio: ["ignore", "ignore", "pipe"] });
    await line(server.stderr);
});
after(() => {
    server.kill();
    authority.kill();
});

/** A user who agrees at once. */
class Provider {
    redirectUrl = "http://localhost:3000/callback";
    clientMetadata = { client_name: "interop", redirect_uris: [this.redirectUrl] };
    clientInformation = () => ({ client_id: "interop" });
    tokens = () => this.kept;
    saveTokens = (tokens) => void (this.kept = tokens);
    saveCodeVerifier = (verifier) => void (this.verifier = verifier);
    codeVerifier = () => this.verifier;
    saveDiscoveryState = (state) => void (this.found = state);
    discoveryState = () => this.found;
    async redirectToAuthorization(to) {
        const answer = await fetch(to, { redirect: "manual" });
        this.returned = new URL(answer.headers.get("location")).searchParams;
    }
}

for (const era of ["legacy", "modern"]) {
    test(`the TypeScript SDK logs in, ${era}`, { timeout: 30_000 }, async () => {
        const authProvider = new Provider();
        const mode = era === "legacy" ? "legacy" : { pin: "2026-07-28" };
        const connect = async () => {
            const client = new Client({ name: "interop", version: "0" }, { versionNegotiation: { mode } });
            const transport = new StreamableHTTPClientTransport(url, { authProvider });
            await client.connect(transport);
            return client;
        };
        await assert.rejects(connect(), UnauthorizedError);
        const transport = new StreamableHTTPClientTransport(url, { authProvider });
        await transport.finishAuth(authProvider.returned);
        const client = await connect();
        const { tools } = await client.listTools();
        assert.ok(tools.length > 3);
        await client.close();
    });
}

test("tokens of every algorithm are taken", { timeout: 30_000 }, async () => {
    const seen = new Set();
    const { token_endpoint } = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
    for (let i = 0; i < 7; i++) {
        const form = { grant_type: "client_credentials", client_id: "interop", resource: url.href, scope: "mcp" };
        const granted = await fetch(token_endpoint, { method: "POST", body: new URLSearchParams(form) });
        const { access_token } = await granted.json();
        seen.add(JSON.parse(Buffer.from(access_token.split(".")[0], "base64url")).alg);
        const accept = "application/json, text/event-stream";
        const headers = { "content-type": "application/json", accept, authorization: `Bearer ${access_token}` };
        const clientInfo = { name: "interop", version: "0" };
        const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
        const answer = await fetch(url, { method: "POST", headers, body });
        assert.equal(answer.status, 200, `${[...seen]}: ${await answer.text()}`);
    }
    assert.equal(seen.size, 7);
});

test("a token of nobody is refused", { timeout: 30_000 }, async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    for (const authorization of [undefined, "Bearer x", "Bearer eyJhbGciOiJub25lIn0.e30."]) {
        const sent = authorization ? { ...headers, authorization } : headers;
        const answer = await fetch(url, { method: "POST", headers: sent, body });
        assert.equal(answer.status, 401);
        assert.match(answer.headers.get("www-authenticate"), /resource_metadata=/);
    }
});
