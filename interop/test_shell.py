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

    def press(self, key):
        os.write(self.side, key.encode())

    async def type(self, text, key="\r"):
        """Pastes a text, as terminals do, and presses a key."""
        self.press(f"\x1b[200~{text}\x1b[201~")
        # It may be drawn in parts, so only its last character counts: one that the prompt does not have.
        await self.see(text[-1])
        await asyncio.sleep(0.05)
        self.press(key)

    def look(self):
        """All that has come since."""
        try:
            self.seen += without_control(os.read(self.side, 65536).decode(errors="replace"))
        except OSError:  # Nothing more, or the other side is closed.
            pass
        return self.seen

    async def see(self, text):
        """Waits until this is seen, behind what was seen before; returns all up to there."""
        end = time.monotonic() + PATIENCE
        while text not in self.look():
            assert time.monotonic() < end, f"{text!r} is not in {self.seen!r}"
            await asyncio.sleep(0.01)
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
    await terminal.see("> ")
    terminal.press("\x04")
    check(await asyncio.wait_for(terminal.process.wait(), PATIENCE), code)


async def calls_are_answered_with_their_time():
    async with shell("demo:") as terminal:
        await terminal.see("demo:> ")
        await terminal.type("add 2 3")
        await terminal.see("5\r\n")
        await terminal.see(" ms")
        await terminal.type('echo {"a": [1,')
        await terminal.see("[1,\r\n")
        await terminal.type("2]}")
        seen = await terminal.see(" ms")
        assert '"a"' in seen, seen
        await ended(terminal)


async def names_and_params_are_completed():
    async with shell("demo:") as terminal:
        await terminal.see("demo:> ")
        # The methods are asked for meanwhile.
        for _ in range(50):
            await terminal.type("subtr", key="\t")
            await asyncio.sleep(0.2)
            terminal.press("\x01")
            await terminal.see("demo:> ")
            if "subtract " in await terminal.see("subtr") + terminal.look():
                break
            terminal.press("\x0b")
        terminal.press("\x05")
        await terminal.type("minu", key="\t")
        await terminal.see("minuend:=")
        await terminal.type("42 sub", key="\t")
        await terminal.see("subtrahend:=")
        await terminal.type("23")
        await terminal.see("19\r\n")
        await ended(terminal)


async def notifications_are_shown_while_a_line_is_edited():
    async with shell("demo:") as terminal:
        await terminal.see("demo:> ")
        await terminal.type("subscribe_ticks 3 300")
        await terminal.see(" ms")
        await terminal.see("demo:> ")
        # Half a line, then the rest behind a notification.
        await terminal.type("add 2", key=" ")
        await terminal.see("notification: ticks")
        await terminal.see("notification: ticks")
        await terminal.see("add 2 ")
        await terminal.type("40")
        await terminal.see("42\r\n")
        await ended(terminal)


async def an_interrupt_cancels_the_call_alone():
    async with shell("demo:") as terminal:
        await terminal.see("demo:> ")
        await terminal.type("sleep 60000")
        await asyncio.sleep(0.5)
        terminal.process.send_signal(signal.SIGINT)
        await terminal.see("interrupted")
        await terminal.see("demo:> ")
        await terminal.type("add 2 3")
        await terminal.see("5\r\n")
        # Twice, too.
        await terminal.type("sleep 60000")
        await asyncio.sleep(0.5)
        terminal.press("\x03")
        await terminal.see("interrupted")
        # The server answers that it has stopped, which is not worth a word.
        await terminal.see("demo:> ")
        await terminal.type("half a row", key="\x03")
        # The line is drawn once more, with its prompt; the next one is behind a line break.
        await terminal.see("\n")
        await terminal.see("demo:> ")
        await terminal.type("add 2 4")
        await terminal.see("6\r\n")
        await ended(terminal)


async def the_history_stays():
    with tempfile.TemporaryDirectory() as home:
        async with shell("demo:", home=home) as terminal:
            await terminal.see("demo:> ")
            await terminal.type("add 20 22")
            await terminal.see("42\r\n")
            await ended(terminal)
        path = os.path.join(home, ".local/state/sabir/shell_history")
        check(os.stat(path).st_mode & 0o077, 0)
        async with shell("demo:", home=home) as terminal:
            await terminal.see("demo:> ")
            terminal.press("\x1b[A")
            await terminal.see("add 20 22")
            terminal.press("\r")
            await terminal.see("42\r\n")
            await ended(terminal)


async def help_is_there():
    async with shell("demo:") as terminal:
        await terminal.see("demo:> ")
        await terminal.type(".help")
        await terminal.see(".notify METHOD")
        await terminal.type(".help add")
        await terminal.see("Adds two numbers.")
        await terminal.type(".list sub")
        await terminal.see("subtract")
        await terminal.type(".exit")
        check(await asyncio.wait_for(terminal.process.wait(), PATIENCE), 0)


async def a_server_that_ends_is_told():
    async with demo() as (host, port):
        terminal = shell(f"tcp://{host}:{port}")
        terminal, closing = await terminal.__aenter__(), terminal
        await terminal.see("> ")
    try:
        await terminal.see("Enter ends")
        terminal.press("\r")
        check(await asyncio.wait_for(terminal.process.wait(), PATIENCE), 5)
    finally:
        await closing.__aexit__(None, None, None)


async def tools_are_called_by_name_and_ask_back():
    async with shell("--", sys.executable, "mcp_server.py") as terminal:
        await terminal.see("> ")
        await terminal.type("add a=2 b=3")
        await terminal.see("5\r\n")
        await terminal.see("> ")
        await terminal.type("greet")
        await terminal.see("Who are you?")
        await terminal.see("[a/d/c] ")
        terminal.press("a\n")
        await terminal.see(": ")
        terminal.press("Ada\n")
        await terminal.see("assistant: ")
        terminal.press("good day\n")
        await terminal.see("Hello, Ada: good day")
        await ended(terminal)


async def names_of_a_hostile_server_stay_out_of_the_editor():
    async with shell("--as", "mcp", "--", sys.executable, "hostile_mcp.py") as terminal:
        await terminal.see("> ")
        # The tools are asked for meanwhile.
        for _ in range(50):
            await terminal.type("plain", key=" ")
            await asyncio.sleep(0.2)
            seen = terminal.look()
            assert "\x1b" not in seen and "\u009b" not in seen and "\u202e" not in seen, repr(seen)
            terminal.press("\x15")
            if "[good]" in seen:
                break
        await terminal.see("[good]")
        # Of four tools one is plain: it is the only one that is completed.
        await terminal.type("pla", key="\t")
        await terminal.see("plain ")
        await asyncio.sleep(0.2)
        seen = terminal.look()
        assert "\x1b" not in seen and "evil" not in seen and "\u202e" not in seen, repr(seen)
        terminal.press("\x15")
        await ended(terminal)


async def nothing_is_accepted_without_a_key():
    for typed, action in [("\nd\n", "decline"), ("c\n", "cancel"), ("a\n", "accept"), ("\x04", "cancel")]:
        async with shell("--as", "mcp", "--", sys.executable, "hostile_mcp.py") as terminal:
            await terminal.see("> ")
            await terminal.type("plain")
            await terminal.see("May I?")
            await terminal.see("[a/d/c] ")
            assert "answered" not in terminal.look(), terminal.seen
            terminal.press(typed)
            await terminal.see(f'"action": "{action}"')
            await ended(terminal)


async def a_pipe_is_a_script():
    lines = 'add 2 3\necho {"a":\n [1, 2]}\nnope\n.notify update 1\n{"id": 1, "method": "notes"}\n'
    code, out, err = await sabir("shell", "demo:", stdin=lines)
    check((code, out), (1, '5\n[{"a":[1,2]}]\n[[1]]\n'))
    assert "-32601" in err, err


async def what_was_typed_ahead_is_called():
    async with shell("demo:") as terminal:
        await terminal.see("demo:> ")
        await terminal.type("sleep 700")
        await asyncio.sleep(0.2)
        terminal.press("add 2 3\n")
        await terminal.see("700\r\n")
        await terminal.see("5\r\n")
        await ended(terminal)


run("shell", [
    calls_are_answered_with_their_time,
    names_and_params_are_completed,
    notifications_are_shown_while_a_line_is_edited,
    an_interrupt_cancels_the_call_alone,
    what_was_typed_ahead_is_called,
    the_history_stays,
    help_is_there,
    a_server_that_ends_is_told,
    tools_are_called_by_name_and_ask_back,
    names_of_a_hostile_server_stay_out_of_the_editor,
    nothing_is_accepted_without_a_key,
    a_pipe_is_a_script,
])
