"""A collector that reads by PyPI's `opentelemetry-proto`, and Debian's `promtool`: traces, metrics and logs of the program and of
the example `opentelemetry`."""

import asyncio
import json
import os
import re
import subprocess
import tempfile
import urllib.error
import urllib.request
from contextlib import asynccontextmanager

from collector import attributes, collecting
from nats_server import nats_server, worker
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from program import SABIR, demo, free_port, reachable, sabir
from tap import check, run

EXAMPLE = os.environ["OPENTELEMETRY"]


@asynccontextmanager
async def running(*command, env=None):
    """A program that listens; it must end well when it is told to. Its standard error is a list of lines, once it has ended."""
    process = await asyncio.create_subprocess_exec(
        *command, stderr=asyncio.subprocess.PIPE, env={**os.environ, **(env or {})}
    )
    lines = []

    async def read():
        while line := await process.stderr.readline():
            lines.append(line.decode().rstrip())

    reading = asyncio.create_task(read())
    try:
        yield process, lines
        process.terminate()
        await process.wait()
        await reading
        check(process.returncode, 0)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def said(lines, part):
    """Waits for a line with this in it."""
    while not (found := [line for line in lines if part in line]):
        await asyncio.sleep(0.01)
    return found[0]


def tree(spans):
    """The spans of one trace, each below its parent: service, kind and name."""
    check(len({span["trace"] for span in spans}), 1)
    ids = {span["id"] for span in spans}

    def below(parent):
        found = [span for span in spans if span["parent"] == parent or (parent is None and span["parent"] not in ids)]
        return [(f"{span['service']} {span['kind']} {span['name']}", below(span["id"])) for span in found]

    return below(None)


def spans_of(collector, name):
    """All spans of the trace that has one with this name."""
    [trace] = {span["trace"] for span in collector.spans if span["name"] == name}
    return [span for span in collector.spans if span["trace"] == trace]


def way(span):
    """Where a call goes."""
    names = ["server.address", "server.port", "network.transport", "network.protocol.name"]
    return tuple(span["attributes"].get(name) for name in names)


async def one_trace_from_the_client_through_a_proxy_to_the_worker():
    # A hop over another transport is one more program between the two.
    with collecting() as (collector, url):
        async with demo("--otlp", url) as (host, worker):
            port = free_port()
            command = [EXAMPLE, f"tcp://127.0.0.1:{port}", f"tcp://{host}:{worker}"]
            async with running(*command, env={"OTEL_EXPORTER_OTLP_ENDPOINT": url}):
                await reachable(port)
                target = f"tcp://127.0.0.1:{port}"
                code, out, _ = await sabir("call", target, "get_data", "-d", "{}", "--otlp", url)
                check((code, out), (0, '["hello",5]\n'))
                code, _, err = await sabir("call", target, "no_such", "x:=1", "--as", "plain", "--otlp", url)
                assert code == 1 and "-32601" in err, err
        # All have ended, and so have sent everything.
        [client] = [span for span in collector.spans if span["name"] == "get_data" and span["kind"] == "client"]
        spans = [span for span in collector.spans if span["trace"] == client["trace"]]
        check(tree(spans), [("sabir-call internal sabir call", [
            ("sabir-call client get_data", [
                ("proxy server jsonrpc", [
                    ("proxy client jsonrpc", [("sabir-demo server get_data", [])]),
                ]),
            ]),
        ])])
        check([span["error"] for span in spans], [False] * 5)
        failed = [span for span in collector.spans if span["error"]]
        check({span["trace"] for span in failed}, {failed[0]["trace"]})
        calls = [span for span in failed if span["attributes"].get("error.type") == "-32601"]
        check(sorted(f"{span['service']} {span['kind']}" for span in calls), [
            "proxy client", "proxy server", "sabir-call client", "sabir-demo server",
        ])
        check({span["attributes"]["rpc.response.status_code"] for span in calls}, {"-32601"})
        # A stranger cannot make up names of spans, but they are told.
        [worker] = [span for span in calls if span["service"] == "sabir-demo"]
        check((worker["name"], worker["attributes"]["rpc.method"]), ("jsonrpc", "_OTHER"))
        check(worker["attributes"]["rpc.method_original"], "no_such")


async def one_trace_from_the_client_through_a_proxy_and_nats_to_the_worker():
    with collecting() as (collector, url):
        async with nats_server() as nats, worker(f"nats://127.0.0.1:{nats}/demo", "--otlp", url):
            port = free_port()
            command = [EXAMPLE, f"tcp://127.0.0.1:{port}", f"nats://127.0.0.1:{nats}/demo"]
            async with running(*command, env={"OTEL_EXPORTER_OTLP_ENDPOINT": url}):
                await reachable(port)
                target = f"tcp://127.0.0.1:{port}"
                code, out, _ = await sabir("call", target, "get_data", "-d", "{}", "--otlp", url)
                check((code, out), (0, '["hello",5]\n'))
                # The params of what it calls are a list: the trace has no place but the headers.
                code, out, err = await sabir("call", target, "double", "-d", "[21]", "--otlp", url)
                check((code, out, err), (0, "42\n", ""))
                code, _, err = await sabir("call", target, "no_such", "x:=1", "--as", "plain", "--otlp", url)
                assert code == 1 and "-32601" in err, err
        [client] = [span for span in collector.spans if span["name"] == "get_data" and span["kind"] == "client"]
        spans = [span for span in collector.spans if span["trace"] == client["trace"]]
        check(tree(spans), [("sabir-call internal sabir call", [
            ("sabir-call client get_data", [
                ("proxy server jsonrpc", [
                    ("proxy client jsonrpc", [("sabir-demo server get_data", [])]),
                ]),
            ]),
        ])])
        check([span["error"] for span in spans], [False] * 5)
        [added] = [span for span in collector.spans if span["service"] == "sabir-demo" and span["name"] == "add"]
        [adds] = [span for span in collector.spans if span["id"] == added["parent"]]
        check(f"{adds['service']} {adds['kind']}", "proxy client")
        calls = [span for span in collector.spans if span["attributes"].get("error.type") == "-32601"]
        check(len({span["trace"] for span in calls}), 1)
        check(sorted(f"{span['service']} {span['kind']}" for span in calls), [
            "proxy client", "proxy server", "sabir-call client", "sabir-demo server",
        ])


async def headers_of_nats_carry_the_trace_of_positional_params():
    with collecting() as (collector, url):
        async with nats_server() as nats, worker(f"nats://127.0.0.1:{nats}/demo", "--otlp", url):
            code, out, _ = await sabir("call", f"nats://127.0.0.1:{nats}/demo", "add", "2", "3", "--otlp", url)
            check((code, out), (0, "5\n"))
        spans = spans_of(collector, "add")
        check(tree(spans), [
            ("sabir-call internal sabir call", [("sabir-call client add", [("sabir-demo server add", [])])])
        ])
        for span in spans:
            if span["name"] == "add":
                check(way(span), ("127.0.0.1", nats, "tcp", "nats"))


async def headers_of_http_carry_the_trace_of_positional_params():
    with collecting() as (collector, url):
        async with demo("--otlp", url, scheme="http") as (host, port):
            code, out, _ = await sabir("call", f"http://{host}:{port}/", "add", "2", "3", "--otlp", url)
            check((code, out), (0, "5\n"))
        spans = spans_of(collector, "add")
        check(tree(spans), [
            ("sabir-call internal sabir call", [("sabir-call client add", [("sabir-demo server add", [])])])
        ])
        for span in spans:
            if span["name"] == "add":
                check(way(span), (host, port, "tcp", "http"))


async def a_tap_reports_for_a_server_that_cannot():
    with collecting() as (collector, url):
        async with demo(scheme="http") as (host, port):
            tapped = free_port()
            command = [SABIR, "tap", "--otlp", url, "--check", "--listen", f"http://127.0.0.1:{tapped}/"]
            async with running(*command, f"http://{host}:{port}/"):
                await reachable(tapped)
                target = f"http://127.0.0.1:{tapped}/"
                await sabir("call", target, "subtract", "-d", '{"minuend": 5, "subtrahend": 3}', "--otlp", url)
                batch = [
                    {"jsonrpc": "2.0", "id": "a", "method": "sum", "params": [1, 2]},
                    {"jsonrpc": "2.0", "method": "update", "params": [1]},
                    {"jsonrpc": "2.0", "id": "b", "method": "no_such"},
                    {"jsonrpc": "1.0", "id": "c"},
                ]
                await sabir("call", target, "--raw", json.dumps(batch))
        check(tree(spans_of(collector, "subtract")), [
            ("sabir-call internal sabir call", [("sabir-call client subtract", [("sabir-tap server subtract", [])])])
        ])
        # A span for each call of the batch, and none for the notification.
        tap = [span for span in collector.spans if span["service"] == "sabir-tap"]
        calls = {span["attributes"]["jsonrpc.request.id"]: span for span in tap}
        check((calls["a"]["name"], calls["a"]["error"]), ("sum", False))
        check((calls["b"]["name"], calls["b"]["attributes"]["error.type"]), ("jsonrpc", "-32601"))
        check(len(tap), 3)
        check([point.as_int for point in collector.metric("jsonrpc.notifications")], [1])
        findings = [attributes(log) for log in collector.logs if "rule" in attributes(log)]
        assert findings and all(found["rule"].startswith("RPC") for found in findings), collector.logs


async def a_batch_has_a_span_for_each_call():
    with collecting() as (collector, url):
        async with demo("--otlp", url) as (host, port):
            batch = [
                {"jsonrpc": "2.0", "id": 1, "method": "add", "params": [1, 2]},
                {"jsonrpc": "2.0", "method": "update", "params": [1]},
                {"jsonrpc": "2.0", "id": None, "method": "add", "params": [1, 2]},
                {"jsonrpc": "2.0", "id": 2, "method": "fail"},
            ]
            await sabir("call", f"tcp://{host}:{port}", "--raw", json.dumps(batch))
        shown = [(span["name"], span["attributes"].get("jsonrpc.request.id"), span["error"]) for span in collector.spans]
        check(sorted(shown, key=str), [("add", "1", False), ("add", None, False), ("fail", "2", True), ("update", None, False)])


async def calls_that_are_sent_as_they_are_have_spans():
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "add", "params": [1, 2]},
        {"jsonrpc": "2.0", "method": "update", "params": [1]},
        {"jsonrpc": "2.0", "id": "b", "method": "no_such"},
    ]
    with tempfile.TemporaryDirectory() as folder:
        batch, steps = os.path.join(folder, "batch"), os.path.join(folder, "steps.rpc")
        with open(batch, "w") as file:
            json.dump(calls, file)
        with open(steps, "w") as file:
            for call in calls:
                file.write(f"> {json.dumps(call)}\n")
            file.write('< {"jsonrpc":"2.0","id":"b","error":{"code":-32601,"message":"Method not found"}}\n')
        for how in (["--batch", batch], ["--raw", json.dumps(calls)], ["-f", steps]):
            with collecting() as (collector, url):
                await sabir("call", "demo:", *how, "--otlp", url)
            [whole] = [span for span in collector.spans if span["name"] == "sabir call"]
            shown = [
                (span["kind"], span["name"], span["attributes"]["jsonrpc.request.id"], span["attributes"].get("error.type"))
                for span in collector.spans if span["parent"] == whole["id"] and span["kind"] == "client"
            ]
            check((how[0], sorted(shown)), (how[0], [("client", "add", "1", None), ("client", "no_such", "b", "-32601")]))


async def mcp_has_names_of_its_own():
    with collecting() as (collector, url):
        async with demo("--mcp", "--otlp", url, scheme="http") as (host, port):
            target = f"http://{host}:{port}/"
            code, _, err = await sabir("call", target, "test_simple_text", "--as", "mcp", "--otlp", url)
            check(code, 0)
            code, _, err = await sabir("call", target, "test_error_handling", "--as", "mcp", "--otlp", url)
            check(code, 1)
        client, server = (
            [span for span in collector.spans if span["name"] == "tools/call test_error_handling" and span["kind"] == kind][0]
            for kind in ("client", "server")
        )
        check((server["trace"], server["parent"]), (client["trace"], client["id"]))
        for span in (client, server):
            found = span["attributes"]
            check((found["mcp.method.name"], found["gen_ai.tool.name"]), ("tools/call", "test_error_handling"))
            check((found["error.type"], span["error"]), ("tool_error", True))
            assert found["mcp.protocol.version"] and "rpc.system.name" not in found, found
        assert server["attributes"]["mcp.session.id"], server
        points = [attributes(point) for point in collector.metric("mcp.server.operation.duration")]
        tools = {point.get("gen_ai.tool.name"): point.get("error.type") for point in points}
        check((tools["test_simple_text"], tools["test_error_handling"]), (None, "tool_error"))
        [point] = collector.metric("mcp.server.session.duration")
        check((point.count, len(point.explicit_bounds), len(point.bucket_counts)), (2, 14, 15))


async def the_environment_is_that_of_all_sdks():
    with collecting() as (collector, url):
        env = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"{url}/",
            "OTEL_EXPORTER_OTLP_HEADERS": "x-key=secret%20one",
            "OTEL_SERVICE_NAME": "till",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.name=no",
        }
        await sabir("call", "demo:", "add", "2", "3", env=env)
        resource = collector.spans[0]["resource"]
        check((resource["service.name"], resource["deployment.environment.name"]), ("till", "test"))
        check({headers["x-key"] for headers in collector.headers}, {"secret one"})
        before = collector.requests
        await sabir("call", "demo:", "add", "2", "3", env={**env, "OTEL_SDK_DISABLED": "true"})
        check(collector.requests, before)
        count = len(collector.spans)
        code, out, _ = await sabir("call", "demo:", "add", "2", "3", env={**env, "OTEL_TRACES_SAMPLER": "always_off"})
        check((code, out, len(collector.spans)), (0, "5\n", count))


async def what_is_refused_for_now_is_sent_again():
    with collecting() as (collector, url):
        collector.statuses = [503, 429]
        async with demo("--otlp", url) as (host, port):
            await sabir("call", f"tcp://{host}:{port}", "add", "2", "3")
            await asyncio.to_thread(collector.wait, lambda seen: len(seen.spans) == 1, "the span comes at last")
        check(len(collector.spans), 1)


async def a_collector_that_hangs_delays_no_call_and_costs_what_does_not_fit():
    calls = 4000
    with collecting() as (collector, url):
        collector.answering.clear()
        command = [SABIR, "demo", "--listen", "tcp://127.0.0.1:0", "--otlp", url]
        async with running(*command) as (_, lines):
            port = int((await said(lines, "serving on")).rsplit(":", 1)[1])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for number in range(calls):
                request = {"jsonrpc": "2.0", "id": number, "method": "add", "params": [number, 1]}
                writer.write(json.dumps(request).encode() + b"\n")
                check(json.loads(await reader.readline())["result"], number + 1)
            writer.close()
            # Every call was answered while the collector has answered nothing.
            check(collector.answers, 0)
        [note] = [line for line in lines if "did not reach" in line]
        lost, total = (int(word) for word in note.split() if word.isdigit())
        dropped = int(note.rsplit("(", 1)[1].split()[0])
        # The spans, and the connection's opening and end.
        check((lost, total), (calls + 2, calls + 2))
        assert dropped >= calls - 2048 - 512, note


async def without_a_collector_everything_works():
    url = f"http://127.0.0.1:{free_port()}"
    code, out, err = await sabir("call", "demo:", "add", "2", "3", "--otlp", url)
    check((code, out), (0, "5\n"))
    assert f"did not reach {url}" in err, err


def scrape(url, accept):
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as response:
        return response.headers["Content-Type"], response.read().decode()


async def prometheus_reads_the_metrics():
    command = [SABIR, "demo", "--listen", "tcp://127.0.0.1:0", "--metrics", "0"]
    async with running(*command) as (_, lines):
        url = (await said(lines, "metrics at")).split()[-1]
        port = int((await said(lines, "serving on")).rsplit(":", 1)[1])
        for method in ("add", "no_such\\\"\n"):
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": [1, 2]}
            await sabir("call", f"tcp://127.0.0.1:{port}", "--raw", json.dumps(message))
        await sabir("call", f"tcp://127.0.0.1:{port}", "--raw", "{not json")
        await sabir("call", f"tcp://127.0.0.1:{port}", "update", "1", "--notify")
        kind, text = await asyncio.to_thread(scrape, url, "text/plain")
        check(kind, "text/plain; version=0.0.4; charset=utf-8")
        check_metrics(text)
        labels = 'rpc_system_name="jsonrpc",rpc_method="add"'
        for line in [
            f"rpc_server_call_duration_seconds_count{{{labels}}} 1",
            'rpc_server_call_duration_seconds_count{rpc_system_name="jsonrpc",rpc_method="_OTHER",'
            'rpc_response_status_code="-32601",error_type="-32601"} 1',
            'jsonrpc_invalid_messages_total{reason="not_json"} 1',
            'jsonrpc_notifications_total{direction="received"} 1',
            'jsonrpc_inflight_requests{direction="received"} 0',
        ]:
            assert line in text.splitlines(), f"{line}\n{text}"
        kind, text = await asyncio.to_thread(scrape, url, "application/openmetrics-text; version=1.0.0")
        assert kind.startswith("application/openmetrics-text") and text.endswith("# EOF\n"), (kind, text)
        families = {family.name: family for family in text_string_to_metric_families(text)}
        check(families["rpc_server_call_duration_seconds"].type, "histogram")
        check(families["jsonrpc_notifications"].type, "counter")
        [received] = [
            sample.value for sample in families["jsonrpc_notifications"].samples
            if sample.name == "jsonrpc_notifications_total" and sample.labels == {"direction": "received"}
        ]
        check(received, 1)


async def strangers_neither_read_metrics_nor_shut_others_out():
    command = [SABIR, "demo", "--listen", "tcp://127.0.0.1:0", "--metrics", "0"]
    async with running(*command) as (_, lines):
        url = (await said(lines, "metrics at")).split()[-1]
        port = int(url.split(":")[2].split("/")[0])
        request = urllib.request.Request(url, headers={"Host": "evil.example"})
        try:
            await asyncio.to_thread(urllib.request.urlopen, request)
            raise AssertionError("a foreign Host was served")
        except urllib.error.HTTPError as error:
            check(error.code, 403)
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(64)]
        text = (await asyncio.to_thread(scrape, url, "text/plain"))[1]
        check_metrics(text)
        for _, writer in silent:
            writer.close()


def check_metrics(text):
    """What promtool thinks of it: faults, and what breaks the habits of Prometheus."""
    found = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    check((found.returncode, found.stderr), (0, ""))


async def a_tap_and_a_mock_have_metrics_too():
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "add", "params": [1, 2]})
    async with demo() as (host, port):
        tapped = free_port()
        command = [SABIR, "tap", "--metrics", "0", "--listen", f"tcp://127.0.0.1:{tapped}", f"tcp://{host}:{port}"]
        async with running(*command) as (_, lines):
            await reachable(tapped)
            url = (await said(lines, "metrics at")).split()[-1]
            await sabir("call", f"tcp://127.0.0.1:{tapped}", "--raw", message)
            line = 'rpc_server_call_duration_seconds_count{rpc_system_name="jsonrpc",rpc_method="add"} 1'
            while line not in (await asyncio.to_thread(scrape, url, ""))[1].splitlines():
                await asyncio.sleep(0.01)
            check_metrics((await asyncio.to_thread(scrape, url, ""))[1])
    with tempfile.TemporaryDirectory() as folder:
        description = os.path.join(folder, "openrpc.json")
        _, document, _ = await sabir("describe", "demo:", "--openrpc")
        with open(description, "w") as file:
            file.write(document)
        command = [SABIR, "mock", description, "--listen", "tcp://127.0.0.1:0", "--metrics", "0"]
        async with running(*command) as (_, lines):
            url = (await said(lines, "metrics at")).split()[-1]
            port = int((await said(lines, "serving on")).rsplit(":", 1)[1])
            await sabir("call", f"tcp://127.0.0.1:{port}", "--raw", message)
            text = (await asyncio.to_thread(scrape, url, ""))[1]
            assert line in text.splitlines(), text
            check_metrics(text)


async def a_load_counts_every_call():
    with collecting() as (collector, url):
        load = ["--count", "2000", "--rounds", "2", "--rate", "20k"]
        code, _, _ = await sabir("bench", "demo:", "add", "2", "3", *load, "--json", "--otlp", url)
        check(code, 0)
        spans = [span["attributes"]["sabir.bench.ok"] for span in collector.spans if span["name"] == "sabir bench"]
        check(spans, [2000, 2000])
        for name in ("rpc.client.call.duration", "sabir.bench.late"):
            [point] = collector.metric(name)
            check((name, point.count), (name, 4000))


async def a_load_has_metrics_while_it_lasts():
    load = ["--rate", "500", "--duration", "4s", "--warmup", "0s", "--metrics", "0", "--json"]
    command = [SABIR, "bench", *load, "demo:", "add", "2", "3"]
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    try:
        url = (await process.stderr.readline()).decode().split()[-1]
        counted = re.compile(r'^rpc_client_call_duration_seconds_count\{rpc_system_name="jsonrpc",rpc_method="add"\} (\d+)$', re.M)
        text = ""
        while not counted.search(text):
            await asyncio.sleep(0.1)
            _, text = await asyncio.to_thread(scrape, url, "text/plain")
        # It goes on: this is not the end.
        assert 0 < int(counted.search(text)[1]) < 2000, text
        check_metrics(text)
        out, _ = await process.communicate()
        check((process.returncode, json.loads(out)["rounds"][0]["ok"]), (0, 2000))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


run("telemetry", [
    one_trace_from_the_client_through_a_proxy_to_the_worker,
    one_trace_from_the_client_through_a_proxy_and_nats_to_the_worker,
    headers_of_nats_carry_the_trace_of_positional_params,
    headers_of_http_carry_the_trace_of_positional_params,
    a_tap_reports_for_a_server_that_cannot,
    a_batch_has_a_span_for_each_call,
    calls_that_are_sent_as_they_are_have_spans,
    mcp_has_names_of_its_own,
    the_environment_is_that_of_all_sdks,
    what_is_refused_for_now_is_sent_again,
    a_collector_that_hangs_delays_no_call_and_costs_what_does_not_fit,
    without_a_collector_everything_works,
    prometheus_reads_the_metrics,
    a_tap_and_a_mock_have_metrics_too,
    a_load_counts_every_call,
    a_load_has_metrics_while_it_lasts,
    strangers_neither_read_metrics_nor_shut_others_out,
])
