"""Editors against the example `lsp_server`: each opens a file, gets diagnostics, completes, renames, and shuts it down."""

import asyncio
import json
import os
import tempfile

from tap import check, run

TEXT = "horse 🐎 horse\n" + "x" * 120 + "\nhouse\n"
WANTED = {
    "diagnostic": [1, 100, "this line is longer than 100 characters"],
    "hover": "`horse`, 2 times",
    "labels": ["horse", "house", "short"],
    "lines": ["kůň 🐎 kůň", "short", "house"],
    "after": "`kůň`, 2 times",
    "exit": 0,
}


async def editor(*command):
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "words.txt"), "w") as file:
            file.write(TEXT)
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "HOME": folder},
        )
        try:
            out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        text = out.decode() + err.decode()
        lines = [line for line in text.splitlines() if line.startswith("{")]
        assert process.returncode == 0 and lines, text
        return json.loads(lines[-1])


async def neovim_edits():
    script = os.path.abspath("editor.lua")
    check(await editor("nvim", "--headless", "--clean", "words.txt", "-c", f"luafile {script}", "-c", "qa!"), WANTED)


async def emacs_edits():
    script = os.path.abspath("editor.el")
    flags = ["--batch", "--no-init-file", "--eval", "(package-initialize)"]
    check(await editor("emacs", *flags, "-l", script), WANTED)


run("editors", [neovim_edits, emacs_edits])
