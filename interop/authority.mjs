// An authorization server on this machine, by `oauth2-mock-server`: every client and every user is let in. Tokens are
// for the resource that was asked for. Says its URL, and runs until it is ended.

import { OAuth2Server } from "oauth2-mock-server";

const server = new OAuth2Server();
// It signs with one after the other.
for (const algorithm of ["RS256", "RS512", "PS256", "PS384", "ES256", "ES384", "EdDSA"]) {
    await server.issuer.keys.generate(algorithm);
}
// The resource is said when the user is sent here, and again when the token is fetched.
server.service.on("beforeTokenSigning", (token, request) => {
    const asked = request.body ?? {};
    token.payload.aud = asked.resource;
    token.payload.sub = "ada";
    token.payload.client_id = asked.client_id ?? "basic";
    token.payload.scope = asked.scope ?? "mcp";
});
await server.start(0, "localhost");
console.log(server.issuer.url);
