"""NATS: PyPI's `nats-py` calls our workers and discovers them, and `sabir` calls its responders. Runs with the server that NATS_SERVER names."""

import asyncio
import json

import nats
import nats.errors
import nats.micro

from nats_server import nats_server, worker
from program import call
from tap import check, run


async def a_request_of_nats_py_is_answered():
    async with nats_server() as port, worker(f"nats://127.0.0.1:{port}/demo"):
        client = await nats.connect(f"nats://127.0.0.1:{port}")
        request = {"jsonrpc": "2.0", "id": "mine", "method": "add", "params": [2, 3]}
        answer = await client.request("jr.demo.rpc", json.dumps(request).encode())
        check(json.loads(answer.data), {"jsonrpc": "2.0", "id": "mine", "result": 5})
        batch = [request, {**request, "id": 2, "params": [4, 5]}]
        answer = await client.request("jr.demo.rpc", json.dumps(batch).encode())
        check([one["result"] for one in json.loads(answer.data)], [5, 9])
        answer = await client.request("jr.demo.rpc", json.dumps({**request, "method": "nothing"}).encode())
        check(json.loads(answer.data)["error"]["code"], -32601)
        # As tools of the micro protocol expect errors.
        check(answer.headers["Nats-Service-Error-Code"], "-32601")
        answers = await asyncio.gather(*(
            client.request("jr.demo.rpc", json.dumps({**request, "params": [n, n]}).encode()) for n in range(200)
        ))
        check([json.loads(answer.data)["result"] for answer in answers], [2 * n for n in range(200)])
        await client.close()


async def nats_py_finds_our_workers():
    async with nats_server() as port, worker(f"nats://127.0.0.1:{port}/demo"), worker(f"nats://127.0.0.1:{port}/demo"):
        client = await nats.connect(f"nats://127.0.0.1:{port}")
        for verb, kind in [("PING", "ping"), ("INFO", "info"), ("STATS", "stats")]:
            inbox = client.new_inbox()
            answers = await client.subscribe(inbox)
            await client.publish(f"$SRV.{verb}.demo", b"", reply=inbox)
            found = [json.loads((await answers.next_msg(5)).data) for _ in range(2)]
            check({one["type"] for one in found}, {f"io.nats.micro.v1.{kind}_response"})
            check({one["name"] for one in found}, {"demo"})
            assert found[0]["id"] != found[1]["id"], found
        info = json.loads((await client.request("$SRV.INFO.demo", b"")).data)
        check(info["endpoints"][0]["subject"], "jr.demo.rpc")
        await client.close()


async def sabir_calls_a_responder_of_nats_py():
    async with nats_server() as port:
        client = await nats.connect(f"nats://127.0.0.1:{port}")

        async def answer(message):
            request = json.loads(message.data)
            result = {"jsonrpc": "2.0", "id": request["id"], "result": sum(request["params"])}
            await message.respond(json.dumps(result).encode())

        await client.subscribe("jr.sums.rpc", queue="q", cb=answer)
        await client.flush()
        check((await call(f"nats://127.0.0.1:{port}/sums", "add", "2", "3"))[:2], (0, "5\n"))
        await client.close()


async def nobody_is_told_at_once():
    async with nats_server() as port:
        code, out, err = await call(f"nats://127.0.0.1:{port}/nobody", "add", "2", "3")
        check((code, out), (3, ""))
        assert "no worker of `nobody` is connected to NATS" in err, err
    code, _, err = await call("nats://127.0.0.1:1/demo", "add", "2", "3")
    check(code, 3)
    code, _, err = await call("nats://127.0.0.1:1", "add", "2", "3")
    assert code == 2 and "names no service" in err, (code, err)


async def a_password_is_never_shown():
    async with nats_server("--user", "me", "--pass", "s3cret") as port:
        url = f"nats://me:s3cret@127.0.0.1:{port}/demo"
        async with worker(url):
            check((await call(url, "add", "2", "3"))[:2], (0, "5\n"))
        for wrong in [url, url.replace("s3cret", "wr0ng")]:
            code, out, err = await call(wrong, "add", "2", "3")
            check(code, 3)
            assert "s3cret" not in out + err and "wr0ng" not in out + err, err


run("nats", [
    a_request_of_nats_py_is_answered,
    nats_py_finds_our_workers,
    sabir_calls_a_responder_of_nats_py,
    nobody_is_told_at_once,
    a_password_is_never_shown,
])
