"""An MCP server of 2025-11-25 on standard input and output with as many tools as it is told, whose schemas are written in
every way that servers in the field write them. `many_tools.py COUNT [PAGE]`: that many on a page, or all at once.

It is there to see what clients make of them, and so has none of the care that a server of ours takes."""

import json
import sys

FLAT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
DRAFT = "$schema"
SCHEMAS = {
    "flat": FLAT,
    "flat_2020": FLAT | {DRAFT: "https://json-schema.org/draft/2020-12/schema"},
    "flat_07": FLAT | {DRAFT: "http://json-schema.org/draft-07/schema#"},
    "ref": {"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}, "required": ["x"],
            "$defs": {"X": {"type": "integer"}}},
    "ref_07": {DRAFT: "http://json-schema.org/draft-07/schema#", "type": "object",
               "properties": {"x": {"$ref": "#/definitions/X"}}, "required": ["x"],
               "definitions": {"X": {"type": "integer"}}},
    "recursive": {"type": "object", "properties": {"x": {"type": "integer"}, "next": {"$ref": "#"}}, "required": ["x"]},
    "any_of": {"type": "object", "properties": {"x": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
               "required": ["x"]},
    "several_types": {"type": "object", "properties": {"x": {"type": ["integer", "null"]}}, "required": ["x"]},
    "any_of_at_the_root": {"type": "object", "anyOf": [FLAT, {"type": "object", "required": ["y"]}]},
}
# What `x` is in the result of each of these tools: fitting, or not.
RESULTS = {"good": 1, "bad": "one"}


def tools(count):
    for name, schema in SCHEMAS.items():
        yield {"name": f"in_{name}", "description": "Takes x", "inputSchema": schema}
        for how in RESULTS:
            yield {"name": f"{how}_{name}", "description": "Returns x", "inputSchema": {"type": "object"},
                   "outputSchema": schema}
    for number in range(count - 3 * len(SCHEMAS)):
        yield {"name": f"tool_{number}", "description": "One of many", "inputSchema": FLAT}


def answer(method, params, tools, page):
    if method == "initialize":
        info = {"name": "many", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        end = int(params.get("cursor", 0)) + page
        return {"tools": tools[end - page:end]} | ({"nextCursor": str(end)} if end < len(tools) else {})
    if method == "tools/call":
        x = RESULTS.get(params["name"].split("_")[0])
        told = json.dumps(params.get("arguments", {}))
        return {"content": [{"type": "text", "text": told}]} | ({} if x is None else {"structuredContent": {"x": x}})
    return {} if method == "ping" else None


def serve(count, page):
    all_tools = list(tools(count))
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {}, all_tools, page)
        missing = {"error": {"code": -32601, "message": "Method not found"}}
        found = missing if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"]} | found), flush=True)


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[-1]))
