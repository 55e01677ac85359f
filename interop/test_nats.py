"""NATS: PyPI's `nats-py` calls our workers and discovers them, `sabir` calls its responders, and every command of the
program takes a nats:// URL. Runs with the server that NATS_SERVER names."""

import asyncio
import json
import os
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import nats
import nats.errors
import nats.micro

from collector import collecting
from nats_server import nats_server, worker
from program import SABIR, call, certificate, sabir
from tap import check, run


# A key pair of nobody: its seed is the bytes 0 to 31.
SEED = "SUAAAAICAMCAKBQHBAEQUCYMBUHA6EARCIJRIFIWC4MBSGQ3DQOR4H776Y"
PUBLIC = "UAB2CB576PHBBPQ5ODORRZ2LYCMWPZGWGCN2KDK7DXOIMZASKUY3RLKK"


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
            client.request("jr.demo.rpc", json.dumps({**request, "params": [n, n]}).encode(), timeout=20)
            for n in range(200)
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


async def sabir_lists_services_instances_and_methods():
    async with nats_server() as port:
        host = f"nats://127.0.0.1:{port}"
        code, _, err = await sabir("list", host)
        check(code, 3)
        assert "no service has a worker" in err, err
        client = await nats.connect(host)
        other = await nats.micro.add_service(client, name="clock", version="0.1.0")
        async with worker(f"{host}/demo"), worker(f"{host}/demo"):
            code, out, err = await sabir("list", host)
            check(code, 0)
            assert "demo" in out and "2 instances" in out and "add" in out, out
            assert "(notification) Accepts" in out, out
            assert "clock 0.1.0 (1 instance, not JSON-RPC)" in out, out
            code, out, err = await sabir("list", host, "--json")
            services = {one["service"]: one for one in map(json.loads, out.splitlines())}
            check(sorted(services), ["clock", "demo"])
            check(len(services["demo"]["instances"]), 2)
            assert any(method["name"] == "add" for method in services["demo"]["methods"]), services["demo"]
            check(services["clock"]["methods"], None)
        await other.stop()
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


async def requests(port):
    """How many messages the worker of `demo` has answered."""
    client = await nats.connect(f"nats://127.0.0.1:{port}")
    stats = json.loads((await client.request("$SRV.STATS.demo", b"")).data)
    await client.close()
    return stats["endpoints"][0]["num_requests"]


async def every_command_takes_a_service():
    async with nats_server() as port, worker(f"nats://127.0.0.1:{port}/demo"):
        url = f"nats://127.0.0.1:{port}/demo"
        check((await call(url, "add", "2", "3"))[:2], (0, "5\n"))
        code, out, _ = await sabir("list", url)
        assert code == 0 and "add" in out, out
        code, out, _ = await sabir("describe", url, "add")
        assert code == 0 and "add" in out, out
        code, out, err = await sabir("shell", url, stdin="add 2 3\n")
        assert code == 0 and "5" in out, (out, err)
        code, out, err = await sabir("subscribe", url, "tick", "5", "--count", "3")
        check((code, len(out.splitlines())), (0, 3))
        code, out, err = await sabir("subscribe", url, "subscribe_ticks", "5", "1", "--count", "3")
        check((code, len(out.splitlines())), (0, 3))
        # Each message is shown by itself.
        code, out, err = await call(url, "tick", "2", "--trace")
        check((code, len([line for line in err.splitlines() if line.startswith("<")])), (0, 3))
        code, out, err = await sabir("check", url)
        check((code, err if code else ""), (0, ""))
        batch = '[{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]},{"jsonrpc":"2.0","id":2,"method":"add","params":[3,4]}]'
        code, out, err = await call(url, "--batch", "-", "--json", stdin=batch)
        check((code, [json.loads(one)["result"] for one in out.splitlines()] if code == 0 else err), (0, [3, 7]))
        code, out, err = await sabir("bench", url, "add", "1", "2", "--duration", "200ms")
        assert code == 0 and " 0 errors" in out, (out, err)
        # Numbers are compared by their value.
        code, out, err = await sabir("bench", url, "add", "1", "2", "--count", "10", "--expect", "3.0")
        assert code == 0 and " 0 errors" in out, (out, err)
        before = await requests(port)
        # A batch is one message: the first call, and ten of them.
        code, out, err = await sabir("bench", url, "add", "1", "2", "--count", "100", "--batch", "10", "--json")
        measured = json.loads(out)["rounds"][0] if code == 0 else err
        check((code, measured["ok"], measured["bytes_out"]), (0, 100, None))
        check(await requests(port) - before, 11)
        code, out, err = await sabir("generate", "--lang", "python", url)
        assert code == 0 and "def add(" in out, (out[:500], err)


async def a_tap_records_what_goes_to_a_service():
    async with nats_server() as port, worker(f"nats://127.0.0.1:{port}/demo"):
        url = f"nats://127.0.0.1:{port}/demo"
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder) / "tapped.jrl"
            tap = await asyncio.create_subprocess_exec(
                SABIR, "tap", "--record", str(record), "--listen", "tcp://127.0.0.1:0", url,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                line = (await tap.stderr.readline()).decode()
                at = line.split("listening at ")[1].split(",")[0]
                # The spaces of a client stay as they are.
                reader, writer = await asyncio.open_connection("127.0.0.1", int(at.rsplit(":", 1)[1]))
                request = b'{ "jsonrpc":"2.0",  "id" : "mine", "method":"add", "params":[2,3] }\n'
                writer.write(request)
                check(await reader.readline(), b'{"jsonrpc":"2.0","id":"mine","result":5}\n')
                writer.close()
                check((await call(at, "add", "4", "5"))[:2], (0, "9\n"))
                large = json.dumps(["x" * 3_000_000])
                code, out, err = await call(at, "echo", "-d", "-", stdin=large)
                check((code, err, len(out)), (0, "", len(large) + 1))
            finally:
                tap.terminate()
                await tap.wait()
            texts = [json.loads(line) for line in record.read_text().splitlines()]
            messages = [one for one in texts if "mine" in json.dumps(one)]
            check(len(messages), 2)
            assert request.decode().strip() in record.read_text().replace('\\"', '"'), record.read_text()[:1000]
        for listen, target, part in [
            (url, url, "a tap cannot listen behind NATS"),
            ("http://127.0.0.1:0/", url, "do not fit together"),
            ("tcp://127.0.0.1:0", f"nats://127.0.0.1:{port}", "names no service"),
        ]:
            code, _, err = await sabir("tap", "--listen", listen, target)
            assert code == 2 and part in err, (code, err)


async def what_is_wrong_with_a_url_is_told():
    code, _, err = await sabir("demo", "--listen", "nats://127.0.0.1")
    assert code == 2 and "names no service" in err and "nats://HOST/SERVICE" in err and "tcp://" not in err, err
    code, _, err = await call("nats://127.0.0.1/", "add")
    assert code == 2 and "write it as nats://127.0.0.1/SERVICE" in err, err
    for options in (["--framing", "lines"], ["--allow-host", "a.example"], ["--bearer", "x"]):
        code, _, err = await sabir("demo", "--listen", "nats://127.0.0.1:1/demo", *options)
        assert code == 2 and f"{options[0]} cannot be used with nats://" in err, (options, code, err)
    code, _, err = await sabir("call", "nats://127.0.0.1:1/demo", "add", env={"NATS_NKEY": "/dev/null"})
    assert code == 3 and "not the seed of a key pair" in err, (code, err)


async def variables_sign_in():
    with tempfile.TemporaryDirectory() as folder:
        password = {"NATS_USER": "me", "NATS_PASSWORD": "s3cret"}
        seed = Path(folder) / "user.nk"
        seed.write_text(SEED + "\n")
        config = Path(folder) / "nkey.conf"
        config.write_text(f"authorization {{ users: [ {{ nkey: {PUBLIC} }} ] }}\n")
        for args, env in [
            (["--user", "me", "--pass", "s3cret"], password),
            (["--auth", "t0ken"], {"NATS_TOKEN": "t0ken"}),
            (["-c", str(config)], {"NATS_NKEY": str(seed)}),
        ]:
            async with nats_server(*args) as port:
                url = f"nats://127.0.0.1:{port}/demo"
                code, _, err = await sabir("call", url, "add", "2", "3")
                check(code, 3)
                async with worker(url, env=env):
                    code, out, err = await sabir("call", url, "add", "2", "3", env=env)
                    check((code, out, err), (0, "5\n", ""))
                    code, out, err = await sabir("list", f"nats://127.0.0.1:{port}", env=env)
                    assert code == 0 and "demo" in out, (out, err)
        code, _, err = await sabir("call", "nats://127.0.0.1:1/demo", "add", env={"NATS_CREDS": f"{folder}/missing"})
        assert code == 3 and "which NATS_CREDS names" in err, (code, err)


async def an_account_with_the_smallest_rights_calls_and_lists():
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "rights.conf"
        config.write_text("""authorization { users = [
          { user: worker, password: secret, permissions: {
              subscribe: ["jr.demo.>", "$SRV.>"], allow_responses: { max: 1000, expires: "1h" } } }
          { user: caller, password: secret, permissions: {
              publish: ["jr.demo.>", "$SRV.>"], subscribe: ["_INBOX_caller.>"] } }
          { user: stranger, password: secret, permissions: {
              publish: ["other.>"], subscribe: ["_INBOX.>"] } }
        ] }""")
        async with nats_server("-c", str(config)) as port:
            url = f"nats://127.0.0.1:{port}/demo"
            async with worker(url, env={"NATS_USER": "worker", "NATS_PASSWORD": "secret"}):
                caller = {"NATS_USER": "caller", "NATS_PASSWORD": "secret"}
                code, _, err = await sabir("call", url, "add", "2", "3", env=caller)
                assert code == 3 and "NATS_INBOX_PREFIX" in err, (code, err)
                caller["NATS_INBOX_PREFIX"] = "_INBOX_caller"
                check(await sabir("call", url, "add", "2", "3", env=caller), (0, "5\n", ""))
                code, out, err = await sabir("list", f"nats://127.0.0.1:{port}", env=caller)
                assert code == 0 and "demo" in out, (out, err)
                stranger = {"NATS_USER": "stranger", "NATS_PASSWORD": "secret"}
                code, _, err = await sabir("call", url, "add", "2", "3", env=stranger)
                assert code == 3 and "does not allow to call" in err and "may lack a right" in err, (code, err)
                code, _, err = await sabir("list", f"nats://127.0.0.1:{port}", env=stranger)
                assert code == 3 and "does not allow to ask" in err, (code, err)


async def an_authority_is_trusted_by_option():
    async with certificate() as (cert, key):
        async with nats_server("--tls", "--tlscert", cert, "--tlskey", key) as port:
            url = f"nats+tls://127.0.0.1:{port}/demo"
            async with worker(url, env={"NATS_CA": cert}):
                check(await sabir("call", "--cacert", cert, url, "add", "2", "3"), (0, "5\n", ""))
                code, out, err = await sabir("list", "--cacert", cert, f"nats+tls://127.0.0.1:{port}")
                assert code == 0 and "demo" in out, (out, err)
            code, _, err = await sabir("call", "--insecure", url, "add", "2", "3")
            assert code == 2 and "--insecure cannot be used" in err, (code, err)
            code, _, err = await sabir("call", url, "add", "2", "3")
            assert code == 3 and "the server's certificate" in err and "--cacert or NATS_CA" in err, (code, err)
        async with nats_server() as port:
            code, _, err = await sabir("call", f"nats+tls://127.0.0.1:{port}/demo", "add", "2", "3")
            assert code == 3 and "does not speak TLS" in err and "nats:// is for servers without TLS" in err, (code, err)


async def a_session_of_mcp_stays_with_its_worker():
    async with nats_server() as port:
        url = f"nats://127.0.0.1:{port}/tools"
        async with worker(url, "--mcp"), worker(url, "--mcp"):
            check((await call(url, "add", "a=2", "b=3"))[:2], (0, "5\n"))
            code, out, err = await sabir("list", url)
            assert code == 0 and "test_simple_text" in out, (out, err)
            # Each run has a connection for its first call and one for the others: one worker has both only by chance.
            for _ in range(4):
                code, out, err = await sabir("bench", url, "add", "a=2", "b=3", "--count", "40")
                assert code == 0 and "40 answered, 0 errors" in out, (code, out, err)
        # A worker that comes back has no session; the run opens another one.
        async with AsyncExitStack() as first:
            one = await first.enter_async_context(worker(url, "--mcp"))
            bench = asyncio.create_task(sabir(
                "bench", url, "add", "a=2", "b=3", "--rate", "20", "--duration", "6s", "--warmup", "0s", "--json"
            ))
            await asyncio.sleep(2)
            one.kill()
            await one.wait()
            async with worker(url, "--mcp"):
                code, out, err = await bench
        round = json.loads(out)["rounds"][0]
        last = [sample for sample in round["samples"] if sample["sent"]][-1]
        assert code == 0 and last["ok"] > 0, (code, err, round)


@asynccontextmanager
async def tap(*args):
    """A tap that prints rows: where it listens, and its lines."""
    process = await asyncio.create_subprocess_exec(
        SABIR, "tap", "--print", "--listen", "tcp://127.0.0.1:0", *args, stderr=asyncio.subprocess.PIPE
    )
    try:
        line = (await process.stderr.readline()).decode()
        yield line.split("listening at ")[1].split(",")[0], process.stderr
    finally:
        process.terminate()
        await process.wait()


async def row(lines, part):
    """The next line that has something in it."""
    while line := (await lines.readline()).decode():
        if part in line:
            return line
    raise AssertionError(f"no line has {part}")


async def a_tap_signs_in_by_its_url():
    async with nats_server("--user", "me", "--pass", "s3cret") as port:
        url = f"nats://me:s3cret@127.0.0.1:{port}/demo"
        async with worker(url), tap(url) as (at, _):
            check((await call(at, "add", "2", "3"))[:2], (0, "5\n"))


async def a_tap_tells_why_nats_has_failed():
    async with nats_server() as port:
        async with tap(f"nats://127.0.0.1:{port}/nobody") as (at, lines):
            code, _, _ = await call(at, "add", "2", "3")
            assert code != 0
            assert "no worker is connected to NATS for `nobody`" in await row(lines, "close"), "close"
        url = f"nats://127.0.0.1:{port}/demo"
        async with AsyncExitStack() as workers:
            await workers.enter_async_context(worker(url))
            async with tap(url) as (at, lines):
                reader, writer = await asyncio.open_connection("127.0.0.1", int(at.rsplit(":", 1)[1]))
                writer.write(b'{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}\n')
                check(await reader.readline(), b'{"jsonrpc":"2.0","id":1,"result":5}\n')
                await workers.aclose()
                check(await reader.read(), b"")
                writer.close()
                assert "the worker has stopped" in await row(lines, "close"), "close"


async def a_saved_target_may_be_nats():
    async with nats_server("--user", "me", "--pass", "s3cret") as port:
        url = f"nats://me:s3cret@127.0.0.1:{port}"
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "sabir").mkdir()
            saved = Path(folder) / "sabir" / "sabir.toml"
            saved.write_text(f'[targets]\nservers = "{url}"\ndemo = "{url}/demo"\n')
            env = {"XDG_CONFIG_HOME": folder}
            async with worker(f"{url}/demo"):
                code, out, err = await sabir("list", "servers", env=env)
                assert code == 0 and "demo" in out and "add" in out, (code, out, err)
                assert "s3cret" not in out + err, (out, err)
                process = await asyncio.create_subprocess_exec(
                    SABIR, "tap", "--listen", "tcp://127.0.0.1:0", "demo",
                    stderr=asyncio.subprocess.PIPE, env={**os.environ, **env},
                )
                line = (await process.stderr.readline()).decode()
                at = line.split("listening at ")[1].split(",")[0]
                check((await call(at, "add", "2", "3"))[:2], (0, "5\n"))
                assert "s3cret" not in line, line
                process.terminate()
                await process.wait()


async def a_server_that_stands_still_ends_with_the_timeout():
    async def silent(reader, writer):
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    code, _, err = await sabir("list", f"nats://127.0.0.1:{port}", "--timeout", "1s")
    check(code, 4)
    assert "within 1 s" in err, err
    server.close()


async def a_worker_stops_without_its_server():
    async with AsyncExitStack() as server:
        port = await server.enter_async_context(nats_server())
        async with worker(f"nats://127.0.0.1:{port}/demo"):
            await server.aclose()


async def nobody_is_told_at_once():
    async with nats_server() as port:
        code, out, err = await call(f"nats://127.0.0.1:{port}/nobody", "add", "2", "3")
        check((code, out), (3, ""))
        assert "no worker of `nobody` is connected to NATS" in err, err
        code, out, err = await call(f"nats://127.0.0.1:{port}/nobody", "log", "--notify", "--wait", "5s")
        check((code, out), (3, ""))
        assert "no worker of `nobody` is connected to NATS" in err, err
        for command in (["check"], ["bench", "--notify", "--count", "200"], ["bench", "--count", "200"]):
            words = ["log", "hi"] if command[0] == "bench" else []
            code, _, err = await sabir(*command, f"nats://127.0.0.1:{port}/nobody", *words)
            assert code == 3 and "no worker" in err and "`nobody`" in err, (command, code, err)
            assert "name of the service" in err and "right" not in err, err
        for more in [[], ["--wait", "5s"]]:
            code, _, err = await sabir("subscribe", f"nats://127.0.0.1:{port}/nobody", *more)
            assert code == 3 and "no worker of `nobody`" in err, (more, code, err)
        async with worker(f"nats://127.0.0.1:{port}/demo"):
            check((await sabir("subscribe", f"nats://127.0.0.1:{port}/demo", "--wait", "1s"))[0], 0)
            code, out, err = await sabir("bench", "--notify", "--count", "200", f"nats://127.0.0.1:{port}/demo", "log", "hi")
            assert code == 0 and "200 answered, 0 errors" in out, (code, out, err)
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
        # Nor in the log, however much it is asked for.
        async with worker(url):
            for log in [["--log", "trace"], ["--log", "async_nats=trace"], ["--log", "async_nats"]]:
                code, out, err = await call(url, "add", "2", "3", *log)
                assert code == 0 and "async_nats" in err and "s3cret" not in out + err, (log, err)
            code, out, err = await sabir("call", url, "add", "2", "3", env={"RUST_LOG": "trace"})
            assert code == 0 and "async_nats" in err and "s3cret" not in out + err, err
            with collecting() as (collector, otlp):
                check((await call(url, "add", "2", "3", "--log", "trace", "--otlp", otlp))[0], 0)
                assert collector.logs and "s3cret" not in str(collector.logs + collector.spans), collector.logs


async def recorded_calls_are_replayed_and_mocked():
    async with nats_server() as port:
        url = f"nats://127.0.0.1:{port}/played"
        with tempfile.TemporaryDirectory() as folder:
            recorded = Path(folder) / "calls.jsonl"
            recorded.write_text(
                '{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}\n{"jsonrpc":"2.0","id":1,"result":5}\n'
            )
            mock = await asyncio.create_subprocess_exec(
                SABIR, "mock", str(recorded), "--listen", url, stderr=asyncio.subprocess.PIPE
            )
            try:
                line = (await mock.stderr.readline()).decode()
                while "serving on" not in line and line:
                    line = (await mock.stderr.readline()).decode()
                check((await call(url, "add", "2", "3"))[:2], (0, "5\n"))
                code, out, _ = await sabir("list", f"nats://127.0.0.1:{port}")
                assert code == 0 and "played" in out and "does not say which methods it has" in out, out
                code, out, err = await sabir("replay", str(recorded), url)
                check((code, err if code else ""), (0, ""))
                code, out, err = await sabir("diff", url, url, "--calls", str(recorded))
                check((code, err if code else ""), (0, ""))
                code, _, err = await sabir("mock", str(recorded), "--listen", url, "--fault", "close")
                assert code == 2 and "the faults garbage and close cannot be used at nats://" in err, (code, err)
            finally:
                mock.kill()
                await mock.wait()


run("nats", [
    a_request_of_nats_py_is_answered,
    nats_py_finds_our_workers,
    sabir_lists_services_instances_and_methods,
    sabir_calls_a_responder_of_nats_py,
    every_command_takes_a_service,
    a_tap_records_what_goes_to_a_service,
    what_is_wrong_with_a_url_is_told,
    variables_sign_in,
    an_account_with_the_smallest_rights_calls_and_lists,
    an_authority_is_trusted_by_option,
    a_session_of_mcp_stays_with_its_worker,
    a_tap_signs_in_by_its_url,
    a_tap_tells_why_nats_has_failed,
    a_saved_target_may_be_nats,
    a_server_that_stands_still_ends_with_the_timeout,
    a_worker_stops_without_its_server,
    nobody_is_told_at_once,
    a_password_is_never_shown,
    recorded_calls_are_replayed_and_mocked,
])
