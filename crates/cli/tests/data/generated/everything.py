"""A client for Every kind of schema. Made by `sabir generate --lang python`; it has no dependencies.

    with over_stdio(["server", "--flag"]) as exchange:
        client = EveryKindOfSchema(exchange)

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
    "EveryKindOfSchema",
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


Alias: TypeAlias = "str"


ConstructorResult: TypeAlias = "ConstructorResult1 | tuple[str, Any] | Alias"


class ConstructorResult1(TypedDict):
    """ConstructorResult1"""

    x: NotRequired[None]


MatchClass: TypeAlias = Literal["a b", "Self", "2"]


MatchListItem: TypeAlias = Literal["x", "y"]


MatchTypeValue: TypeAlias = "str | int"


New2Result = TypedDict(
    "New2Result",
    {
        "name": "str",
        "left": "Tree | None",
        "right": "NotRequired[Tree]",
        "rest": "NotRequired[list[Tree]]",
        "from-where": "NotRequired[Any]",
        "more": "Any",
    },
)


String_: TypeAlias = Literal["up", "down"]


Tree = TypedDict(
    "Tree",
    {
        "name": "str",
        "left": "Tree | None",
        "right": "NotRequired[Tree]",
        "rest": "NotRequired[list[Tree]]",
        "from-where": "NotRequired[Any]",
    },
)


class EveryKindOfSchema:
    """Calls the methods of Every kind of schema."""

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

    def text_document_did_open(self, text_document: Tree) -> None:
        """A notification */ with 'quotes''' and \\ more."""
        _params = [text_document]
        self._notify("textDocument/didOpen", _trimmed(_params))

    def match_(
        self,
        class_: MatchClass,
        *,
        type: MatchTypeValue | None = None,
        list: list[MatchListItem] | None = None,
    ) -> dict[str, bool]:
        """Deprecated."""
        _params = [class_, type, list]
        return cast("dict[str, bool]", self._call("match", _trimmed(_params)))

    def new(self, a: int, *, b: float | None = None) -> Tree | None:
        _params = [a, b]
        return cast("Tree | None", self._call("new", _trimmed(_params)))

    def new_2(self) -> New2Result:
        return cast("New2Result", self._call("new_2", None))

    def constructor(self) -> ConstructorResult:
        return cast("ConstructorResult", self._call("constructor", None))
