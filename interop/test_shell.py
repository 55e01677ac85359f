"""`sabir shell` on a terminal: what a person types, and what they see."""

import asyncio
import os
import signal
import sys
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager

from line_terminal import on_a_terminal
from program import SABIR, demo, sabir
from tap import check, run


@asynccontextmanager
async def shell(*args, home=None):
    with tempfile.TemporaryDirectory() as folder:
        async with on_a_terminal(SABIR, "shell", *args, home=home or folder) as terminal:
            await terminal.see("> ")
            yield terminal


async def ended(terminal):
    """Ends it as people do, at the next prompt."""
    await terminal.see("> ")
    terminal.press("\x04")
    await terminal.ends()


async def calls_are_answered_with_their_time():
    async with shell("demo:") as terminal:
        await terminal.enter("add 2 3", "5\r\n", " ms\r\n")
        await terminal.enter('echo {"a": [1,', "[1,\r\n")
        seen = await terminal.enter("2]}", " ms\r\n")
        assert '"a"' in seen, seen
        await ended(terminal)


async def keys_that_come_together_are_all_typed():
    async with shell("demo:") as terminal:
        terminal.press("add 2 3\radd 4 5\recho {\r}\radd 40")
        await terminal.see("5\r\n", "9\r\n", "{}\r\n", "> ")
        await terminal.enter(" 2", "42\r\n")
        await ended(terminal)


async def what_was_typed_ahead_is_called():
    async with shell("demo:") as terminal:
        await terminal.enter("sleep 700", "waiting for sleep")
        terminal.press("add 2 3\radd 40")
        await terminal.see("700\r\n", "5\r\n", "> ")
        await terminal.enter(" 2", "42\r\n")
        await ended(terminal)


async def each_line_of_a_paste_is_a_call():
    async with shell("demo:") as terminal:
        terminal.paste('add 2 3\r\necho {\r\n"a": 1}\r\nadd 40 2')
        await terminal.see("add 40 2")
        await terminal.enter("", "5\r\n", '"a": 1', "42\r\n")
        await terminal.see("> ")
        # They are remembered one by one.
        terminal.press("\x1b[A")
        await terminal.see("add 40 2")
        terminal.press("\x15")
        # Those behind a call that is interrupted are not made.
        terminal.paste("sleep 60000\nnope 1\n")
        await terminal.enter("", "waiting for sleep")
        terminal.press("\x03")
        await terminal.see("interrupted", "> ")
        seen = await terminal.enter("add 2 4", "6\r\n")
        assert "-32601" not in seen, seen
        await ended(terminal)


async def names_and_params_are_completed():
    async with shell("demo:") as terminal:
        # The methods are asked for meanwhile.
        for _ in range(50):
            terminal.press("subtr\t")
            await asyncio.sleep(0.2)
            terminal.press("\x01")
            if "subtract " in await terminal.see("subtr") + terminal.look():
                break
            terminal.press("\x0b")
        terminal.press("\x05minu\t")
        await terminal.see("minuend:=")
        terminal.press("42 sub\t")
        await terminal.see("subtrahend:=")
        await terminal.enter("23", "19\r\n")
        await ended(terminal)


async def notifications_are_shown_while_a_line_is_edited():
    async with shell("demo:") as terminal:
        await terminal.enter("subscribe_ticks 3 300", " ms\r\n", "> ")
        # Half a line, then the rest behind a notification.
        terminal.press("add 2 ")
        await terminal.see("notification: ticks", "notification: ticks", "add 2 ")
        await terminal.enter("40", "42\r\n")
        await ended(terminal)


async def an_interrupt_cancels_the_call_alone():
    async with shell("demo:") as terminal:
        await terminal.enter("sleep 60000", "waiting for sleep")
        terminal.process.send_signal(signal.SIGINT)
        await terminal.see("interrupted", "> ")
        await terminal.enter("add 2 3", "5\r\n")
        # Twice, too.
        await terminal.enter("sleep 60000", "waiting for sleep")
        terminal.press("\x03")
        await terminal.see("interrupted", "> ")
        terminal.press("half a row\x03")
        # The line is drawn once more, with its prompt; the next one is behind a line break.
        await terminal.see("\n", "> ")
        await terminal.enter("add 2 4", "6\r\n")
        await ended(terminal)


async def a_late_answer_to_an_interrupted_call_is_no_news():
    async with shell("--timeout", "2s", "--", sys.executable, "late_server.py") as terminal:
        await terminal.enter("slow", "waiting for slow")
        terminal.press("\x03")
        await terminal.see("interrupted", "> ")
        seen = await terminal.enter("go", "gone", "> ")
        assert "late" not in seen, seen
        # To one that nobody has interrupted, it is.
        await terminal.enter("slow", "within 2 s", "> ")
        await terminal.enter("go", "late answer to call")


async def the_history_stays():
    with tempfile.TemporaryDirectory() as home:
        async with shell("demo:", home=home) as terminal:
            await terminal.enter("add 20 22", "42\r\n")
            await ended(terminal)
        path = os.path.join(home, ".local/state/sabir/shell_history")
        check(os.stat(path).st_mode & 0o077, 0)
        async with shell("demo:", home=home) as terminal:
            terminal.press("\x1b[A")
            await terminal.see("add 20 22")
            await terminal.enter("", "42\r\n")
            await ended(terminal)


async def help_is_there():
    async with shell("demo:") as terminal:
        await terminal.enter(".help", ".notify METHOD")
        await terminal.enter(".help add", "Adds two numbers.")
        await terminal.enter(".list sub", "subtract")
        await terminal.enter(".exit")
        await terminal.ends()


async def a_server_that_ends_is_told():
    async with AsyncExitStack() as stack:
        async with demo() as (host, port):
            terminal = await stack.enter_async_context(shell(f"tcp://{host}:{port}"))
        await terminal.see("Enter ends")
        await terminal.enter("")
        await terminal.ends(5)


async def tools_are_called_by_name_and_ask_back():
    async with shell("--", sys.executable, "mcp_server.py") as terminal:
        await terminal.enter("add a=2 b=3", "5\r\n", "> ")
        await terminal.enter("greet", "Who are you?", "[a/d/c] ")
        await terminal.enter("a", ": ")
        await terminal.enter("Ada", "assistant: ")
        await terminal.enter("good day", "Hello, Ada: good day")
        await ended(terminal)


async def folders_are_asked_for_once():
    with tempfile.TemporaryDirectory() as path:
        async with shell("--", SABIR, "demo", "--mcp") as terminal:
            await terminal.enter("roots", "or nothing: ")
            await terminal.enter("nowhere", "`nowhere` is not a folder", "or nothing: ")
            await terminal.enter(path, f"{os.path.basename(path)}\r\n", " ms\r\n")
            seen = await terminal.enter("roots", f"{os.path.basename(path)}\r\n")
            assert "or nothing" not in seen, seen
            await ended(terminal)


async def a_server_that_asks_as_it_starts_is_not_in_the_way():
    everything = ["node", "node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"]
    async with shell("--", *everything) as terminal:
        seen = await terminal.enter("echo message=hi", "Echo: hi\r\n", " ms\r\n")
        # It wants to know folders, and says that its lists have changed.
        for noise in ("roots/list", "list_changed", "or nothing"):
            assert noise not in seen, seen
        await ended(terminal)


async def names_of_a_hostile_server_stay_out_of_the_editor():
    async with shell("--as", "mcp", "--", sys.executable, "hostile_mcp.py") as terminal:
        # The tools are asked for meanwhile.
        for _ in range(50):
            terminal.press("plain ")
            await asyncio.sleep(0.2)
            seen = terminal.look()
            assert "\x1b" not in seen and "\u009b" not in seen and "\u202e" not in seen, repr(seen)
            terminal.press("\x15")
            if "[good]" in seen:
                break
        await terminal.see("[good]")
        # Of four tools one is plain: it is the only one that is completed.
        terminal.press("pla\t")
        await terminal.see("plain ")
        await asyncio.sleep(0.2)
        seen = terminal.look()
        assert "\x1b" not in seen and "evil" not in seen and "\u202e" not in seen, repr(seen)
        terminal.press("\x15")
        await ended(terminal)


async def nothing_is_accepted_without_a_key():
    for typed, action in [("\nd\n", "decline"), ("c\n", "cancel"), ("a\n", "accept"), ("\x04", "cancel")]:
        async with shell("--as", "mcp", "--", sys.executable, "hostile_mcp.py") as terminal:
            await terminal.enter("plain", "May I?", "[a/d/c] ")
            assert "answered" not in terminal.look(), terminal.seen
            terminal.press(typed)
            await terminal.see(f'"action": "{action}"')
            await ended(terminal)


async def a_pipe_is_a_script():
    lines = 'add 2 3\necho {"a":\n [1, 2]}\nnope\n.notify update 1\n{"id": 1, "method": "notes"}\n'
    code, out, err = await sabir("shell", "demo:", stdin=lines)
    check((code, out), (1, '5\n[{"a":[1,2]}]\n[[1]]\n'))
    assert "-32601" in err, err


run("shell", [
    calls_are_answered_with_their_time,
    keys_that_come_together_are_all_typed,
    what_was_typed_ahead_is_called,
    each_line_of_a_paste_is_a_call,
    names_and_params_are_completed,
    notifications_are_shown_while_a_line_is_edited,
    an_interrupt_cancels_the_call_alone,
    a_late_answer_to_an_interrupted_call_is_no_news,
    the_history_stays,
    help_is_there,
    a_server_that_ends_is_told,
    tools_are_called_by_name_and_ask_back,
    folders_are_asked_for_once,
    a_server_that_asks_as_it_starts_is_not_in_the_way,
    names_of_a_hostile_server_stay_out_of_the_editor,
    nothing_is_accepted_without_a_key,
    a_pipe_is_a_script,
])
