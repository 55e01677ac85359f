"""A client for @ts-nocheck x\\u2028;globalThis.OWNED=1;process.exit(99)//Adds.  ``` panic!('run as a test'); ```  ~~~rust panic!() ~~~  panic!('indented');  - ``` panic!() ``` - panic!() > ``` > panic!()<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script> [r]: javascript:alert(1)a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99) */ process.exit(99)''' raise SystemExit(99) ''' \\''' raise SystemExit(99)\\ > > > raise SystemExit(99) '''\\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck. Made by `sabir generate --lang python`; it has no dependencies.

    with over_stdio(["server", "--flag"]) as exchange:
        client = TsNocheckXGlobalThisOwned1ProcessExit99AddsPanicRunAsATestRustPanicPanicIndentedPanicPanicPanicScrip(exchange)

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
    "TsNocheckXGlobalThisOwned1ProcessExit99AddsPanicRunAsATestRustPanicPanicIndentedPanicPanicPanicScrip",
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


ABResult: TypeAlias = Literal["a-b"]


ABResult_2: TypeAlias = Literal["aB"]


AResult: TypeAlias = Literal["a\\"]


CastResult: TypeAlias = Literal["cast"]


ClassResult: TypeAlias = Literal["class"]


ConstructorResult: TypeAlias = Literal["constructor"]


Error_: TypeAlias = "str"


Json: TypeAlias = "str | list[Json] | dict[str, Json]"


Lists: TypeAlias = "Any"


Loop: TypeAlias = "Any"


None_: TypeAlias = Literal["x\U00002028"]


Pool: TypeAlias = "Loop"


ProcessExit99: TypeAlias = "None"


ProcessExit99Result: TypeAlias = Literal["`${process.exit(99)}`"]


Promise_: TypeAlias = "float"


RaiseSystemExit99Result: TypeAlias = Literal[
    '"""\U0000000araise SystemExit(99)\U0000000a',
]


Result_ = TypedDict(
    "Result_",
    {
        'a"b': "Result_AB",
        "a\\": "Result_A",
        "*/ process.exit(99) /*": "Result_ProcessExit99",
        "`${process.exit(99)}`": "Result_ProcessExit99_2",
        "\U00002028process.exit(99)": "str",
        '"""\U0000000araise SystemExit(99)\U0000000a': "NotRequired[str]",
        "#[doc]": "NotRequired[str]",
        "\U00000000": "NotRequired[str]",
        "\U0000202e": "NotRequired[str]",
        "": "NotRequired[str]",
        "9": "NotRequired[str]",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": "NotRequired[str]",
        "__proto__": "NotRequired[str]",
        "constructor": "NotRequired[str]",
        "then": "NotRequired[str]",
        "self": "NotRequired[str]",
        "None": "NotRequired[str]",
        "class": "NotRequired[str]",
        "list": "NotRequired[str]",
        "cast": "NotRequired[str]",
        "new": "NotRequired[str]",
        "日本": "NotRequired[str]",
        "a b": "NotRequired[str]",
        "a-b": "NotRequired[str]",
        "a_b": "NotRequired[str]",
        "aB": "NotRequired[str]",
    },
)


Result_A: TypeAlias = Literal[
    'a"b',
    "a\\",
    "*/ process.exit(99) /*",
    "`${process.exit(99)}`",
    "\U00002028process.exit(99)",
    '"""\U0000000araise SystemExit(99)\U0000000a',
    "#[doc]",
    "\U00000000",
    "\U0000202e",
    "",
    "9",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "__proto__",
    "constructor",
    "then",
    "self",
    "None",
    "class",
    "list",
    "cast",
    "new",
    "日本",
    "a b",
    "a-b",
    "a_b",
    "aB",
]


Result_AB: TypeAlias = Literal[
    'a"b',
    "a\\",
    "*/ process.exit(99) /*",
    "`${process.exit(99)}`",
    "\U00002028process.exit(99)",
    '"""\U0000000araise SystemExit(99)\U0000000a',
    "#[doc]",
    "\U00000000",
    "\U0000202e",
    "",
    "9",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "__proto__",
    "constructor",
    "then",
    "self",
    "None",
    "class",
    "list",
    "cast",
    "new",
    "日本",
    "a b",
    "a-b",
    "a_b",
    "aB",
]


Result_ProcessExit99: TypeAlias = Literal[
    'a"b',
    "a\\",
    "*/ process.exit(99) /*",
    "`${process.exit(99)}`",
    "\U00002028process.exit(99)",
    '"""\U0000000araise SystemExit(99)\U0000000a',
    "#[doc]",
    "\U00000000",
    "\U0000202e",
    "",
    "9",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "__proto__",
    "constructor",
    "then",
    "self",
    "None",
    "class",
    "list",
    "cast",
    "new",
    "日本",
    "a b",
    "a-b",
    "a_b",
    "aB",
]


Result_ProcessExit99_2: TypeAlias = Literal[
    'a"b',
    "a\\",
    "*/ process.exit(99) /*",
    "`${process.exit(99)}`",
    "\U00002028process.exit(99)",
    '"""\U0000000araise SystemExit(99)\U0000000a',
    "#[doc]",
    "\U00000000",
    "\U0000202e",
    "",
    "9",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "__proto__",
    "constructor",
    "then",
    "self",
    "None",
    "class",
    "list",
    "cast",
    "new",
    "日本",
    "a b",
    "a-b",
    "a_b",
    "aB",
]


SelfResult: TypeAlias = Literal["self"]


Self_: TypeAlias = Literal[
    'a"b',
    "a\\",
    "*/ process.exit(99) /*",
    "`${process.exit(99)}`",
    "\U00002028process.exit(99)",
    '"""\U0000000araise SystemExit(99)\U0000000a',
    "#[doc]",
    "\U00000000",
    "\U0000202e",
    "",
    "9",
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "__proto__",
    "constructor",
    "then",
    "self",
    "None",
    "class",
    "list",
    "cast",
    "new",
    "日本",
    "a b",
    "a-b",
    "a_b",
    "aB",
]


Twice: TypeAlias = "Any"


UnnamedResult: TypeAlias = Literal["\U00000000"]


UnnamedResult_2: TypeAlias = Literal[""]


UnnamedResult_3: TypeAlias = Literal["日本"]


XxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxResult: TypeAlias = Literal[
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
]


class TsNocheckXGlobalThisOwned1ProcessExit99AddsPanicRunAsATestRustPanicPanicIndentedPanicPanicPanicScrip:
    """Calls the methods of @ts-nocheck x\\u2028;globalThis.OWNED=1;process.exit(99)//Adds.  ``` panic!('run as a test'); ```  ~~~rust panic!() ~~~  panic!('indented');  - ``` panic!() ``` - panic!() > ``` > panic!()<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script> [r]: javascript:alert(1)a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99) */ process.exit(99)''' raise SystemExit(99) ''' \\''' raise SystemExit(99)\\ > > > raise SystemExit(99) '''\\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck."""

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

    def a_b(self, a_b: Result_, a_b_2: str, *, b: str | None = None) -> None:
        """Adds.

        ```
        panic!('run as a test');
        ```

        ~~~rust
        panic!()
        ~~~

        panic!('indented');

        - ```
        panic!()
        ```
        - panic!()
        > ```
        > panic!()

        <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script>
        [r]: javascript:alert(1)

        Deprecated.
        """
        _params = [a_b, a_b_2, b]
        self._notify('a"b', _trimmed(_params))

    def a(self, a: Result_, a_2: str, *, b: str | None = None) -> AResult:
        """<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script>
        [r]: javascript:alert(1)

        a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
        */ process.exit(99)
        """
        _params = [a, a_2, b]
        return cast("AResult", self._call("a\\", _trimmed(_params)))

    def process_exit_99(
        self, process_exit_99: Result_, *, b: str | None = None
    ) -> Loop:
        """a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
        */ process.exit(99)

        '''
        raise SystemExit(99)
        ''' \\'''
        raise SystemExit(99)\\
        > > > raise SystemExit(99)
        '''

        Deprecated.
        """
        _params = {"*/ process.exit(99) /*": process_exit_99}
        _optional = {"b": b}
        _params.update(_given(_optional))
        return cast("Loop", self._call("*/ process.exit(99) /*", _params))

    def process_exit_99_2(
        self,
        a_b: Result_,
        a: str,
        *,
        process_exit_99: str | None = None,
        process_exit_99_2: str | None = None,
        process_exit_99_3: str | None = None,
        raise_system_exit_99: str | None = None,
        doc: str | None = None,
        unnamed: str | None = None,
        unnamed_2: str | None = None,
        unnamed_3: str | None = None,
        _9: str | None = None,
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: str | None = None,
        proto: str | None = None,
        constructor: str | None = None,
        then: str | None = None,
        self_: str | None = None,
        none: str | None = None,
        class_: str | None = None,
        list: str | None = None,
        cast_: str | None = None,
        new: str | None = None,
        unnamed_4: str | None = None,
        a_b_2: str | None = None,
        a_b_3: str | None = None,
        a_b_4: str | None = None,
        a_b_5: str | None = None,
    ) -> ProcessExit99Result:
        """'''
        raise SystemExit(99)
        ''' \\'''
        raise SystemExit(99)\\
        > > > raise SystemExit(99)
        '''

        \\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
        """
        _params = [
            a_b,
            a,
            process_exit_99,
            process_exit_99_2,
            process_exit_99_3,
            raise_system_exit_99,
            doc,
            unnamed,
            unnamed_2,
            unnamed_3,
            _9,
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
            proto,
            constructor,
            then,
            self_,
            none,
            class_,
            list,
            cast_,
            new,
            unnamed_4,
            a_b_2,
            a_b_3,
            a_b_4,
            a_b_5,
        ]
        return cast(
            "ProcessExit99Result",
            self._call("`${process.exit(99)}`", _trimmed(_params)),
        )

    def process_exit_99_3(
        self,
        a_b: Result_,
        a: str,
        *,
        process_exit_99: str | None = None,
        process_exit_99_2: str | None = None,
        process_exit_99_3: str | None = None,
        raise_system_exit_99: str | None = None,
        doc: str | None = None,
        unnamed: str | None = None,
        unnamed_2: str | None = None,
        unnamed_3: str | None = None,
        _9: str | None = None,
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: str | None = None,
        proto: str | None = None,
        constructor: str | None = None,
        then: str | None = None,
        self_: str | None = None,
        none: str | None = None,
        class_: str | None = None,
        list: str | None = None,
        cast_: str | None = None,
        new: str | None = None,
        unnamed_4: str | None = None,
        a_b_2: str | None = None,
        a_b_3: str | None = None,
        a_b_4: str | None = None,
        a_b_5: str | None = None,
    ) -> None:
        """\\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck

        Adds.

        ```
        panic!('run as a test');
        ```

        ~~~rust
        panic!()
        ~~~

        panic!('indented');

        - ```
        panic!()
        ```
        - panic!()
        > ```
        > panic!()

        Deprecated.
        """
        _params = {'a"b': a_b, "a\\": a}
        _optional = {
            "*/ process.exit(99) /*": process_exit_99,
            "`${process.exit(99)}`": process_exit_99_2,
            "\U00002028process.exit(99)": process_exit_99_3,
            '"""\U0000000araise SystemExit(99)\U0000000a': raise_system_exit_99,
            "#[doc]": doc,
            "\U00000000": unnamed,
            "\U0000202e": unnamed_2,
            "": unnamed_3,
            "9": _9,
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
            "__proto__": proto,
            "constructor": constructor,
            "then": then,
            "self": self_,
            "None": none,
            "class": class_,
            "list": list,
            "cast": cast_,
            "new": new,
            "日本": unnamed_4,
            "a b": a_b_2,
            "a-b": a_b_3,
            "a_b": a_b_4,
            "aB": a_b_5,
        }
        _params.update(_given(_optional))
        self._notify("\U00002028process.exit(99)", _params)

    def raise_system_exit_99(
        self,
        raise_system_exit_99: Result_,
        raise_system_exit_99_2: str,
        *,
        b: str | None = None,
    ) -> RaiseSystemExit99Result:
        """Adds.

        ```
        panic!('run as a test');
        ```

        ~~~rust
        panic!()
        ~~~

        panic!('indented');

        - ```
        panic!()
        ```
        - panic!()
        > ```
        > panic!()

        <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script>
        [r]: javascript:alert(1)
        """
        _params = [raise_system_exit_99, raise_system_exit_99_2, b]
        return cast(
            "RaiseSystemExit99Result",
            self._call('"""\U0000000araise SystemExit(99)\U0000000a', _trimmed(_params)),
        )

    def doc(self, doc: Result_, doc_2: str, *, b: str | None = None) -> Loop:
        """<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script>
        [r]: javascript:alert(1)

        a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
        */ process.exit(99)

        Deprecated.
        """
        _params = [doc, doc_2, b]
        return cast("Loop", self._call("#[doc]", _trimmed(_params)))

    def unnamed(
        self, unnamed: Result_, unnamed_2: str, *, b: str | None = None
    ) -> UnnamedResult:
        """a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
        */ process.exit(99)

        '''
        raise SystemExit(99)
        ''' \\'''
        raise SystemExit(99)\\
        > > > raise SystemExit(99)
        '''
        """
        _params = [unnamed, unnamed_2, b]
        return cast("UnnamedResult", self._call("\U00000000", _trimmed(_params)))

    def unnamed_2(self, unnamed: Result_, *, b: str | None = None) -> None:
        """'''
        raise SystemExit(99)
        ''' \\'''
        raise SystemExit(99)\\
        > > > raise SystemExit(99)
        '''

        \\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck

        Deprecated.
        """
        _params = {"\U0000202e": unnamed}
        _optional = {"b": b}
        _params.update(_given(_optional))
        self._notify("\U0000202e", _params)

    def unnamed_3(
        self, unnamed: Result_, unnamed_2: str, *, b: str | None = None
    ) -> UnnamedResult_2:
        """\\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck

        Adds.

        ```
        panic!('run as a test');
        ```

        ~~~rust
        panic!()
        ~~~

        panic!('indented');

        - ```
        panic!()
        ```
        - panic!()
        > ```
        > panic!()
        """
        _params = [unnamed, unnamed_2, b]
        return cast("UnnamedResult_2", self._call("", _trimmed(_params)))

    def _9(self, _9: Result_, *, b: str | None = None) -> Loop:
        """Adds.

        ```
        panic!('run as a test');
        ```

        ~~~rust
        panic!()
        ~~~

        panic!('indented');

        - ```
        panic!()
        ```
        - panic!()
        > ```
        > panic!()

        <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script>
        [r]: javascript:alert(1)

        Deprecated.
        """
        _params = {"9": _9}
        _optional = {"b": b}
        _params.update(_given(_optional))
        return cast("Loop", self._call("9", _params))

    def xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx(
        self,
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: Result_,
        xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_2: str,
        *,
        b: str | None = None,
    ) -> XxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxResult:
        """<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script>
        [r]: javascript:alert(1)

        a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
        */ process.exit(99)
        """
        _params = [
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx,
            xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx_2,
            b,
        ]
        return cast(
            "XxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxResult",
            self._call("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", _trimmed(_params)),
        )

    def proto(self, proto: Result_, proto_2: str, *, b: str | None = None) -> None:
        """a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
        */ process.exit(99)

        '''
        raise SystemExit(99)
        ''' \\'''
        raise SystemExit(99)\\
        > > > raise SystemExit(99)
        '''

        Deprecated.
        """
        _params = [proto, proto_2, b]
        self._notify("__proto__", _trimmed(_params))

    def constructor(
        self, constructor: Result_, constructor_2: str, *, b: str | None = None
    ) -> ConstructorResult:
        """'''
        raise SystemExit(99)
        ''' \\'''
        raise SystemExit(99)\\
        > > > raise SystemExit(99)
        '''

        \\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
        """
        _params = [constructor, constructor_2, b]
        return cast("ConstructorResult", self._call("constructor", _trimmed(_params)))

    def then(self, then: Result_, *, b: str | None = None) -> Loop:
        """\\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck

        Adds.

        ```
        panic!('run as a test');
        ```

        ~~~rust
        panic!()
        ~~~

        panic!('indented');

        - ```
        panic!()
        ```
        - panic!()
        > ```
        > panic!()

        Deprecated.
        """
        _params = {"then": then}
        _optional = {"b": b}
        _params.update(_given(_optional))
        return cast("Loop", self._call("then", _params))

    def self_(self, self_: Result_, self_2: str, *, b: str | None = None) -> SelfResult:
        """Adds.

        ```
        panic!('run as a test');
        ```

        ~~~rust
        panic!()
        ~~~

        panic!('indented');

        - ```
        panic!()
        ```
        - panic!()
        > ```
        > panic!()

        <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script>
        [r]: javascript:alert(1)
        """
        _params = [self_, self_2, b]
        return cast("SelfResult", self._call("self", _trimmed(_params)))

    def none(self, none: Result_, *, b: str | None = None) -> None:
        """<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script>
        [r]: javascript:alert(1)

        a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
        */ process.exit(99)

        Deprecated.
        """
        _params = {"None": none}
        _optional = {"b": b}
        _params.update(_given(_optional))
        self._notify("None", _params)

    def class_(
        self, class_: Result_, class_2: str, *, b: str | None = None
    ) -> ClassResult:
        """a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
        */ process.exit(99)

        '''
        raise SystemExit(99)
        ''' \\'''
        raise SystemExit(99)\\
        > > > raise SystemExit(99)
        '''
        """
        _params = [class_, class_2, b]
        return cast("ClassResult", self._call("class", _trimmed(_params)))

    def list_(self, list: Result_, list_2: str, *, b: str | None = None) -> Loop:
        """'''
        raise SystemExit(99)
        ''' \\'''
        raise SystemExit(99)\\
        > > > raise SystemExit(99)
        '''

        \\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck

        Deprecated.
        """
        _params = [list, list_2, b]
        return cast("Loop", self._call("list", _trimmed(_params)))

    def cast_(self, cast_: Result_, cast_2: str, *, b: str | None = None) -> CastResult:
        """\\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck

        Adds.

        ```
        panic!('run as a test');
        ```

        ~~~rust
        panic!()
        ~~~

        panic!('indented');

        - ```
        panic!()
        ```
        - panic!()
        > ```
        > panic!()
        """
        _params = [cast_, cast_2, b]
        return cast("CastResult", self._call("cast", _trimmed(_params)))

    def new(self, new: Result_, *, b: str | None = None) -> None:
        """Adds.

        ```
        panic!('run as a test');
        ```

        ~~~rust
        panic!()
        ~~~

        panic!('indented');

        - ```
        panic!()
        ```
        - panic!()
        > ```
        > panic!()

        <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script>
        [r]: javascript:alert(1)

        Deprecated.
        """
        _params = {"new": new}
        _optional = {"b": b}
        _params.update(_given(_optional))
        self._notify("new", _params)

    def unnamed_4(
        self, unnamed: Result_, unnamed_2: str, *, b: str | None = None
    ) -> UnnamedResult_3:
        """<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script>
        [r]: javascript:alert(1)

        a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
        */ process.exit(99)
        """
        _params = [unnamed, unnamed_2, b]
        return cast("UnnamedResult_3", self._call("日本", _trimmed(_params)))

    def a_b_2(self, a_b: Result_, *, b: str | None = None) -> Loop:
        """a */ globalThis.OWNED=1; process.exit(99) /* b\\u2028;globalThis.OWNED=1;process.exit(99)//\\u2029process.exit(99)
        */ process.exit(99)

        '''
        raise SystemExit(99)
        ''' \\'''
        raise SystemExit(99)\\
        > > > raise SystemExit(99)
        '''

        Deprecated.
        """
        _params = {"a b": a_b}
        _optional = {"b": b}
        _params.update(_given(_optional))
        return cast("Loop", self._call("a b", _params))

    def a_b_3(self, a_b: Result_, a_b_2: str, *, b: str | None = None) -> ABResult:
        """'''
        raise SystemExit(99)
        ''' \\'''
        raise SystemExit(99)\\
        > > > raise SystemExit(99)
        '''

        \\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck
        """
        _params = [a_b, a_b_2, b]
        return cast("ABResult", self._call("a-b", _trimmed(_params)))

    def a_b_4(self, a_b: Result_, a_b_2: str, *, b: str | None = None) -> None:
        """\\u0000\\u001b[2J\\u007f\\u0085\\u009b31m\\u202e\\u2066\\ufeff\\udb40\\udc41 @ts-nocheck

        Adds.

        ```
        panic!('run as a test');
        ```

        ~~~rust
        panic!()
        ~~~

        panic!('indented');

        - ```
        panic!()
        ```
        - panic!()
        > ```
        > panic!()

        Deprecated.
        """
        _params = [a_b, a_b_2, b]
        self._notify("a_b", _trimmed(_params))

    def a_b_5(self, a_b: Result_, a_b_2: str, *, b: str | None = None) -> ABResult_2:
        """Adds.

        ```
        panic!('run as a test');
        ```

        ~~~rust
        panic!()
        ~~~

        panic!('indented');

        - ```
        panic!()
        ```
        - panic!()
        > ```
        > panic!()

        <script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/z.png) \\<script>alert(1)</script>
        [r]: javascript:alert(1)
        """
        _params = [a_b, a_b_2, b]
        return cast("ABResult_2", self._call("aB", _trimmed(_params)))
