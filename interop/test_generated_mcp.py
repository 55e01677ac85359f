"""The generated Python client of an MCP server's tools: type-checked by mypy, then used with the package mcp."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from program import SABIR
from tap import check, run

FOLDER = Path(tempfile.mkdtemp(prefix="sabir-tools-"))
CLIENT = FOLDER / "tools.py"
subprocess.run([SABIR, "generate", "--lang", "python", "--name", "Tools", "-o", CLIENT, "--", SABIR, "demo", "--mcp"], check=True)


async def the_client_passes_mypy_strict():
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, str(CLIENT)]
    said = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER).stdout
    assert said.startswith("Success"), said


async def tools_are_called_by_name():
    spec = importlib.util.spec_from_file_location("tools", CLIENT)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    server = StdioServerParameters(command=SABIR, args=["demo", "--mcp"])
    async with stdio_client(server) as (reader, writer), ClientSession(reader, writer) as session:
        await session.initialize()
        tools = made.Tools(session)
        check((await tools.test_simple_text()).content[0].type, "text")
        check((await tools.add(2, 3)).content[0].text, "5")
        check(await tools.divide(7, 2), {"quotient": 3.5})
        try:
            await tools.divide(1, 0)
            raise AssertionError("no error came")
        except made.ToolError as error:
            assert "failed" in str(error), error


try:
    run("python tools", [the_client_passes_mypy_strict, tools_are_called_by_name])
finally:
    shutil.rmtree(FOLDER)
