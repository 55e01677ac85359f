"""The program under test: run to its end, or left running while a test talks to it."""

import asyncio
import os
import socket
import subprocess
import tempfile
from contextlib import asynccontextmanager

SABIR = os.environ["SABIR"]


async def call(*args, stdin=None):
    """`sabir call` with these arguments: exit code, standard output, standard error."""
    return await sabir("call", *args, stdin=stdin)


async def sabir(*args, stdin=None, env=None):
    """The program with these arguments, and more variables: exit code, standard output, standard error."""
    process = await asyncio.create_subprocess_exec(
        SABIR, *args,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **(env or {})},
    )
    try:
        out, err = await process.communicate(None if stdin is None else stdin.encode())
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode, out.decode(), err.decode()


@asynccontextmanager
async def demo(*args, scheme="tcp"):
    """`sabir demo` on a free port: host and port. It must end well when it is told to."""
    process = await asyncio.create_subprocess_exec(
        SABIR, "demo", "--listen", f"{scheme}://127.0.0.1:0", *args, stderr=asyncio.subprocess.PIPE
    )
    try:
        line = (await process.stderr.readline()).decode()
        host, port = line.strip().rpartition("://")[2].rstrip("/").rsplit(":", 1)
        yield host, int(port)
        process.terminate()
        assert await process.wait() == 0, f"sabir demo ended with {process.returncode}"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


async def reachable(port):
    """Waits until somebody listens."""
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            await asyncio.sleep(0.05)


@asynccontextmanager
async def server(*command, port=None, env=None, announces=False):
    """A server of others, until the test is over: what it announces in its first line, or once its port answers."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE if announces else asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **(env or {})},
    )
    try:
        if announces:
            yield (await process.stdout.readline()).decode().strip()
        else:
            await reachable(port)
            yield port
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def folder(**files):
    """A folder with these files: a dot in a name is written as two underscores."""
    with tempfile.TemporaryDirectory() as path:
        for name, text in files.items():
            with open(os.path.join(path, name.replace("__", ".")), "w") as file:
                file.write(text)
        yield path


@asynccontextmanager
async def certificate():
    """A certificate for 127.0.0.1, and its key."""
    with tempfile.TemporaryDirectory() as folder:
        cert, key = os.path.join(folder, "cert.pem"), os.path.join(folder, "key.pem")
        command = [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
            "-addext", "basicConstraints=critical,CA:FALSE",
            "-keyout", key, "-out", cert,
        ]
        subprocess.run(command, check=True, capture_output=True)
        yield cert, key
