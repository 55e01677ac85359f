"""`sabir bench` beside wrk, both against a server that counts for itself."""

import asyncio
import json
import re
import tempfile
import time
from contextlib import asynccontextmanager

from program import sabir
from tap import check, run

CALL = '{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}'


class Counting:
    """Answers posts over HTTP/1.1, and counts them."""

    def __init__(self):
        self.posts = 0
        # From which post on it stands still, for how long, and until when.
        self.stall_at, self.stall_for, self.stall_until = None, 0.0, 0.0

    async def serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = int(re.search(r"content-length: *(\d+)", head, re.I)[1])
                body = json.loads(await reader.readexactly(length))
                self.posts += 1
                now = time.monotonic()
                if self.posts == self.stall_at:
                    self.stall_until = now + self.stall_for
                if now < self.stall_until:
                    await asyncio.sleep(self.stall_until - now)
                answer = json.dumps({"jsonrpc": "2.0", "id": body.get("id"), "result": 5})
                writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                             f"content-length: {len(answer)}\r\n\r\n{answer}".encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def counting():
    server = Counting()
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    try:
        yield server, f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
    finally:
        listener.close()


async def bench(url, *options):
    code, out, err = await sabir("bench", "--json", *options, url, "add", "2", "3")
    assert code == 0, err
    return json.loads(out)["rounds"][0]


async def every_call_it_reports_was_served_once():
    async with counting() as (server, url):
        measured = await bench(url, "--count", "2000", "--concurrency", "8", "--expect", "5")
        check((measured["sent"], measured["ok"], measured["errors"]), (2000, 2000, 0))
        # The first call is not part of the load.
        check(server.posts, 2001)


async def each_method_of_a_mix_has_one_row():
    async with counting() as (_, url):
        with tempfile.TemporaryDirectory() as folder:
            mix = f"{folder}/mix"
            with open(mix, "w") as file:
                file.write("2 add 2 3\n1 sub 1 1\n1 add 4 5\n")
            code, out, err = await sabir("bench", "--json", "--count", "400", "--mix", mix, url)
            assert code == 0, err
            report = json.loads(out)
            check(report["methods"], ["add", "sub"])
            rows = [(row["name"], row["sent"]) for row in report["rounds"][0]["methods"]]
            check(rows, [("add", 300), ("sub", 100)])
            code, _, err = await sabir("bench", "compare", mix, mix)
            assert code == 3 and "it is not what a run came to" in err, (code, err)


async def wrk_and_bench_report_what_the_server_has_counted():
    async with counting() as (server, url):
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            script.write('wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n'
                         f"wrk.body = '{CALL}'\n")
            script.flush()
            wrk = await asyncio.create_subprocess_exec(
                "wrk", "-t1", "-c8", "-d2s", "-s", script.name, url, stdout=asyncio.subprocess.PIPE)
            out, _ = await wrk.communicate()
        by_wrk = int(re.search(r"(\d+) requests in", out.decode())[1])
        # Those that were open at its end are served, and not reported.
        assert by_wrk <= server.posts <= by_wrk + 8, (by_wrk, server.posts)

        server.posts = 0
        measured = await bench(url, "--duration", "2s", "--warmup", "0s", "--concurrency", "8")
        check((measured["sent"], measured["errors"]), (server.posts - 1, 0))
        check(measured["ok"], measured["sent"])
        # The same server in the same time: wide bounds, for others use the machine as well.
        assert 0.2 < measured["ok"] / by_wrk < 5, (measured["ok"], by_wrk)


async def a_stall_is_many_calls_to_an_open_loop_and_a_few_to_a_closed_one():
    late = {}
    # It begins with a post, so that it does not matter how long the program takes to begin. While it lasts, calls go on
    # being due in the open loop, and each of the four of the closed one is late once.
    for loop, options in [("open", ["--rate", "200", "--connections", "100"]), ("closed", ["--concurrency", "4"])]:
        async with counting() as (server, url):
            server.stall_at, server.stall_for = 50, 5.0
            measured = await bench(url, *options, "--warmup", "0s", "--duration", "7s", "--timeout", "3s")
            late[loop] = sum(row["count"] for row in measured["error_classes"] if row["class"] == "timeout")
            check(measured["ok"] + measured["errors"], measured["sent"])
    assert late["open"] >= 40, late
    assert late["closed"] <= 8, late


run("wrk", [
    every_call_it_reports_was_served_once,
    each_method_of_a_mix_has_one_row,
    wrk_and_bench_report_what_the_server_has_counted,
    a_stall_is_many_calls_to_an_open_loop_and_a_few_to_a_closed_one,
])
