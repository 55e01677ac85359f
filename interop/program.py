"""The program under test: run to its end, or left running while a test talks to it."""

import asyncio
import os
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
