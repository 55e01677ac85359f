"""Logins between ours and others. The client of the Python MCP SDK logs in to `sabir demo --mcp` by an authorization
server from npm. `sabir` logs in to a server of the Python SDK, on a terminal also in the middle of a command, and no secret
shows up anywhere but in its file."""

import asyncio
import json
import os
import stat
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager

import httpx
from collector import collecting
from line_terminal import on_a_terminal
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl
from program import SABIR, free_port, sabir
from tap import check, run

REDIRECT = "http://localhost:3000/callback"


@asynccontextmanager
async def started(*command, said="stdout"):
    """A program that says its URL at the end of its first line."""
    pipe = {said: asyncio.subprocess.PIPE}
    process = await asyncio.create_subprocess_exec(*command, **pipe)
    try:
        yield (await getattr(process, said).readline()).decode().split()[-1]
    finally:
        process.terminate()
        await process.wait()


class Storage:
    def __init__(self, issuer):
        self.tokens = None
        self.client = OAuthClientInformationFull(client_id="interop", redirect_uris=[AnyUrl(REDIRECT)], issuer=issuer)

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client_info):
        self.client = client_info


async def the_python_sdk_logs_in_to_ours():
    async with started("node", "authority.mjs") as issuer:
        url = f"http://127.0.0.1:{free_port()}/mcp"
        serving = started(SABIR, "demo", "--mcp", "--listen", url, "--issuer", issuer, "--scope", "mcp", said="stderr")
        async with serving:
            for mode in ["legacy", "2026-07-28"]:
                await python_client(url, issuer, mode)


async def python_client(url, issuer, mode):
    returned = {}

    async def goes(to):
        async with httpx.AsyncClient() as browser:
            answer = await browser.get(to)
        returned.update(httpx.URL(answer.headers["location"]).params)

    async def came_back():
        return AuthorizationCodeResult(code=returned["code"], state=returned.get("state"), iss=returned.get("iss"))

    metadata = OAuthClientMetadata(client_name="interop", redirect_uris=[AnyUrl(REDIRECT)])
    storage = Storage(issuer)
    auth = OAuthClientProvider(url, metadata, storage, goes, came_back)
    async with create_mcp_http_client(auth=auth) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            assert len((await client.list_tools()).tools) > 3
    assert storage.tokens.access_token


async def ours_logs_in_to_the_python_sdk():
    with tempfile.TemporaryDirectory() as home:
        env = {"XDG_CONFIG_HOME": home, "HOME": home}
        async with started(sys.executable, "protected_server.py") as url:
            code, out, err = await sabir("call", url, "renewed", "--as", "mcp", env=env)
            check((code, out), (3, ""))
            assert f"sabir auth login {url}" in err, err
            await log_in(url, env)
            path = os.path.join(home, "sabir", "credentials.json")
            check(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            said = []
            for revision in ["mcp@2025-11-25", "mcp@2026-07-28"]:
                code, out, err = await sabir("call", "-v", "--trace", url, "renewed", "--as", revision, env=env)
                said += [out, err]
                assert code == 0, err
            code, out, err = await sabir("list", url, "--as", "mcp", env=env)
            assert code == 0 and "renewed" in out, err
            listed = await sabir("auth", "list", env=env)
            assert url in listed[1], listed
            said += [out, err, *listed[1:], *(await sabir("auth", "list", "--json", env=env))[1:]]
            # The token is renewed a few seconds before it ends.
            for _ in range(20):
                code, out, err = await sabir("call", url, "renewed", "--as", "mcp", env=env)
                check(code, 0)
                if out.strip() != "0":
                    break
                await asyncio.sleep(0.2)
            check(out.strip() != "0", True)
            said += secrets_not_in(said, path)
            check((await sabir("auth", "logout", url, env=env))[0], 0)
            check((await sabir("call", url, "renewed", "--as", "mcp", env=env))[0], 3)


def secrets_not_in(said, path):
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    secrets = [tokens[name] for tokens in kept["tokens"].values() for name in ("access_token", "refresh_token")]
    secrets += [client["client_secret"] for client in kept["registrations"].values() if "client_secret" in client]
    assert secrets
    for text in said:
        for secret in secrets:
            assert secret not in text, text
    # What is sent is not shown either, whichever token it was.
    for text in said:
        for line in text.splitlines():
            assert not line.lower().startswith("> authorization:") or line.endswith("…"), line
    return []


async def log_in(url, env, *options):
    """The user opens the URL that is printed, and the browser follows. What the program says behind that."""
    process = await asyncio.create_subprocess_exec(
        SABIR, "auth", "login", url, "--no-browser", *options, stderr=asyncio.subprocess.PIPE, env={**os.environ, **env}
    )
    line = (await process.stderr.readline()).decode()
    await visit(line.split()[-1])
    rest = (await process.stderr.read()).decode()
    check((await process.wait(), f"logged in to {url}" in rest), (0, True))
    return rest


async def programs_share_a_login():
    """The refresh token is good for one use: whoever sends it second would end the login."""
    with tempfile.TemporaryDirectory() as home:
        env = {"XDG_CONFIG_HOME": home, "HOME": home}
        async with started(sys.executable, "protected_server.py") as url:
            await log_in(url, env)
            path = os.path.join(home, "sabir", "credentials.json")
            with open(path, encoding="utf-8") as file:
                kept = json.load(file)
            kept["tokens"][url]["expires_at"] = 1
            with open(path, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            calls = [sabir("call", url, "renewed", "--as", "mcp@2026-07-28", env=env) for _ in range(4)]
            for code, out, err in await asyncio.gather(*calls):
                check((code, out.strip()), (0, "1")), err
            # Logins to several servers at the same time are all kept.
            async with started(sys.executable, "protected_server.py") as second:
                async with started(sys.executable, "protected_server.py") as third:
                    await asyncio.gather(*(log_in(server, env) for server in (second, third)))
                    listed = (await sabir("auth", "list", env=env))[1]
                    check([server in listed for server in (url, second, third)], [True] * 3)


async def a_tap_logs_in_for_its_clients():
    with tempfile.TemporaryDirectory() as home:
        env = {"XDG_CONFIG_HOME": home, "HOME": home}
        async with started(sys.executable, "protected_server.py") as url:
            await log_in(url, env)
            record = os.path.join(home, "tap.jrl")
            here = f"http://127.0.0.1:{free_port()}/mcp"
            tap = await asyncio.create_subprocess_exec(
                SABIR, "tap", "--login", "--record", record, "--listen", here, url,
                stderr=asyncio.subprocess.PIPE, env={**os.environ, **env},
            )
            try:
                assert b"listening" in await tap.stderr.readline()
                code, out, err = await sabir("call", here, "renewed", "--as", "mcp", env={"HOME": "/nonexistent"})
                check((code, out.strip().isdigit()), (0, True)), err
                body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
                async with httpx.AsyncClient() as client:
                    accept = {"Accept": "application/json, text/event-stream"}
                    for headers in [{"Origin": "https://evil.example"}, {"Host": "evil.example"},
                                    {"Authorization": "Bearer of-its-own"}]:
                        check((await client.post(here, json=body, headers={**accept, **headers})).status_code, 401)
            finally:
                tap.terminate()
                await tap.wait()
            with open(record, encoding="utf-8") as file:
                secrets_not_in([file.read()], os.path.join(home, "sabir", "credentials.json"))


SECRET_TOOL = """#!/bin/sh
# As that of libsecret: the secret comes from standard input, and goes to standard output.
case $1 in
store) cat > "$HOME/keyring" ;;
lookup) cat "$HOME/keyring" 2>/dev/null ;;
esac
"""


async def the_keyring_has_the_key():
    with tempfile.TemporaryDirectory() as home:
        tool = os.path.join(home, "secret-tool")
        with open(tool, "w", encoding="utf-8") as file:
            file.write(SECRET_TOOL)
        os.chmod(tool, 0o755)
        plain = {"XDG_CONFIG_HOME": home, "HOME": home}
        env = {**plain, "PATH": f"{home}:{os.environ['PATH']}", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"}
        async with started(sys.executable, "protected_server.py") as url:
            await log_in(url, env)
            with open(os.path.join(home, "sabir", "credentials.json"), encoding="utf-8") as file:
                check(list(json.load(file)), ["sealed"])
            code, out, err = await sabir("call", url, "renewed", "--as", "mcp", env=env)
            check(code, 0), err
            code, out, err = await sabir("auth", "list", env=env)
            assert url in out and "sealed with a key in your keyring" in err, err
            # Without the key there is no login, and nothing is overwritten.
            code, out, err = await sabir("call", url, "renewed", "--as", "mcp", env={**env, "SABIR_KEYRING": "off"})
            assert code != 0 and "is not to be had" in err, err
            code, out, err = await sabir("auth", "logout", url, env=env)
            check(code, 0), err


async def visit(to):
    """The user opens a URL, and the browser follows."""
    async with httpx.AsyncClient(follow_redirects=True) as browser:
        answer = await browser.get(to)
    assert "You can close this page" in answer.text, answer.text


def config(home):
    return {"XDG_CONFIG_HOME": home, "SABIR_KEYRING": "off"}


async def a_command_on_a_terminal_logs_in_and_is_run_again():
    for command in ["call", "shell"]:
        with tempfile.TemporaryDirectory() as home:
            async with started(sys.executable, "protected_server.py") as url:
                args = [SABIR, command, url, *(["renewed"] if command == "call" else []), "--as", "mcp"]
                async with on_a_terminal(*args, home=home, env=config(home)) as terminal:
                    # There is no browser here, so the user has one elsewhere.
                    await terminal.see("log in at ")
                    to = (await terminal.see("\r\n")).strip()
                    await visit(to)
                    await terminal.see(f"logged in to {url}")
                    if command == "shell":
                        await terminal.see("> ")
                        await terminal.enter("renewed", "0\r\n", "> ")
                        terminal.press("\x04")
                    else:
                        await terminal.see("0\r\n")
                    await terminal.ends()


async def the_browser_is_opened_where_there_is_one():
    with tempfile.TemporaryDirectory() as home:
        opener, opened = os.path.join(home, "xdg-open"), os.path.join(home, "opened")
        with open(opener, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nprintf '%s' \"$1\" > {opened}.new && mv {opened}.new {opened}\n")
        os.chmod(opener, 0o755)
        env = {**config(home), "PATH": f"{home}:{os.environ['PATH']}", "DISPLAY": ":99"}
        async with started(sys.executable, "protected_server.py") as url:
            command = [SABIR, "call", url, "renewed", "--as", "mcp"]
            async with on_a_terminal(*command, home=home, env=env) as terminal:
                await terminal.see("log in with the browser that has opened, or at ")
                to = (await terminal.see("\r\n")).strip()
                while not os.path.exists(opened):
                    await asyncio.sleep(0.05)
                with open(opened, encoding="utf-8") as file:
                    check(file.read(), to)
                await visit(to)
                await terminal.see("0\r\n")
                await terminal.ends()


async def a_tool_that_needs_more_says_what():
    async with started("node", "authority.mjs") as issuer:
        url = f"http://127.0.0.1:{free_port()}/mcp"
        protection = ["--issuer", issuer, "--scope", "mcp", "--scope", "greet=people"]
        with tempfile.TemporaryDirectory() as home:
            env = {**config(home), "HOME": home}
            async with started(SABIR, "demo", "--mcp", "--listen", url, *protection, said="stderr"):
                await log_in(url, env, "--client-id", "interop", "--issuer", issuer)
                command = ["call", url, "greet", "name=Ann", "--as", "mcp"]
                code, out, err = await sabir(*command, env=env)
                check((code, out), (3, ""))
                assert "the token does not allow this: it needs mcp people" in err, err
                assert f"sabir auth login {url} --scope mcp --scope people" in err, err
                # A user is asked, and the command is run again.
                async with on_a_terminal(SABIR, *command, home=home, env=env) as terminal:
                    await terminal.see("log in at ")
                    await visit((await terminal.see("\r\n")).strip())
                    await terminal.see("Hello, Ann!")
                    await terminal.ends()
                check((await sabir(*command, env=env))[:2], (0, "Hello, Ann!\n"))


async def no_secret_is_told():
    """Neither by the program, to people, logs and collectors, nor by a server: of tokens, keys, codes and verifiers."""
    hush = "the-secret-of-the-client"
    with tempfile.TemporaryDirectory() as home, collecting() as (collector, collecting_at):
        env = {**os.environ, **config(home), "HOME": home, "HUSH": hush}
        log = os.path.join(home, "server.log")
        authority = subprocess.Popen(["node", "authority.mjs"], stdout=subprocess.PIPE, text=True)
        try:
            issuer = authority.stdout.readline().strip()
            url = f"http://127.0.0.1:{free_port()}/mcp"
            telemetry = ["--log", "trace", "--otlp", collecting_at]
            protection = ["--issuer", issuer, "--scope", "mcp", "--require-dpop", "--dpop-nonces"]
            with open(log, "w", encoding="utf-8") as said:
                server = subprocess.Popen([SABIR, "demo", "--mcp", "--listen", url, *protection, *telemetry], stderr=said)
            try:
                while "serving on" not in open(log, encoding="utf-8").read():
                    assert server.poll() is None
                    await asyncio.sleep(0.05)
                client = ["--client-id", "interop", "--issuer", issuer, "--client-secret-env", "HUSH"]
                said = [await log_in(url, env, *client)]
                for revision in ["mcp@2025-11-25", "mcp@2026-07-28"]:
                    command = ["call", "-v", "--trace", *telemetry, url, "greet", "name=Ann", "--as", revision]
                    code, out, err = await sabir(*command, env=env)
                    assert code == 0, err
                    said += [out, err]
                # What is refused is logged, too.
                headers = {"Authorization": "Bearer a-token-of-nobody", "Accept": "application/json, text/event-stream"}
                async with httpx.AsyncClient() as http:
                    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
                    check((await http.post(url, json=body, headers=headers)).status_code, 401)
                collector.wait(lambda c: any(span["service"] != "" for span in c.spans), "no span came")
            finally:
                server.terminate()
                server.wait(10)
        finally:
            authority.terminate()
            made_up = authority.communicate(timeout=10)[0].split()
        with open(os.path.join(home, "sabir", "credentials.json"), encoding="utf-8") as file:
            tokens = json.load(file)["tokens"][url]
        with open(log, encoding="utf-8") as file:
            said += [file.read(), str(collector.spans), str(collector.logs), str(collector.metrics)]
    # A code and a verifier at least.
    assert len(made_up) >= 2, made_up
    secrets = [hush, "a-token-of-nobody", tokens["access_token"], tokens["dpop_key"], *made_up]
    secrets += [tokens["refresh_token"]] if "refresh_token" in tokens else []
    # The calls are in the log of the server, and in what the collector was sent.
    assert "tools/call" in said[-4] and "greet" in said[-3]
    for text in said:
        for secret in secrets:
            assert secret not in text, (secret, text)


if __name__ == "__main__":
    run("auth", [the_python_sdk_logs_in_to_ours, ours_logs_in_to_the_python_sdk, programs_share_a_login,
                 a_tap_logs_in_for_its_clients, the_keyring_has_the_key,
                 a_command_on_a_terminal_logs_in_and_is_run_again, the_browser_is_opened_where_there_is_one,
                 a_tool_that_needs_more_says_what, no_secret_is_told])
