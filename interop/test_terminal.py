"""What a person sees: the program with its output on a terminal."""

import asyncio
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios

from program import SABIR
from tap import check, run

ESCAPE = "\x1b"
# How many methods the demo has.
METHODS = len(subprocess.run([SABIR, "list", "--json", "demo:"], capture_output=True).stdout.splitlines())


async def on_a_terminal(*args, env=(), rows=24, columns=80, cwd=None):
    """`sabir` with these arguments: exit code, and all that came to the terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = await asyncio.create_subprocess_exec(
        SABIR, *args, stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "NO_COLOR": "", "PAGER": "cat", **dict(env)}, cwd=cwd,
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


async def tables_are_aligned_and_as_wide_as_the_terminal():
    for columns in (40, 60, 80, 120):
        code, seen = await on_a_terminal("list", "demo:", columns=columns)
        check(code, 0)
        lines = without_colours(seen).splitlines()
        assert max(map(len, lines)) <= columns, (columns, max(lines, key=len))
        # All summaries begin in one column: below a name there is a gap, or the name ends there.
        start = lines[0].index("Adds")
        assert all(line[start - 2:start].isspace() for line in lines), lines
        # What does not fit goes on below.
        assert (len(lines) > METHODS) == (columns < 100), (columns, len(lines))


async def a_table_in_a_pipe_is_not_wrapped():
    process = await asyncio.create_subprocess_exec(
        SABIR, "list", "demo:", stdout=asyncio.subprocess.PIPE, env={**os.environ, "COLUMNS": "40"}
    )
    out, _ = await process.communicate()
    check(len(out.decode().splitlines()), METHODS)
    assert ESCAPE not in out.decode()


async def pages_are_as_wide_as_the_terminal():
    code, seen = await on_a_terminal("describe", "demo:", "progress", columns=40)
    check(code, 0)
    assert max(map(len, without_colours(seen).splitlines())) <= 40, seen


async def a_question_goes_away_with_its_call():
    everything = ["--", "node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"]
    tool = "trigger-long-running-operation"
    # It asks for folders as it starts. A call that reports progress does not wait for them.
    code, seen = await on_a_terminal("call", tool, "duration=2", "steps=8", *everything)
    check(code, 0)
    assert "or nothing" not in seen and "75 %" in seen, repr(seen)
    check(last_line(seen), "Long running operation completed. Duration: 2 seconds, Steps: 8.")
    # Of one that reports none this is not known: the question is taken back when the result comes.
    code, seen = await on_a_terminal("call", tool, "duration=3", "steps=1", *everything)
    check(code, 0)
    assert "or nothing: " in seen and "Shutting down" not in seen, repr(seen)
    check(last_line(seen), "Long running operation completed. Duration: 3 seconds, Steps: 1.")


async def a_subscription_says_what_is_followed():
    code, seen = await on_a_terminal("subscribe", "demo:", "add", "1", "2", "--wait", "100ms")
    check(code, 0)
    assert "the server answered 3;" in seen, repr(seen)


async def tables_in_help_keep_their_columns():
    for columns in (60, 80, 100):
        code, seen = await on_a_terminal("help", "values", columns=columns)
        check(code, 0)
        lines = without_colours(seen).splitlines()
        assert max(map(len, lines)) <= columns, (columns, max(lines, key=len))
        start = lines[2].index("a named argument")
        for line in lines[2:lines.index("", 2)]:
            assert line[2] != " " or not line[:start].strip(), (columns, line)
        for command in ("call", "shell", "check", "tap"):
            code, seen = await on_a_terminal(command, "--help", columns=columns)
            check(code, 0)
            tail = without_colours(seen).replace("\r", "").split("Options:\n")[1].splitlines()
            assert max(map(len, tail)) <= columns, (command, columns, max(tail, key=len))
            # A paragraph is broken only where its next word does not fit.
            for line, following in zip(tail, tail[1:]):
                if line[:1].strip() and following[:1].strip() and not line.endswith(":"):
                    word = following.split(" ")[0]
                    assert len(line) + 1 + len(word) > columns, (command, columns, line, following)


async def help_is_as_wide_as_the_terminal():
    code, seen = await on_a_terminal("list", "--help", columns=60)
    check(code, 0)
    assert max(map(len, without_colours(seen).splitlines())) <= 60, seen


async def what_is_long_is_paged():
    pager = {"PAGER": "sed 's/^/page: /'"}
    code, seen = await on_a_terminal("describe", "demo:", env=pager)
    check(code, 0)
    assert all(line.startswith("page: ") for line in seen.splitlines()), seen
    # The same on a large terminal, without a pager, and what is short.
    for args, rows in [(["describe", "demo:"], 500), (["--no-pager", "describe", "demo:"], 24),
                       (["describe", "demo:", "--no-pager"], 24), (["describe", "demo:", "add"], 24)]:
        code, seen = await on_a_terminal(*args, env=pager, rows=rows)
        check(code, 0)
        assert "page: " not in seen, (args, seen)


async def without_a_pager_everything_is_printed():
    for pager in ("", "cat", "no-such-program"):
        code, seen = await on_a_terminal("describe", "demo:", env={"PAGER": pager})
        check(code, 0)
        assert "add(a: number, b: number)" in without_colours(seen), (pager, seen)


async def waiting_is_shown_and_goes_away():
    code, seen = await on_a_terminal("list", "--", "sh", "-c", "sleep 1; exec $SABIR demo")
    check(code, 0)
    assert "\r" in seen.replace("\r\n", "") and "what it offers" in seen, repr(seen)
    assert without_colours(seen.rsplit("\r\x1b[K", 1)[1]).startswith("add "), repr(seen)


async def a_command_of_a_project_is_named_before_it_runs():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "sabir.toml"), "w") as file:
            file.write(f'[targets]\nmine = "stdio:{SABIR} demo"\n')
        code, seen = await on_a_terminal("call", "mine", "add", "2", "3", cwd=folder)
        check(code, 0)
        assert f"sabir.toml names this command: stdio:{SABIR} demo" in without_colours(seen), seen
        code, seen = await on_a_terminal("targets", cwd=folder)
        assert without_colours(seen).startswith("name  target"), seen


async def binary_content_is_named_by_type_and_size():
    code, seen = await on_a_terminal("call", "demo:", "echo", f"data={'A' * 400}", "mimeType=image/png")
    check(code, 0)
    check(json.loads(without_colours(seen)), {"data": "<image/png, 300 bytes>", "mimeType": "image/png"})


def last_line(seen):
    """What is left of the last line that is not empty."""
    return without_colours(seen.rstrip().rsplit("\r\x1b[K", 1)[-1]).strip().splitlines()[-1].strip()


def without_colours(text):
    return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text)


run("terminal", [
    results_are_coloured_and_laid_out,
    errors_stand_out,
    colours_are_left_out_if_nobody_wants_them,
    progress_is_a_bar_that_goes_away,
    a_tour_is_coloured,
    tables_are_aligned_and_as_wide_as_the_terminal,
    a_table_in_a_pipe_is_not_wrapped,
    pages_are_as_wide_as_the_terminal,
    help_is_as_wide_as_the_terminal,
    tables_in_help_keep_their_columns,
    a_question_goes_away_with_its_call,
    a_subscription_says_what_is_followed,
    what_is_long_is_paged,
    without_a_pager_everything_is_printed,
    waiting_is_shown_and_goes_away,
    a_command_of_a_project_is_named_before_it_runs,
    binary_content_is_named_by_type_and_size,
])
