"""A terminal for programs that fill its screen: keys go in, and what they have drawn is text."""

import asyncio
import fcntl
import os
import pty
import re
import struct
import termios
from contextlib import asynccontextmanager

import wcwidth

ROWS, COLUMNS = 24, 120
# A move of the cursor; what is drawn otherwise has no place on the screen, such as colours; text.
DRAWN = re.compile(
    r"\x1b\[(?P<row>\d+);(?P<column>\d+)H|\x1b\[(?P<clear>2)J|"
    r"\x1b(?:\[[0-9;:?<>=]*[ -/]*[@-~]|[\]P][^\x07\x1b]*(?:\x07|\x1b\\)|[^\[\]P])|(?P<text>[^\x1b]+)"
)


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self):
        self.cells = {}
        self.row = self.column = 0
        self.unread = b""

    @asynccontextmanager
    async def running(self, *command, **options):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        os.set_blocking(self.ours, False)
        self.process = await asyncio.create_subprocess_exec(
            *command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True, **options
        )
        os.close(theirs)
        try:
            yield
        finally:
            if self.process.returncode is None:
                self.process.kill()
                await self.process.wait()
            os.close(self.ours)

    async def type(self, *keys):
        """Types like a person: with a pause behind each, so that escape does not belong to what follows."""
        for some in keys:
            os.write(self.ours, some.encode())
            await asyncio.sleep(0.2)

    async def until(self, text):
        """Waits until this is on the screen."""
        await self.waits(lambda: text in self.screen(), f"{text!r} is not on the screen")

    async def until_not(self, text):
        await self.waits(lambda: text not in self.screen(), f"{text!r} is still on the screen")

    async def ended(self):
        """The exit code, if it ends by itself."""
        # It may wait for somebody to read what it draws.
        await self.waits(lambda: self.screen() is not None and self.process.returncode is not None, "it does not end")
        return self.process.returncode

    async def waits(self, condition, failure):
        for _ in range(400):
            if condition():
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{failure}:\n{self.screen()}")

    def screen(self):
        try:
            while some := os.read(self.ours, 1 << 16):
                self.unread += some
        except OSError:  # Nothing to read, or the program has ended.
            pass
        # A sequence or a character that is cut off goes on in the next read.
        whole = re.match(rb"(?s).*?(?=(?:\x1b[^@-Z\\^-~]*|[\xc0-\xff][\x80-\xbf]*)?$)", self.unread).end()
        drawn, self.unread = self.unread[:whole].decode(errors="replace"), self.unread[whole:]
        for part in DRAWN.finditer(drawn):
            self.draw(part)
        lines = ("".join(self.cells.get((row, column), " ") for column in range(COLUMNS)) for row in range(ROWS))
        return "\n".join(line.rstrip() for line in lines) + "\n"

    def draw(self, part):
        if part["row"]:
            self.row, self.column = int(part["row"]) - 1, int(part["column"]) - 1
        elif part["clear"]:
            self.cells.clear()
        for char in part["text"] or "":
            self.cells[self.row, self.column] = char
            width = max(wcwidth.wcwidth(char), 0)
            # The second half of a wide character is nothing of its own.
            if width == 2:
                self.cells[self.row, self.column + 1] = ""
            self.column += width
