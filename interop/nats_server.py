"""Servers of NATS for tests, each with its own ports."""

import asyncio
import os
from contextlib import asynccontextmanager

from program import SABIR, free_port, reachable

NATS_SERVER = os.environ["NATS_SERVER"]


@asynccontextmanager
async def nats_server(*args):
    """A server on a free port: the port."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        NATS_SERVER, "-a", "127.0.0.1", "-p", str(port), *args,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await reachable(port)
        yield port
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def worker(url, *args, env=None):
    """`sabir demo` as a worker. It must end well when it is told to."""
    process = await asyncio.create_subprocess_exec(
        SABIR, "demo", "--listen", url, *args, stderr=asyncio.subprocess.PIPE, env={**os.environ, **(env or {})}
    )
    try:
        line = (await process.stderr.readline()).decode()
        assert "serving on nats" in line, line
        yield process
        if process.returncode is None:
            process.terminate()
            assert await process.wait() == 0, f"sabir demo ended with {process.returncode}"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
