"""A server that answers `slow` when it is told to by `go`, also if the call was cancelled long ago."""

import json
import sys


def answer(id, **what):
    print(json.dumps({"jsonrpc": "2.0", "id": id, **what}), flush=True)


slow = []
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "slow":
        slow.append(id)
    elif method == "go":
        for late in slow:
            answer(late, result="late")
        answer(id, result="gone")
    elif id is not None:
        answer(id, error={"code": -32601, "message": "Method not found"})
