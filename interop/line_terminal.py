"""A terminal for programs that print lines: what a person types goes in, and what is seen comes out in order."""

import asyncio
import codecs
import fcntl
import os
import pty
import re
import struct
import termios
import time
from contextlib import asynccontextmanager

from tap import check

PATIENCE = 15


class Terminal:
    """A terminal with a program on it."""

    def __init__(self, process, side):
        self.process, self.side, self.seen = process, side, ""
        self.decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def press(self, keys):
        """All at once, as it comes from a program, over a slow line, or while nobody reads."""
        os.write(self.side, keys.encode())

    def paste(self, text):
        """As terminals mark what is pasted."""
        self.press(f"\x1b[200~{text}\x1b[201~")

    async def enter(self, line, *wanted):
        """Types a line, and waits until each of these is seen; returns what was seen up to the last one."""
        self.press(f"{line}\r")
        return await self.see(*wanted)

    def look(self):
        """All that has come since."""
        try:
            self.seen = without_control(self.seen + self.decoder.decode(os.read(self.side, 65536)))
        except OSError:  # Nothing more, or the other side is closed.
            pass
        return self.seen

    async def see(self, *wanted):
        """Waits until each of these is seen, behind the one before; returns what was seen up to the last one."""
        before = ""
        for text in wanted:
            end = time.monotonic() + PATIENCE
            while text not in self.look():
                assert time.monotonic() < end, f"{text!r} is not in {self.seen!r}"
                await asyncio.sleep(0.01)
            before, _, self.seen = self.seen.partition(text)
            before += text
        return before

    async def ends(self, code=0):
        check(await asyncio.wait_for(self.process.wait(), PATIENCE), code)


def without_control(text):
    """A sequence whose end has not come yet is left as it is."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


@asynccontextmanager
async def on_a_terminal(*command, home, env=None):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    os.set_blocking(ours, False)
    all_env = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "HOME": home, "PAGER": "cat"}
    # No settings and no screen but those of the test.
    for name in ["XDG_STATE_HOME", "DISPLAY", "WAYLAND_DISPLAY"]:
        all_env.pop(name, None)
    all_env.update(env or {})
    process = await asyncio.create_subprocess_exec(
        *command, stdin=theirs, stdout=theirs, stderr=theirs, env=all_env, start_new_session=True,
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
