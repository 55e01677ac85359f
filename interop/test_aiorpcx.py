"""aiorpcX over TCP, one message per line: its client against `sabir demo`, `sabir call` against its server."""

import asyncio
import json
import tempfile
from contextlib import asynccontextmanager

import aiorpcx

from program import call, demo
from tap import check, run


class Session(aiorpcx.RPCSession):
    """Both sides: what the other one says is noted, and what it asks is answered."""

    sent_request_timeout = 10
    # It slows down and cuts off those who ask too much; the tests do.
    cost_hard_limit = 0

    def __init__(self, *args, heard=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.heard = [] if heard is None else heard

    async def handle_request(self, request):
        if isinstance(request, aiorpcx.Notification):
            self.heard.append((request.method, request.args))
            return None
        handlers = {"add": self.add, "double": self.double, "greet": self.greet, "hang": self.hang, "tell": self.tell}
        return await aiorpcx.handler_invocation(handlers.get(request.method), request)()

    async def add(self, a, b):
        return a + b

    async def double(self, n):
        return 2 * n

    async def greet(self, *, name):
        return f"hello, {name}"

    async def hang(self):
        await asyncio.sleep(600)

    async def tell(self, count):
        for n in range(count):
            await self.send_notification("told", [n])
        return count


@asynccontextmanager
async def client():
    async with demo() as (host, port):
        async with aiorpcx.connect_rs(host, port, session_factory=Session) as session:
            yield session


@asynccontextmanager
async def server():
    """A server on a free port: its URL, and the notifications that it hears."""
    heard = []
    server = await aiorpcx.serve_rs(lambda transport: Session(transport, heard=heard), "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"tcp://{host}:{port}", heard
    finally:
        server.close()


async def refusal(awaitable):
    """The code of the error that must come."""
    try:
        result = await awaitable
    except aiorpcx.RPCError as error:
        return error.code
    raise AssertionError(f"expected an error, got {result!r}")


async def client_calls_by_position_and_by_name():
    async with client() as session:
        check(await session.send_request("add", [2, 3]), 5)
        check(await session.send_request("subtract", {"minuend": 42, "subtrahend": 23}), 19)
        check(await session.send_request("get_data"), ["hello", 5])
        check(await session.send_request("echo", ["žluťoučký 🐎\n", 2**70]), ["žluťoučký 🐎\n", 2**70])


async def client_gets_errors_with_their_codes():
    async with client() as session:
        check(await refusal(session.send_request("foobar")), -32601)
        check(await refusal(session.send_request("add", [1])), -32602)
        check(await refusal(session.send_request("panic")), -32603)
        check(await refusal(session.send_request("fail", {"code": 17, "message": "no"})), 17)
        check(await session.send_request("add", [1, 1]), 2)


async def client_sends_a_batch():
    async with client() as session:
        async with session.send_batch() as batch:
            batch.add_request("add", [1, 2])
            batch.add_notification("update", ["noted"])
            batch.add_request("foobar")
            batch.add_request("sleep", [50])
            batch.add_request("sum", [1, 2, 4])
        three, error, slept, seven = batch.results
        check((three, error.code, slept, seven), (3, -32601, 50, 7))
        check(await session.send_request("notes"), [["noted"]])


async def client_calls_much_at_once():
    async with client() as session:
        slow = asyncio.create_task(session.send_request("sleep", [100]))
        results = await asyncio.gather(*(session.send_request("add", [n, n]) for n in range(500)))
        check(results, [2 * n for n in range(500)])
        check(await slow, 100)
        text = "x" * 500_000
        check(await session.send_request("echo", [text]), [text])


async def client_hears_notifications_and_is_asked():
    async with client() as session:
        check(await session.send_request("tick", [5]), 5)
        check(session.heard, [("ticked", [n]) for n in range(5)])
        check(await session.send_request("ask", ["double", [21]]), 42)
        check(await refusal(session.send_request("ask", ["nothing", []])), -32601)


async def broken_json_is_answered_and_the_stream_goes_on():
    async with demo() as (host, port):
        reader, writer = await asyncio.open_connection(host, port)
        # aiorpcX's own decoder reads what comes back.
        connection = aiorpcx.JSONRPCConnection(aiorpcx.JSONRPCv2)
        writer.write(b'{"jsonrpc":"2.0","method":\n')
        error = json.loads(await reader.readline())
        check((error["id"], error["error"]["code"]), (None, -32700))
        message, future = connection.send_request(aiorpcx.Request("add", [1, 2]))
        writer.write(message + b"\n")
        connection.receive_message((await reader.readline()).rstrip())
        check(await future, 3)
        writer.close()


async def server_is_called_by_position_and_by_name():
    async with server() as (url, _):
        check(await call(url, "add", "2", "3"), (0, "5\n", ""))
        check(await call(url, "greet", "name=Sabir"), (0, '"hello, Sabir"\n', ""))


async def server_errors_become_exit_codes():
    async with server() as (url, _):
        code, out, err = await call(url, "nothing")
        check((code, out, "-32601" in err), (1, "", True))
        code, out, err = await call(url, "add", "1")
        check((code, out, "-32602" in err), (1, "", True))
        code, out, err = await call("--timeout", "300ms", url, "hang")
        check((code, out), (4, ""))


async def server_hears_a_notification():
    async with server() as (url, heard):
        check(await call("--notify", url, "update", "1", "2"), (0, "", ""))
        while not heard:
            await asyncio.sleep(0.01)
        check(heard, [("update", [1, 2])])


async def server_notifications_come_before_the_result():
    async with server() as (url, _):
        code, out, _ = await call("--json", url, "tell", "3")
        check(code, 0)
        events = [json.loads(line) for line in out.splitlines()]
        check([event.get("params", event.get("result")) for event in events], [[0], [1], [2], 3])


async def server_answers_a_batch():
    messages = [
        {"id": "a", "method": "add", "params": [1, 2]},
        {"method": "update", "params": ["noted"]},
        {"id": "b", "method": "nothing"},
        {"id": "c", "method": "greet", "params": {"name": "you"}},
    ]
    async with server() as (url, heard):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(messages, file)
            file.flush()
            code, out, err = await call(url, "--batch", file.name)
        check((code, out), (1, '3\n"hello, you"\n'))
        assert "-32601" in err, err
        check(heard, [("update", ["noted"])])

        lines = "\n".join(map(json.dumps, messages))
        code, out, _ = await call(url, "--json", "--batch", "-", stdin=lines)
        events = [json.loads(line) for line in out.splitlines()]
        check([(event["id"], event["ok"]) for event in events], [("a", True), ("b", False), ("c", True)])


async def nobody_listens():
    async with server() as (url, _):
        pass
    code, out, err = await call(url, "add", "1", "2")
    check((code, out), (3, ""))


run("aiorpcx", [
    client_calls_by_position_and_by_name,
    client_gets_errors_with_their_codes,
    client_sends_a_batch,
    client_calls_much_at_once,
    client_hears_notifications_and_is_asked,
    broken_json_is_answered_and_the_stream_goes_on,
    server_is_called_by_position_and_by_name,
    server_errors_become_exit_codes,
    server_hears_a_notification,
    server_notifications_come_before_the_result,
    server_answers_a_batch,
    nobody_listens,
])
