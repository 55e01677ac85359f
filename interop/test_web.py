"""httpx, jsonrpcclient and websockets as clients of one port; aria2c as a server that `sabir call` calls."""

import asyncio
import json
import shutil
import ssl
import tempfile
from contextlib import asynccontextmanager

import httpx
import jsonrpcclient
import websockets

import tap
from program import call, certificate, demo

TOKEN = {"Authorization": "Bearer secret"}


def request(method, params, id=1):
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


async def httpx_posts_a_call():
    async with demo() as (host, port), httpx.AsyncClient() as client:
        answer = await client.post(f"http://{host}:{port}/", json=request("add", [2, 3]))
        tap.check((answer.status_code, answer.json()["result"]), (200, 5))


async def jsonrpcclient_makes_and_parses_messages():
    async with demo() as (host, port), httpx.AsyncClient() as client:
        url = f"http://{host}:{port}/"
        answer = await client.post(url, json=jsonrpcclient.request("subtract", params=[42, 23]))
        tap.check(jsonrpcclient.parse(answer.json()).result, 19)
        answer = await client.post(url, json=jsonrpcclient.request("nothing"))
        tap.check(jsonrpcclient.parse(answer.json()).code, -32601)
        batch = [jsonrpcclient.request("add", params=[n, 1]) for n in range(3)]
        answer = await client.post(url, json=batch)
        tap.check([one.result for one in jsonrpcclient.parse(answer.json())], [1, 2, 3])
        answer = await client.post(url, json=jsonrpcclient.notification("log"))
        tap.check((answer.status_code, answer.content), (202, b""))


async def a_stream_of_progress_comes_before_the_answer():
    async with demo() as (host, port), httpx.AsyncClient() as client:
        params = {"steps": 3, "_meta": {"progressToken": "t"}}
        headers = {"Accept": "application/json, text/event-stream"}
        messages = []
        post = client.stream("POST", f"http://{host}:{port}/", json=request("progress", params), headers=headers)
        async with post as answer:
            tap.check(answer.headers["content-type"], "text/event-stream")
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    messages.append(json.loads(line[6:]))
        tap.check([one["params"]["progress"] for one in messages[:-1]], [1, 2, 3])
        tap.check(messages[-1]["id"], 1)


async def many_calls_at_once_over_kept_connections():
    async with demo() as (host, port), httpx.AsyncClient() as client:
        async def add(n):
            answer = await client.post(f"http://{host}:{port}/", json=request("add", [n, n], n))
            return answer.json()["result"]
        tap.check(await asyncio.gather(*(add(n) for n in range(200))), [2 * n for n in range(200)])


async def the_token_is_asked_for():
    async with demo("--bearer", "secret") as (host, port), httpx.AsyncClient() as client:
        url = f"http://{host}:{port}/"
        refused = await client.post(url, json=request("add", [1, 2]))
        tap.check((refused.status_code, refused.headers["www-authenticate"]), (401, "Bearer"))
        answer = await client.post(url, json=request("add", [1, 2]), headers=TOKEN)
        tap.check(answer.json()["result"], 3)


async def a_page_of_a_stranger_is_refused():
    async with demo() as (host, port), httpx.AsyncClient() as client:
        url = f"http://{host}:{port}/"
        for headers in [{"Origin": "https://evil.example"}, {"Host": "evil.example"}]:
            refused = await client.post(url, json=request("add", [1, 2]), headers=headers)
            assert 400 <= refused.status_code < 500, refused.status_code


async def websockets_call_and_are_called_back():
    async with demo() as (host, port), websockets.connect(f"ws://{host}:{port}/") as socket:
        await socket.send(json.dumps(request("add", [2, 3])))
        tap.check(json.loads(await socket.recv())["result"], 5)
        # Fragments are put together; a message of its own size comes back whole.
        big = "x" * 300_000
        message = json.dumps(request("echo", [big], 2))
        await socket.send([message[:10], message[10:1000], message[1000:]])
        tap.check(json.loads(await socket.recv())["result"], [big])
        await (await socket.ping())


async def websockets_pipeline_a_thousand():
    async with demo() as (host, port), websockets.connect(f"ws://{host}:{port}/") as socket:
        for n in range(1000):
            await socket.send(json.dumps(request("add", [n, 1], n)))
        answers = [json.loads(await socket.recv()) for _ in range(1000)]
        tap.check({one["id"]: one["result"] for one in answers}, {n: n + 1 for n in range(1000)})


async def websockets_that_break_the_rules_are_told_why():
    async with demo() as (host, port):
        for message, code in [(b"binary", 1003), ("x" * (17 << 20), 1009)]:
            async with websockets.connect(f"ws://{host}:{port}/", max_size=None) as socket:
                try:
                    await socket.send(message)
                    await socket.recv()
                    raise AssertionError("still open")
                except websockets.ConnectionClosed as closed:
                    tap.check(closed.rcvd and closed.rcvd.code, code)


async def a_server_that_stops_says_goodbye():
    async with demo() as (host, port):
        socket = await websockets.connect(f"ws://{host}:{port}/")
    try:
        await socket.recv()
        raise AssertionError("still open")
    except websockets.ConnectionClosed as closed:
        tap.check(closed.rcvd.code, 1001)


async def the_same_port_speaks_tls_of_each():
    async with certificate() as (cert, key), demo("--tls-cert", cert, "--tls-key", key) as (host, port):
        context = ssl.create_default_context(cafile=cert)
        async with httpx.AsyncClient(verify=context) as client:
            answer = await client.post(f"https://{host}:{port}/", json=request("add", [2, 3]))
            tap.check(answer.json()["result"], 5)
            answer = await client.post(f"http://{host}:{port}/", json=request("add", [2, 3]))
            tap.check(answer.json()["result"], 5)
        async with websockets.connect(f"wss://{host}:{port}/", ssl=context) as socket:
            await socket.send(json.dumps(request("add", [2, 3])))
            tap.check(json.loads(await socket.recv())["result"], 5)
        reader, writer = await asyncio.open_connection(host, port, ssl=context)
        writer.write(json.dumps(request("add", [2, 3])).encode() + b"\n")
        tap.check(json.loads(await reader.readline())["result"], 5)
        writer.close()
        code, out, err = await call("--cacert", cert, f"https://{host}:{port}/", "add", "2", "3")
        tap.check((code, out), (0, "5\n"))
        code, out, err = await call("--cacert", cert, f"wss://{host}:{port}/", "add", "2", "3")
        tap.check((code, out), (0, "5\n"))
        code, out, err = await call(f"https://{host}:{port}/", "add", "2", "3")
        tap.check(code, 3)


@asynccontextmanager
async def aria2():
    """aria2c with its JSON-RPC server."""
    with tempfile.TemporaryDirectory() as folder:
        for port in range(26800, 26820):
            process = await asyncio.create_subprocess_exec(
                shutil.which("aria2c"), "--enable-rpc", f"--rpc-listen-port={port}", "--rpc-secret=s3",
                "--quiet", "--no-conf", f"--dir={folder}",
            )
            for _ in range(100):
                if process.returncode is not None:
                    break
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.05)
            if process.returncode is None:
                break
        try:
            yield port
        finally:
            process.terminate()
            await process.wait()


async def aria2c_is_called_over_http_and_websocket():
    async with aria2() as port:
        for scheme in ["http", "ws"]:
            url = f"{scheme}://127.0.0.1:{port}/jsonrpc"
            code, out, err = await call(url, "aria2.getVersion", '"token:s3"')
            assert code == 0 and "enabledFeatures" in json.loads(out), (code, out, err)
            code, out, err = await call(url, "aria2.getVersion", '"token:wrong"')
            tap.check(code, 1)
            code, out, err = await call(url, "system.listMethods")
            assert code == 0 and "aria2.addUri" in json.loads(out), (code, out, err)
        code, out, err = await call(f"http://127.0.0.1:{port}/nowhere", "aria2.getVersion")
        tap.check(code, 3)
        assert "404" in err, err


tap.run("web", [
    httpx_posts_a_call,
    jsonrpcclient_makes_and_parses_messages,
    a_stream_of_progress_comes_before_the_answer,
    many_calls_at_once_over_kept_connections,
    the_token_is_asked_for,
    a_page_of_a_stranger_is_refused,
    websockets_call_and_are_called_back,
    websockets_pipeline_a_thousand,
    websockets_that_break_the_rules_are_told_why,
    a_server_that_stops_says_goodbye,
    the_same_port_speaks_tls_of_each,
    aria2c_is_called_over_http_and_websocket,
])
