"""The commands of docs/scaling-out.md: three servers, three workers, a load and a kill, as they stand there."""

import asyncio
import os
import re
import signal
import tempfile
from pathlib import Path

from program import SABIR
from tap import check, run

PAGE = Path(__file__).parent.parent / "docs" / "scaling-out.md"


async def the_walk_through_does_what_it_says():
    blocks = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    check(len(blocks), 3)
    # What was started in one block is used in the next, and all of it ends with the shell.
    script = "set -eu\n" + "\n".join(blocks)
    with tempfile.TemporaryDirectory() as folder:
        for name, path in [("sabir", SABIR), ("nats-server", os.environ["NATS_SERVER"])]:
            os.symlink(os.path.abspath(path), Path(folder) / name)
        path = f"{folder}:{os.environ['PATH']}"
        # A file and no pipe: what is started holds a pipe open, and its end would not come.
        with open(Path(folder) / "shown", "w+") as shown:
            process = await asyncio.create_subprocess_exec(
                "bash", "-c", script, cwd=folder, env={**os.environ, "PATH": path}, start_new_session=True,
                stdin=asyncio.subprocess.DEVNULL, stdout=shown, stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                code = await process.wait()
            finally:
                os.killpg(process.pid, signal.SIGKILL)
            shown.seek(0)
            # The sum, and the number of different answers: every call was answered, each with its own sum.
            check((code, shown.read()), (0, "5\n60\n"))


run("scaling out", [the_walk_through_does_what_it_says])
