"""`sabir shell` on a terminal: what a person types, and what they see."""

import asyncio
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import tempfile
import termios
import time
from contextlib import asynccontextmanager

from program import SABIR, demo, sabir
from tap import check, run

PATIENCE = 15


class Terminal:
    """A terminal with a program on it."""

    def __init__(self, process, side):
        self.process, self.side, self.seen = process, side, ""

    def type(self, text):
        os.write(self.side, text.encode())

    async def see(self, text):
        """Waits until this is seen, behind what was seen before; returns all up to there."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} is not in {self.seen!r}"
            try:
                self.seen += without_control(os.read(self.side, 65536).decode(errors="replace"))
            except BlockingIOError:
                await asyncio.sleep(0.01)
            except OSError:  # The other side is closed.
                assert text in self.seen, f"{text!r} is not in {self.seen!r}"
        before, _, self.seen = self.seen.partition(text)
        return before + text


def without_control(text):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


@asynccontextmanager
async def shell(*args, home=None):
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.set_blocking(ours, False)
        env = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "HOME": home or folder, "PAGER": "cat"}
        env.pop("XDG_STATE_HOME", None)
        process = await asyncio.create_subprocess_exec(
            SABIR, "shell", *args, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        try:
            yield Terminal(process, ours)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
            os.close(ours)


async def ended(terminal, code=0):
    terminal.type("\x04")
    check(await asyncio.wait_for(terminal.process.wait(), PATIENCE), code)


async def calls_are_answered_with_their_time():
    async with shell("demo:") as terminal:
        await terminal.see("demo:> ")
        terminal.type("add 2 3\r")
        await terminal.see("5\r\n")
        await terminal.see(" ms")
        terminal.type('echo {"a": [1,\r')
        terminal.type('2]}\r')
        seen = await terminal.see("ms")
        assert '"a"' in seen, seen
        await ended(terminal)


async def names_and_params_are_completed():
    async with shell("demo:") as terminal:
        await terminal.see("demo:> ")
        # The methods are asked for meanwhile.
        for _ in range(50):
            terminal.type("subtr\t")
            await asyncio.sleep(0.1)
            if "subtract " in (await terminal.see("subtr")) + terminal.seen:
                break
            terminal.type("\x15")
        await terminal.see("subtract ")
        terminal.type("minu\t42 sub\t23\r")
        await terminal.see("19\r\n")
        await ended(terminal)


async def notifications_are_shown_while_a_line_is_edited():
    async with shell("demo:") as terminal:
        await terminal.see("demo:> ")
        terminal.type("subscribe_ticks 3 300\r")
        await terminal.see(" ms")
        await terminal.see("demo:> ")
        # Half a line, then the rest behind a notification.
        terminal.type("add 2")
        await terminal.see("notification: ticks")
        await terminal.see("notification: ticks")
        terminal.type(" 40\r")
        await terminal.see("42\r\n")
        await ended(terminal)


async def an_interrupt_cancels_the_call_alone():
    async with shell("demo:") as terminal:
        await terminal.see("demo:> ")
        terminal.type("sleep 60000\r")
        await asyncio.sleep(0.5)
        terminal.process.send_signal(signal.SIGINT)
        await terminal.see("interrupted")
        terminal.type("add 2 3\r")
        await terminal.see("5\r\n")
        # Twice, too.
        terminal.type("sleep 60000\r")
        await asyncio.sleep(0.5)
        terminal.type("\x03")
        await terminal.see("interrupted")
        terminal.type("half a line\x03")
        terminal.type("add 2 4\r")
        await terminal.see("6\r\n")
        await ended(terminal)


async def the_history_stays():
    with tempfile.TemporaryDirectory() as home:
        async with shell("demo:", home=home) as terminal:
            await terminal.see("demo:> ")
            terminal.type("add 20 22\r")
            await terminal.see("42\r\n")
            await ended(terminal)
        path = os.path.join(home, ".local/state/sabir/shell_history")
        check(os.stat(path).st_mode & 0o077, 0)
        async with shell("demo:", home=home) as terminal:
            await terminal.see("demo:> ")
            terminal.type("\x1b[A\r")
            await terminal.see("42\r\n")
            await ended(terminal)


async def help_is_there():
    async with shell("demo:") as terminal:
        await terminal.see("demo:> ")
        terminal.type(".help\r")
        await terminal.see(".notify METHOD")
        terminal.type(".help add\r")
        await terminal.see("Adds two numbers.")
        terminal.type(".list sub\r")
        await terminal.see("subtract")
        terminal.type(".exit\r")
        check(await asyncio.wait_for(terminal.process.wait(), PATIENCE), 0)


async def a_server_that_ends_is_told():
    async with demo() as (host, port):
        terminal = shell(f"tcp://{host}:{port}")
        terminal, closing = await terminal.__aenter__(), terminal
        await terminal.see("> ")
    try:
        await terminal.see("Enter ends")
        terminal.type("\r")
        check(await asyncio.wait_for(terminal.process.wait(), PATIENCE), 5)
    finally:
        await closing.__aexit__(None, None, None)


async def tools_are_called_by_name_and_ask_back():
    async with shell("--", sys.executable, "mcp_server.py") as terminal:
        await terminal.see("> ")
        terminal.type("add a=2 b=3\r")
        await terminal.see("5\r\n")
        terminal.type("greet\r")
        await terminal.see("Who are you?")
        await terminal.see(": ")
        terminal.type("Ada\r")
        await terminal.see("assistant: ")
        terminal.type("good day\r")
        await terminal.see("Hello, Ada: good day")
        await ended(terminal)


async def a_pipe_is_a_script():
    lines = 'add 2 3\necho {"a":\n [1, 2]}\nnope\n.notify update 1\n{"id": 1, "method": "notes"}\n'
    code, out, err = await sabir("shell", "demo:", stdin=lines)
    check((code, out), (1, '5\n{"a":[1,2]}\n[[1]]\n'))
    assert "-32601" in err, err


run("shell", [
    calls_are_answered_with_their_time,
    names_and_params_are_completed,
    notifications_are_shown_while_a_line_is_edited,
    an_interrupt_cancels_the_call_alone,
    the_history_stays,
    help_is_there,
    a_server_that_ends_is_told,
    tools_are_called_by_name_and_ask_back,
    a_pipe_is_a_script,
])
