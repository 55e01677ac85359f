"""Runs tests one after the other and says how each went, in the lines that `run` counts."""

import asyncio
import sys
import traceback

# Far more than any test needs; a peer that hangs must not hang the run.
TIMEOUT = 90


def run(peer, tests):
    """Each test is an async function; its name, with spaces, is what it shows."""
    failed = False
    for test in tests:
        name = f"{peer}: {test.__name__.replace('_', ' ')}"
        try:
            asyncio.run(asyncio.wait_for(test(), TIMEOUT))
            print(f"ok - {name}", flush=True)
        except Exception:
            failed = True
            print(f"not ok - {name}", flush=True)
            traceback.print_exc()
    sys.exit(failed)


def check(got, want):
    assert got == want, f"\n   got {got!r}\n  want {want!r}"
