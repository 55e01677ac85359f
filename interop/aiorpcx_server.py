"""A server with `aiorpcx` on the port that the variable PORT names."""

import asyncio
import os

import aiorpcx


async def add(a, b):
    return a + b


class Session(aiorpcx.RPCSession):
    async def handle_request(self, request):
        return await aiorpcx.handler_invocation({"add": add}.get(request.method), request)()


async def serve():
    await aiorpcx.serve_rs(Session, "127.0.0.1", int(os.environ["PORT"]))
    await asyncio.Event().wait()


asyncio.run(serve())
