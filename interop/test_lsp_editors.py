"""Editors against the example `lsp_server`: each opens a file, gets diagnostics, completes, renames, and shuts it down."""

import asyncio
import json
import os
import tempfile

from tap import check, run
from terminal import Terminal

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


# Helix kills a server once that has been told to exit: what tells the exit code is not a child of helix.
HELIX_LANGUAGES = """
[language-server.words]
command = "sh"
args = ["-c", 'exec 3<&0; ("$LSP_SERVER" <&3; echo $? >exit.part; mv exit.part exit) & wait']

[[language]]
name = "words"
scope = "text.words"
file-types = ["txt"]
language-servers = ["words"]
"""


async def helix_edits():
    with tempfile.TemporaryDirectory() as folder:
        settings = os.path.join(folder, ".config", "helix")
        os.makedirs(settings)
        for path, text in [(f"{settings}/languages.toml", HELIX_LANGUAGES), (f"{folder}/words.txt", TEXT)]:
            with open(path, "w") as file:
                file.write(text)
        terminal = Terminal()
        env = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": f"{folder}/.config", "TERM": "xterm-256color"}
        async with terminal.running(os.environ["HELIX"], "words.txt", cwd=folder, env=env):
            await terminal.until("● 1")
            await terminal.type("]d")
            await terminal.until(WANTED["diagnostic"][2])
            # A change that the server is told of piece by piece.
            await terminal.type("gg", "j", "x", "c", "short", "\x1b")
            await terminal.until_not("● 1")
            await terminal.type("gg", " k")
            await terminal.until(" horse, 2 times")
            await terminal.type("\x1b", "ge", "o", "\x18")
            for label in WANTED["labels"]:
                await terminal.until(f"   {label}\n")
            for keys, seen in [("ho", "ho"), ("\x0e", "horse"), ("\x0e", "house"), ("\r", "house")]:
                await terminal.type(keys)
                await terminal.until(f"4  {seen}\n")
            await terminal.type("\x1b", "gg", " r")
            await terminal.until("rename-to:horse")
            await terminal.type("\x15", "kůň\r")
            await terminal.until(WANTED["lines"][0])
            await terminal.type("gg", " k")
            await terminal.until(" kůň, 2 times")
            await terminal.type("\x1b", ":wq\r")
            check(await terminal.ended(), 0)
        with open(f"{folder}/words.txt") as file:
            check(file.read().split(), [word for line in WANTED["lines"] + ["house"] for word in line.split()])
        while not os.path.exists(f"{folder}/exit"):
            await asyncio.sleep(0.05)
        with open(f"{folder}/exit") as file:
            check(file.read(), "0\n")


run("editors", [neovim_edits, emacs_edits] + ([helix_edits] if os.environ["HELIX"] else []))
