"""What a person sees: the program with its output on a terminal."""

import asyncio
import json
import os
import pty
import re

from program import SABIR
from tap import check, run

ESCAPE = "\x1b"


async def on_a_terminal(*args, env=()):
    """`sabir` with these arguments: exit code, and all that came to the terminal."""
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        SABIR, *args, stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "NO_COLOR": "", **dict(env)},
    )
    os.close(theirs)
    seen = await asyncio.to_thread(read_all, ours)
    os.close(ours)
    return await process.wait(), seen


def read_all(terminal):
    seen = b""
    while True:
        try:
            some = os.read(terminal, 65536)
        except OSError:  # The other side is closed.
            return seen.decode()
        if not some:
            return seen.decode()
        seen += some


async def results_are_coloured_and_laid_out():
    code, seen = await on_a_terminal("call", "demo:", "echo", "a=1", "b:=[true,null]")
    check(code, 0)
    plain = without_colours(seen)
    check(json.loads(plain), {"a": "1", "b": [True, None]})
    assert "\n" in plain.strip() and seen != plain, repr(seen)


async def errors_stand_out():
    code, seen = await on_a_terminal("call", "demo:", "nope")
    check(code, 1)
    assert f"{ESCAPE}[1;31merror:{ESCAPE}[0m -32601 Method not found" in seen, repr(seen)
    assert "sabir list demo:" in seen, repr(seen)


async def colours_are_left_out_if_nobody_wants_them():
    for env in [{"NO_COLOR": "1"}, {"TERM": "dumb"}]:
        code, seen = await on_a_terminal("call", "demo:", "echo", "a=1", env=env)
        check(code, 0)
        check(without_colours(seen), seen)
        check(json.loads(seen), {"a": "1"})


async def progress_is_a_bar_that_goes_away():
    code, seen = await on_a_terminal("call", "demo:", "progress", "steps:=10", "ms:=100")
    check(code, 0)
    assert "\r" in seen.replace("\r\n", "") and "#---]  90 %" in seen, repr(seen)
    # What is left on the last line is the result alone.
    last = without_colours(seen).strip().rsplit("\r", 1)[-1].strip()
    check(last, "10")


async def a_tour_is_coloured():
    code, seen = await on_a_terminal("tour")
    check(code, 0)
    assert without_colours(seen) != seen


def without_colours(text):
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)


run("terminal", [
    results_are_coloured_and_laid_out,
    errors_stand_out,
    colours_are_left_out_if_nobody_wants_them,
    progress_is_a_bar_that_goes_away,
    a_tour_is_coloured,
])
