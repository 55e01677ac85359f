"""A protected server with the Python MCP SDK, which is its own authorization server: clients register themselves, and
every user agrees at once. Tokens last for a moment, so that they have to be renewed. Says its URL."""

import asyncio
import secrets
import socket
import time

import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthToken

LIFE = 12


class Authority:
    def __init__(self):
        self.clients, self.codes, self.tokens, self.refreshes, self.renewed = {}, {}, {}, {}, 0

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = AuthorizationCode(code=secrets.token_urlsafe(32), scopes=params.scopes or ["mcp"],
                                 expires_at=time.time() + 60, client_id=client.client_id,
                                 code_challenge=params.code_challenge, redirect_uri=params.redirect_uri,
                                 redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
                                 resource=params.resource)
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    def issue(self, client, scopes, resource):
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.tokens[access] = AccessToken(token=access, client_id=client.client_id, scopes=scopes,
                                          expires_at=int(time.time()) + LIFE, resource=resource)
        self.refreshes[refresh] = (RefreshToken(token=refresh, client_id=client.client_id, scopes=scopes), resource)
        return OAuthToken(access_token=access, token_type="Bearer", expires_in=LIFE, refresh_token=refresh,
                          scope=" ".join(scopes))

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.issue(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refreshes.get(refresh_token, (None, None))[0]

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        _, resource = self.refreshes.pop(refresh_token.token)
        self.renewed += 1
        return self.issue(client, scopes or refresh_token.scopes, resource)

    async def load_access_token(self, token):
        return self.tokens.get(token)

    async def revoke_token(self, token):
        pass


async def main():
    bound = socket.create_server(("127.0.0.1", 0))
    origin = f"http://127.0.0.1:{bound.getsockname()[1]}"
    authority = Authority()
    settings = AuthSettings(issuer_url=origin, resource_server_url=f"{origin}/mcp", required_scopes=["mcp"],
                            validate_token_resource=True,
                            client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["mcp"],
                                                                                  default_scopes=["mcp"]))
    server = MCPServer("protected", auth_server_provider=authority, auth=settings)

    @server.tool()
    def renewed() -> int:
        """How often tokens have been renewed"""
        assert get_access_token() is not None
        return authority.renewed

    config = uvicorn.Config(server.streamable_http_app(), log_level="error")
    print(f"{origin}/mcp", flush=True)
    await uvicorn.Server(config).serve(sockets=[bound])


asyncio.run(main())
