"""Test doubles that pass on what a client and a server say, and keep a copy of each direction.

As a program, `between.py FILE COMMAND…` stands before a command on standard input and output, and leaves FILE.in and
FILE.out. As a module, it stands before a server on a socket."""

import asyncio
import os
import subprocess
import sys
import threading
from contextlib import asynccontextmanager

# Headers that are for one hop, or that `sabir tap` says it changes.
CHANGED = {
    "host", "connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    "accept-encoding", "sec-websocket-extensions",
}


def carry(source, target, copy):
    """Reads and writes bytes as they come, and closes both ends."""
    with open(copy, "wb", buffering=0) as kept:
        while data := os.read(source, 1 << 16):
            kept.write(data)
            while data:
                data = data[os.write(target, data):]
    os.close(target)


def main(file, command):
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    to_child = threading.Thread(target=carry, args=(0, os.dup(child.stdin.fileno()), f"{file}.in"), daemon=True)
    child.stdin.close()
    to_child.start()
    carry(child.stdout.fileno(), 1, f"{file}.out")
    os._exit(child.wait())


class Between:
    """Connections that were passed on: what each side has said, as bytearrays."""

    def __init__(self):
        self.connections = []

    @property
    def exchanges(self):
        """What was asked and answered over HTTP/1.1, in the order of the connections."""
        return [exchange for said in self.connections for exchange in exchanges(*said)]


@asynccontextmanager
async def between(port):
    """Stands before a port: its own port, and what goes by."""
    kept, tasks = Between(), set()

    async def copy(reader, writer, said):
        try:
            while data := await reader.read(1 << 16):
                said.extend(data)
                writer.write(data)
                await writer.drain()
            writer.write_eof()
        except (ConnectionError, OSError):
            writer.close()

    async def connected(reader, writer):
        tasks.add(asyncio.current_task())
        said = bytearray(), bytearray()
        kept.connections.append(said)
        to_reader, to_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await asyncio.gather(copy(reader, to_writer, said[0]), copy(to_reader, writer, said[1]))
        finally:
            writer.close()
            to_writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], kept
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def head(data):
    """The first line, the headers and what follows them; `None` if they are not whole."""
    text, end, rest = bytes(data).partition(b"\r\n\r\n")
    if not end:
        return None
    first, *lines = text.decode("latin-1").split("\r\n")
    headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    return first, headers, rest


def body(headers, rest, until_close):
    """The content, what follows it, and whether it has come to its end."""
    named = dict(headers)
    if "chunked" in named.get("transfer-encoding", ""):
        content = b""
        while True:
            size, end, after = rest.partition(b"\r\n")
            count = int(size, 16) if end else 0
            if not end or len(after) < count + 2:
                return content + (after[:count] if end else b""), b"", False
            if count == 0:
                return content, after[2:], True
            content, rest = content + after[:count], after[count + 2:]
    if "content-length" in named:
        count = int(named["content-length"])
        return rest[:count], rest[count:], len(rest) >= count
    return (rest, b"", False) if until_close else (b"", rest, True)


def exchanges(asked, answered):
    found = []
    while (request := head(asked)) and (response := head(answered)):
        (line, headers, rest), (status, answer_headers, answer_rest) = request, response
        if status.split()[1] == "101":
            # From here on it is a stream of frames.
            sent, asked, came, answered, whole = rest, b"", answer_rest, b"", True
        else:
            sent, asked, _ = body(headers, rest, False)
            empty = line.startswith("HEAD") or status.split()[1] in ("202", "204", "304")
            has_length = any(name in ("content-length", "transfer-encoding") for name, _ in answer_headers)
            came, answered, whole = body(answer_headers, answer_rest, not empty or has_length)
        kept = [sorted(pair for pair in pairs if pair[0] not in CHANGED) for pairs in (headers, answer_headers)]
        found.append(((line, kept[0], sent, status.split()[1], kept[1]), came, whole))
    return found


def same(client, server):
    """Whether both sides of a tap have seen the same. An answer that was still coming may be cut at another place."""
    client, server = (sorted(side.exchanges, key=repr) for side in (client, server))
    asked = [[exchange for exchange, _, _ in side] for side in (client, server)]
    assert asked[0] == asked[1], f"\n client {asked[0]!r}\n server {asked[1]!r}"
    assert asked[0], "nothing was said"
    for (asked, came, is_whole), (_, sent, was_whole) in zip(client, server):
        equal = came == sent if is_whole and was_whole else came.startswith(sent) or sent.startswith(came)
        assert equal, f"{asked!r}\n client {came!r}\n server {sent!r}"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
