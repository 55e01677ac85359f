"""`sabir bench` beside wrk, both against a server that counts for itself."""

import asyncio
import collections
import html.parser
import json
import os
import pty
import re
import tempfile
import time
from contextlib import asynccontextmanager

from program import SABIR, sabir
from tap import check, run

CALL = '{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}'


class Counting:
    """Answers posts over HTTP/1.1, and counts them."""

    def __init__(self):
        self.posts = 0
        # From which post on it stands still, for how long, and until when.
        self.stall_at, self.stall_for, self.stall_until = None, 0.0, 0.0
        # How long it takes for each post, one after the other.
        self.pause, self.turn = 0.0, asyncio.Lock()

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
                if self.pause:
                    async with self.turn:
                        await asyncio.sleep(self.pause)
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
                "wrk", "-t1", "-c8", "-d2s", "--latency", "-s", script.name, url, stdout=asyncio.subprocess.PIPE)
            out, _ = await wrk.communicate()
        by_wrk = int(re.search(r"(\d+) requests in", out.decode())[1])
        # Its mean has calls in it that it did not make: it adds some for each that was slow.
        time, unit = re.search(r"50% +([\d.]+)(us|ms|s)\n", out.decode()).groups()
        median_by_wrk = float(time) * {"us": 0.001, "ms": 1, "s": 1000}[unit]
        # Those that were open at its end are served, and not reported.
        assert by_wrk <= server.posts <= by_wrk + 8, (by_wrk, server.posts)

        server.posts = 0
        measured = await bench(url, "--duration", "2s", "--warmup", "0s", "--concurrency", "8")
        check((measured["sent"], measured["errors"]), (server.posts - 1, 0))
        check(measured["ok"], measured["sent"])
        # The same server, which is what limits both: Python takes as long for a post of either. The bounds leave room for
        # others who use the machine.
        assert 0.4 < measured["ok"] / by_wrk < 2.5, (measured["ok"], by_wrk)
        # Eight posts are open all the time, so the server's count says how long one takes: 8 / rate.
        mean, expected = measured["latency_ms"]["mean"], 8 / (measured["ok"] / measured["seconds"]) * 1000
        assert 0.8 < mean / expected < 1.2, (mean, expected)
        median = measured["latency_ms"]["p50"]
        assert 0.4 < median / median_by_wrk < 2.5, (median, median_by_wrk)
        print(f"# wrk: {by_wrk} posts, p50 {median_by_wrk} ms; bench: {measured['ok']} posts, p50 {median} ms", flush=True)


async def a_page_has_what_the_report_has():
    with tempfile.TemporaryDirectory() as folder:
        page = f"{folder}/<load>.html"
        code, out, err = await sabir(
            "bench", "--rate", "200,400@1s", "--warmup", "0s", "--html", page, "--json", "demo:", "add", "2", "3")
        check(code, 0)
        with open(page) as file:
            text = file.read()
    [measured] = json.loads(out)["rounds"]
    check(measured["sent"], 600)
    # Well formed, but for elements that HTML does not close.
    parsed = Parsed()
    parsed.feed(text)
    parsed.close()
    check((parsed.open, parsed.wrong), ([], []))
    # One file, without scripts, and with nothing from elsewhere.
    for forbidden in ("<script", "src=", "@import", "url("):
        assert forbidden not in text, forbidden
    words = " ".join(parsed.words)
    for what in ("demo: add", "open loop, 200,400@1s calls/s", "answered", "p99"):
        assert what in words, (what, words)
    assert parsed.tags["svg"] >= 2, parsed.tags
    # The figures are those of the report.
    assert f"{measured['ok']}" in words, words


class Parsed(html.parser.HTMLParser):
    """The elements of a page, and what is in them."""

    VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.words, self.tags = [], [], [], collections.Counter()

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags[tag] += 1

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        self.words.append(data)


async def a_limit_ends_the_run_where_it_breaks():
    async with counting() as (server, url):
        # From some rate on, a server that takes 10 ms for each post, one after the other, falls behind.
        server.pause = 0.01
        code, out, err = await sabir(
            "bench", "--rate", "20..400/20s", "--warmup", "0s", "--until", "p99>500ms", "--grace", "1s", "--json", url,
            "add", "2", "3")
        assert code == 0, err
        report = json.loads(out)
        [measured] = report["rounds"]
        # It takes no more than 100 a second, which is asked for after 4.2 of 20 seconds.
        assert 4 < measured["seconds"] < 15, measured["seconds"]
        assert "p99>500ms" in json.dumps(report["rounds"]), report


async def the_line_on_a_terminal_says_how_far_it_is():
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        SABIR, "bench", "--rate", "100", "--duration", "3s", "--warmup", "0s", "demo:", "add", "2", "3",
        stdin=theirs, stdout=asyncio.subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    out, _ = await process.communicate()
    os.set_blocking(ours, False)
    drawn = os.read(ours, 1 << 16).decode()
    os.close(ours)
    check(process.returncode, 0)
    assert "300 calls in" in out.decode(), out
    # Once more each quarter of a second, over what was there before; and nothing of it stays.
    lines = re.findall(r"([0-3]) of 3 s: ([\d,]+) calls/s, p50 [\d.]+ ms, p99 [\d.]+ ms, \d+ open", drawn)
    assert len(lines) >= 6 and lines[0][0] < lines[-1][0], drawn
    # A quarter of a second of a busy machine may be anything; half of them are not.
    assert 80 <= sorted(int(rate.replace(",", "")) for _, rate in lines)[len(lines) // 2] <= 120, lines
    assert drawn.rindex("\r\x1b[K") > drawn.rindex(" open"), repr(drawn[-200:])


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
    a_page_has_what_the_report_has,
    a_limit_ends_the_run_where_it_breaks,
    the_line_on_a_terminal_says_how_far_it_is,
])
