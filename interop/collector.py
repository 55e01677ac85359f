"""A collector of OTLP/HTTP that reads what it is sent by the definitions of PyPI's `opentelemetry-proto`: what they do not
have is an error."""

import base64
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

REQUESTS = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
}
IDS = {"traceId", "spanId", "parentSpanId"}


def as_protobuf(value):
    """Ids are hexadecimal in OTLP's JSON; that of protobuf has base64, and would read one as the other."""
    if isinstance(value, list):
        return [as_protobuf(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: base64.b64encode(bytes.fromhex(item)).decode() if name in IDS else as_protobuf(item)
        for name, item in value.items()
    }


def attributes(of):
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in of.attributes}


class Collector:
    def __init__(self):
        self.lock = threading.Condition()
        self.spans, self.metrics, self.logs, self.problems = [], [], [], []
        self.headers = []
        self.requests = self.answers = 0
        # What the next requests are answered with, before all others are accepted.
        self.statuses = []
        # Requests wait for this.
        self.answering = threading.Event()
        self.answering.set()

    def take(self, path, body):
        request = json_format.Parse(json.dumps(as_protobuf(json.loads(body))), REQUESTS[path]())
        for group in getattr(request, "resource_spans", []):
            service = attributes(group.resource)["service.name"]
            for scope in group.scope_spans:
                for span in scope.spans:
                    assert len(span.trace_id) == 16 and len(span.span_id) == 8, span
                    assert span.start_time_unix_nano <= span.end_time_unix_nano, span
                    self.spans.append({
                        "service": service,
                        "name": span.name,
                        "kind": Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
                        "trace": span.trace_id.hex(),
                        "id": span.span_id.hex(),
                        "parent": span.parent_span_id.hex() or None,
                        "error": span.status.code == Status.STATUS_CODE_ERROR,
                        "attributes": attributes(span),
                        "resource": attributes(group.resource),
                    })
        for group in getattr(request, "resource_metrics", []):
            for scope in group.scope_metrics:
                self.metrics += scope.metrics
        for group in getattr(request, "resource_logs", []):
            for scope in group.scope_logs:
                self.logs += scope.log_records

    def metric(self, name):
        """The last state of a metric: its data points."""
        found = [metric for metric in self.metrics if metric.name == name]
        assert found, f"no {name} in {sorted({metric.name for metric in self.metrics})}"
        last = found[-1]
        return list(getattr(last, last.WhichOneof("data")).data_points)

    def wait(self, condition, what, seconds=30):
        with self.lock:
            assert self.lock.wait_for(lambda: condition(self), seconds), f"{what}: {self.spans}"


@contextmanager
def collecting():
    """A collector and its URL. What it could not read fails the test."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with collector.lock:
                collector.requests += 1
                collector.headers.append(dict(self.headers))
                status = collector.statuses.pop(0) if collector.statuses else 200
                collector.lock.notify_all()
            collector.answering.wait()
            with collector.lock:
                collector.answers += 1
                if status == 200:
                    try:
                        assert self.headers["Content-Type"] == "application/json", dict(self.headers)
                        collector.take(self.path, body)
                    except Exception as error:  # the test says it
                        collector.problems.append(f"{self.path}: {error!r} in {body[:500]}")
                collector.lock.notify_all()
            answer = b'{"partialSuccess":{}}'
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
            except OSError:
                pass  # whoever asked did not wait

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield collector, f"http://127.0.0.1:{server.server_port}"
        assert not collector.problems, collector.problems
    finally:
        collector.answering.set()
        server.shutdown()
        server.server_close()
