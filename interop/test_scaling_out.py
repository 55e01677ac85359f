"""The commands of docs/scaling-out.md: three servers, three workers, a load and a kill, as they stand there."""

import asyncio
import json
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
            lines = shown.read().splitlines()
        check((code, len(lines), lines[:1]), (0, 2, ["5"]))
        sent, ok, errors = map(int, re.fullmatch(r'"sent":(\d+),"ok":(\d+),"errors":(\d+)', lines[1]).groups())
        print(f"# {sent} calls: {ok} answered, {errors} ended with a cause", flush=True)
        # Half of the ten calls that are open at a time are with the worker that is killed.
        check((sent, ok + errors), (1200, 1200))
        assert 0 < errors <= 40, errors
        with open(Path(folder) / "load.json") as file:
            classes = json.load(file)["rounds"][0]["error_classes"]
        check({row["class"] for row in classes}, {"transport"})
        for row in classes:
            assert row["example"].endswith("may have run"), row


run("scaling out", [the_walk_through_does_what_it_says])
