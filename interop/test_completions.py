"""Completions in fish and zsh, as somebody who presses the tab key sees them."""

import os
import pty
import re
import select
import subprocess
import tempfile
import time
from pathlib import Path

from program import SABIR
from tap import check, run

PATH = f"{Path(SABIR).parent}:{os.environ['PATH']}"
# What is typed, and what it may become.
CASES = [
    ("sabir describ", ["describe"]),
    ("sabir call demo: subt", ["subtract"]),
    ("sabir call demo: no", ["notes", "notify_hello", "notify_sum"]),
    ("sabir describe demo: su", ["subscribe_ticks", "subtract", "sum"]),
    ("sabir call stdio:false a", []),
]


async def fish_completes():
    for typed, may_become in CASES:
        script = f"source (sabir completions fish | psub); complete -C {typed!r}"
        ran = subprocess.run(["fish", "--no-config", "-c", script], env=dict(os.environ, PATH=PATH), capture_output=True, text=True)
        check((typed, [line.split("\t")[0] for line in ran.stdout.splitlines()]), (typed, may_become))


class Zsh:
    """A shell on a terminal of its own."""

    def __init__(self, folder):
        setup = [
            "autoload -U compinit", f"compinit -d {folder}/dump", "source <(sabir completions zsh)",
            "say() { print -rn -- \"[[$BUFFER]]\" }", "zle -N say", "bindkey '^Xp' say", "echo rea''dy",
        ]
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            environment = dict(os.environ, PATH=PATH, TERM="dumb", HOME=folder, COLUMNS="200")
            os.execvpe("zsh", ["zsh", "-f", "-i"], environment)
        for line in setup:
            self.type(f"{line}\n")
        self.read_until("\nready")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, pattern):
        """What it has shown when that is seen."""
        shown, deadline = "", time.monotonic() + 20
        while not re.search(pattern, shown):
            assert time.monotonic() < deadline, f"{pattern!r} is not in {shown!r}"
            if select.select([self.terminal], [], [], 1)[0]:
                shown += os.read(self.terminal, 4096).decode(errors="replace").replace("\r", "")
        return shown

    def complete(self, typed):
        """What the line becomes."""
        # A widget says it in plain words: what a terminal shows is full of movements.
        self.type(f"{typed}\t")
        self.type("\x18p")
        shown = self.read_until(r"\[\[.*\]\]")
        self.type("\x15")
        return re.search(r"\[\[(.*)\]\]", shown).group(1)

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.process, 0)


async def zsh_completes():
    with tempfile.TemporaryDirectory() as folder:
        zsh = Zsh(folder)
        try:
            for typed, may_become in CASES:
                # As far as all agree; a word that is whole is ended.
                common = os.path.commonprefix(may_become) or typed.split(" ")[-1]
                whole = " " if len(may_become) == 1 else ""
                check(zsh.complete(typed), f"{typed.rpartition(' ')[0]} {common}{whole}")
        finally:
            zsh.close()


run("completions", [fish_completes, zsh_completes])
