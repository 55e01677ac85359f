// An authorization server on this machine, by `oauth2-mock-server`: every client and every user is let in. Tokens are
// for the resource that was asked for, and bound to a key where there is a proof of one. Says its URL, and behind that
// each code and verifier that it is sent. Runs until it is ended.

import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { OAuth2Issuer, OAuth2Service } from "oauth2-mock-server";

const issuer = new OAuth2Issuer();
const service = new OAuth2Service(issuer);
// It signs with one after the other.
for (const algorithm of ["RS256", "RS512", "PS256", "PS384", "ES256", "ES384", "EdDSA"]) {
    await issuer.keys.generate(algorithm);
}

// The scope that belongs to a code or a refresh token, and what is said of each access token.
const scopes = new Map();
const issued = new Map();

function scope(asked) {
    return scopes.get(asked.code ?? asked.refresh_token) ?? asked.scope ?? "mcp";
}

/** The name of the key that a request has a proof of (RFC 7638). */
function thumbprint(proof) {
    const { crv, kty, x, y } = JSON.parse(Buffer.from(proof.split(".")[0], "base64url")).jwk;
    return createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
}

service.on("beforeAuthorizeRedirect", ({ url }, request) => {
    const asked = new URL(request.url, issuer.url).searchParams.get("scope");
    if (asked) scopes.set(url.searchParams.get("code"), asked);
});
// The resource is said when the user is sent here, and again when the token is fetched.
service.on("beforeTokenSigning", (token, request) => {
    const asked = request.body ?? {};
    token.payload.aud = asked.resource;
    token.payload.sub = "ada";
    token.payload.client_id = asked.client_id ?? "basic";
    token.payload.scope = scope(asked);
    if (request.headers.dpop) token.payload.cnf = { jkt: thumbprint(request.headers.dpop) };
});
service.on("beforeResponse", ({ body }, request) => {
    for (const secret of [request.body?.code, request.body?.code_verifier]) if (secret) console.log(secret);
    if (!body.access_token) return;
    body.scope = scope(request.body ?? {});
    if (body.refresh_token) scopes.set(body.refresh_token, body.scope);
    if (request.headers.dpop) body.token_type = "DPoP";
    issued.set(body.access_token, JSON.parse(Buffer.from(body.access_token.split(".")[1], "base64url")));
});
service.on("beforeIntrospect", (answer, request) => {
    const claims = issued.get(request.asked.get("token"));
    answer.body = claims ? { ...claims, active: true } : { active: false };
});
const server = createServer(async (request, response) => {
    // The service answers without having read which token it is asked about.
    if (request.url === "/introspect") request.asked = new URLSearchParams(await text(request));
    service.requestHandler(request, response);
});
server.listen(0, "localhost", () => {
    issuer.url = `http://localhost:${server.address().port}`;
    console.log(issuer.url);
});
