"""Generated clients are what the formatters of their languages would make of them."""

import subprocess
import sys

from program import SABIR
from tap import check, run

DATA = "../crates/cli/tests/data/generated"
SOURCES = [
    ["demo:"],
    [f"{DATA}/everything.json"],
    ["--", SABIR, "demo", "--mcp"],
    ["--", "node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"],
    ["--", "node", "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", "."],
    ["--", "node", "node_modules/@modelcontextprotocol/server-memory/dist/index.js"],
]
FORMATTERS = {
    "rust": ["rustfmt", "--edition", "2024", "--config", "max_width=100,use_small_heuristics=Default"],
    "typescript": ["node_modules/.bin/prettier", "--no-config", "--stdin-filepath", "client.ts"],
    "python": [sys.executable, "-m", "ruff", "format", "--isolated", "-"],
}


def output(command, text=None):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


def formatted(lang):
    async def test():
        for source in SOURCES:
            made = output([SABIR, "generate", "--lang", lang, *source])
            check((source, made), (source, output(FORMATTERS[lang], made)))
    test.__name__ = f"{lang}_clients_are_formatted"
    return test


run("formatters", [formatted(lang) for lang in FORMATTERS])
