"""The client of `sabir-lsp` against language servers that others wrote: `diagnose` opens a file in each."""

import asyncio
import json
import os
import tempfile

from tap import check, run

DIAGNOSE = os.environ["LSP_DIAGNOSE"]
BIN = os.path.abspath(".venv/bin")


async def diagnose(name, text, *server):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(text)
        process = await asyncio.create_subprocess_exec(
            DIAGNOSE, path, *server, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        assert process.returncode == 0, err.decode()
        return out.decode()


async def clangd_finds_an_error():
    out = await diagnose("main.c", "int main() { return x; }\n", "clangd", "--log=error")
    assert "clangd" in out.splitlines()[0], out
    assert "1:21: " in out and "undeclared identifier 'x'" in out, out
    assert "function `main`" in out, out


async def pylsp_finds_an_error():
    out = await diagnose("main.py", "def f():\n    return x\n", os.path.join(BIN, "pylsp"))
    assert "undefined name 'x'" in out, out


async def ruff_finds_an_error():
    out = await diagnose("main.py", "import os\n", os.path.join(BIN, "ruff"), "server")
    assert "ruff" in out.splitlines()[0], out
    assert "1:8: `os` imported but unused" in out, out


run("language servers", [clangd_finds_an_error, pylsp_finds_an_error, ruff_finds_an_error])
