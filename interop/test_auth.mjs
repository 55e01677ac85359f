// The client of the TypeScript MCP SDK logs in to `sabir demo --mcp`, and `sabir` to a server of that SDK, by an
// authorization server of others. Both eras.

import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client";
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** A token of the authorization server for a resource. */
async function granted(resource) {
    const { token_endpoint } = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
    const form = { grant_type: "client_credentials", client_id: "interop", resource, scope: "mcp" };
    const answer = await fetch(token_endpoint, { method: "POST", body: new URLSearchParams(form) });
    return (await answer.json()).access_token;
}

/** What a server answers to the opening of a session with a token. */
function opened(url, token) {
    const accept = "application/json, text/event-stream";
    const headers = { "content-type": "application/json", accept, authorization: `Bearer ${token}` };
    const clientInfo = { name: "interop", version: "0" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    return fetch(url, { method: "POST", headers, body });
}

test("tokens of every algorithm are taken", { timeout: 30_000 }, async () => {
    const seen = new Set();
    for (let i = 0; i < 7; i++) {
        const token = await granted(url.href);
        seen.add(JSON.parse(Buffer.from(token.split(".")[0], "base64url")).alg);
        const answer = await opened(url, token);
        assert.equal(answer.status, 200, `${[...seen]}: ${await answer.text()}`);
    }
    assert.equal(seen.size, 7);
});

test("the authorization server is asked about tokens", { timeout: 30_000 }, async t => {
    const url = `http://127.0.0.1:${await freePort()}/mcp`;
    const protection = ["--issuer", issuer, "--introspection", `${issuer}/introspect`, "--client-id", "demo"];
    const args = ["demo", "--mcp", "--listen", url, ...protection, "--scope", "mcp"];
    const server = spawn(process.env.SABIR, args, { stdio: ["ignore", "ignore", "pipe"] });
    t.after(() => server.kill());
    await line(server.stderr);
    assert.equal((await opened(url, await granted(url))).status, 200);
    assert.equal((await opened(url, await granted("http://127.0.0.1:1/mcp"))).status, 401);
    assert.equal((await opened(url, "unknown")).status, 401);
});

/** Runs the program: its exit code, and what it says. */
function sabir(home, ...args) {
    const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, SABIR_KEYRING: "off" };
    return new Promise(done => {
        const running = execFile(process.env.SABIR, args, { env }, (error, stdout, stderr) => {
            done({ code: error?.code ?? 0, stdout, stderr });
        });
        // The user opens the URL that is printed, and the browser follows.
        running.stderr.on("data", said => {
            const to = /log in at (\S+)/.exec(said)?.[1];
            if (to) fetch(to);
        });
    });
}

test("sabir logs in to a server of the TypeScript SDK", { timeout: 60_000 }, async t => {
    const stdio = ["ignore", "pipe", "inherit"];
    const server = spawn(process.execPath, ["mcp_server.mjs", "protected", issuer], { stdio });
    const home = await mkdtemp(join(tmpdir(), "sabir-"));
    t.after(async () => {
        server.kill();
        await rm(home, { recursive: true });
    });
    const url = await line(server.stdout);
    const refused = await sabir(home, "call", url, "who", "--as", "mcp");
    assert.equal(refused.code, 3, refused.stderr);
    assert.match(refused.stderr, /sabir auth login/);
    const client = ["--client-id", "interop", "--issuer", issuer];
    const login = await sabir(home, "auth", "login", url, "--no-browser", ...client);
    assert.equal(login.code, 0, login.stderr);
    for (const revision of ["2025-11-25", "2026-07-28"]) {
        const called = await sabir(home, "call", url, "who", "--as", `mcp@${revision}`);
        assert.deepEqual([called.code, called.stdout.trim()], [0, "interop mcp"], called.stderr);
    }
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
