"""A client for Sabir demo. Made by `sabir generate --lang python`; it has no dependencies.

    with over_stdio(["server", "--flag"]) as exchange:
        client = SabirDemo(exchange)

`over_tcp(host, port)` is used in the same way; `over_http(url)` needs no `with`.
"""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import IO, Any, Literal, NotRequired, TypeAlias, TypedDict, cast

Message: TypeAlias = dict[str, Any]

# Sends a message, and returns the answer; nothing for a notification, which has no id.
Exchange: TypeAlias = Callable[[Message], Message | None]

__all__ = [
    "SabirDemo",
    "Exchange",
    "Literal",
    "NotRequired",
    "RpcError",
    "TypedDict",
    "over_http",
    "over_stdio",
    "over_tcp",
]


class RpcError(Exception):
    """What the peer answered instead of a result."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.data = data


class Lines:
    """A connection whose messages are lines."""

    def __init__(
        self, reader: IO[bytes], writer: IO[bytes], close: Callable[[], None]
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._close = close

    def __call__(self, message: Message) -> Message | None:
        self._send(message)
        if "id" not in message:
            return None
        for line in self._reader:
            if not line.strip():
                continue
            came = json.loads(line)
            if "method" in came:
                # Nothing is offered in return.
                if "id" in came:
                    error = {"code": -32601, "message": "Method not found"}
                    self._send({"jsonrpc": "2.0", "id": came["id"], "error": error})
            elif came.get("id") == message["id"]:
                return cast(Message, came)
        raise ConnectionError("the peer has closed the connection")

    def _send(self, message: Message) -> None:
        self._writer.write(json.dumps(message).encode() + b"\n")
        self._writer.flush()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


def over_stdio(command: list[str]) -> Lines:
    """Starts a program, and talks to it over its standard input and output."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    reader, writer = process.stdout, process.stdin

    def close() -> None:
        writer.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        reader.close()

    return Lines(reader, writer, close)


def over_tcp(host: str, port: int) -> Lines:
    """Connects to a socket."""
    connection = socket.create_connection((host, port))
    reader, writer = connection.makefile("rb"), connection.makefile("wb")

    def close() -> None:
        writer.close()
        reader.close()
        connection.close()

    return Lines(reader, writer, close)


def over_http(url: str, headers: dict[str, str] | None = None) -> Exchange:
    """Posts each message to a URL, and reads the answer from the body."""
    sent = {
        "content-type": "application/json",
        "accept": "application/json",
        **(headers or {}),
    }

    def exchange(message: Message) -> Message | None:
        request = urllib.request.Request(url, json.dumps(message).encode(), sent)
        try:
            with urllib.request.urlopen(request) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            text = error.read()
            if not text:
                raise
        return cast(Message, json.loads(text)) if text and "id" in message else None

    return exchange


def _given(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _message(method: str, params: Any, id: int | None) -> Message:
    message: Message = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        message["id"] = id
    if params is not None:
        message["params"] = params
    return message


def _trimmed(params: list[Any]) -> list[Any]:
    while params and params[-1] is None:
        params.pop()
    return params


class Step(TypedDict):
    """Step"""

    step: int
    steps: NotRequired[int | None]


Token: TypeAlias = "str | float"


class SabirDemo:
    """Calls the methods of Sabir demo."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self._ids = itertools.count(1)

    def _call(self, method: str, params: Any) -> Any:
        answer = self._exchange(_message(method, params, next(self._ids)))
        if answer is None:
            raise ConnectionError(f"no answer to {method}")
        if "error" in answer:
            error = answer["error"]
            raise RpcError(error["code"], error["message"], error.get("data"))
        return answer.get("result")

    def _notify(self, method: str, params: Any) -> None:
        self._exchange(_message(method, params, None))

    def add(self, a: float, b: float) -> float:
        """Adds two numbers.

        Integers of up to 128 bits are added exactly.
        """
        _params = [a, b]
        return cast("float", self._call("add", _trimmed(_params)))

    def ask(self, method: str, *, params: Any = None) -> Any:
        """Calls a method of the caller, and returns what came of it."""
        _params = [method, params]
        return self._call("ask", _trimmed(_params))

    def echo(self, params: Any = None) -> Any:
        """Returns its params as they came, or null if there are none."""
        return self._call("echo", params)

    def fail(
        self, *, code: int | None = None, message: str | None = None, data: Any = None
    ) -> None:
        """Fails with the error that it is given.

        Without a code the handler fails by itself.
        """
        _params = [code, message, data]
        self._call("fail", _trimmed(_params))

    def get_data(self) -> tuple[str, int]:
        """Returns a string and a number."""
        return cast("tuple[str, int]", self._call("get_data", None))

    def log(self, params: Any = None) -> None:
        """Accepts the notification and does nothing."""
        self._notify("log", params)

    def notes(self) -> list[Any]:
        """Returns what `update` was given, the oldest first."""
        return cast("list[Any]", self._call("notes", None))

    def notify_hello(self, params: Any = None) -> None:
        """Accepts the notification and does nothing."""
        self._notify("notify_hello", params)

    def notify_sum(self, params: Any = None) -> None:
        """Accepts the notification and does nothing."""
        self._notify("notify_sum", params)

    def panic(self) -> None:
        """Panics. The server keeps running."""
        self._call("panic", None)

    def progress(self, steps: int, *, ms: int | None = None) -> int:
        """Tells its progress, and returns the number of steps.

        With a token in `_meta.progressToken` it tells `notifications/progress`, without one `progress`.
        """
        _params = [steps, ms]
        return cast("int", self._call("progress", _trimmed(_params)))

    def sleep(self, ms: int) -> int:
        """Waits, and returns for how long.

        It can be cancelled.
        """
        _params = [ms]
        return cast("int", self._call("sleep", _trimmed(_params)))

    def subscribe_ticks(self, n: int, ms: int) -> str:
        """Counts in notifications `ticks`.

        Its result is the id of the subscription.
        """
        _params = [n, ms]
        return cast("str", self._call("subscribe_ticks", _trimmed(_params)))

    def subtract(self, minuend: float, subtrahend: float) -> float:
        """Subtracts one number from another."""
        _params = [minuend, subtrahend]
        return cast("float", self._call("subtract", _trimmed(_params)))

    def sum(self, params: list[float] | None = None) -> float:
        """Adds any number of numbers."""
        return cast("float", self._call("sum", params))

    def tick(self, n: int) -> int:
        """Sends `n` notifications `ticked`, and returns `n`."""
        _params = [n]
        return cast("int", self._call("tick", _trimmed(_params)))

    def unsubscribe_ticks(self, id: str) -> bool:
        """Ends a subscription, and returns whether there was one."""
        _params = [id]
        return cast("bool", self._call("unsubscribe_ticks", _trimmed(_params)))

    def update(self, params: Any = None) -> None:
        """Remembers its params, for `notes`."""
        self._notify("update", params)

    def work(self, steps: int, work_done_token: Token) -> int:
        """Tells its progress as language servers do, and returns the number of steps."""
        _params = [steps, work_done_token]
        return cast("int", self._call("work", _trimmed(_params)))
