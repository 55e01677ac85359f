"""The formal model in the tools of others: JSON Schema by `jsonschema`, JSON-LD by `pyld`, RDF and SPARQL by `rdflib`,
SHACL by `pyshacl`."""

import asyncio
import json
from decimal import Decimal
from pathlib import Path

import rdflib
from jsonschema import Draft7Validator, Draft202012Validator
from pyld import jsonld
from pyshacl import validate
from referencing import Registry, Resource

from program import SABIR
from tap import check, run

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "crates/model/files/examples"
MESSAGES = ["Request", "Notification", "Response", "ErrorResponse", "Batch"]
MCP_MESSAGES = ["JSONRPCRequest", "JSONRPCNotification", "JSONRPCResultResponse", "JSONRPCErrorResponse"]


async def sabir(*args, stdin=b""):
    process = await asyncio.create_subprocess_exec(
        SABIR, *args, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await process.communicate(stdin)
    assert process.returncode == 0, f"sabir {args}: {err.decode()}"
    return out.decode()


def refuse(url, options):
    raise AssertionError(f"nothing is to be fetched, not even {url}")


jsonld.set_document_loader(refuse)


async def verdicts(validator, *draft):
    """Each schema, by each of its anchors and as a whole, takes the messages for what they are."""
    schemas = [json.loads(await sabir("model", "schema", name, *draft)) for name in ("json-rpc", "mcp-envelope")]
    registry = Registry().with_resources((schema["$id"], Resource.from_contents(schema)) for schema in schemas)
    cases = [json.loads(line) for line in (EXAMPLES / "verdicts.jsonl").read_text().splitlines()]
    for schema, name, anchors in zip(schemas, ("jsonrpc", "mcp"), (MESSAGES, MCP_MESSAGES)):
        validator.check_schema(schema)
        whole = validator(schema, registry=registry)
        parts = {a: validator({"$ref": f"{schema['$id']}#{a}"}, registry=registry) for a in anchors}
        for case in cases:
            message, want = case["message"], [case[name]] if case[name] else []
            check((message, [a for a in anchors if parts[a].is_valid(message)]), (message, want))
            check((message, whole.is_valid(message)), (message, bool(want)))


async def the_schemas_tell_messages_apart():
    await verdicts(Draft202012Validator)


async def so_do_their_twins_for_draft_07():
    await verdicts(Draft7Validator, "--draft", "07")


def specification():
    """The messages of the specification's examples that are JSON, each with the sign of its direction."""
    text = (ROOT / "crates" / "proto" / "tests" / "data" / "specification.rpc").read_text()
    for line in text.splitlines():
        if line[:2] in ("> ", "< "):
            try:
                yield line[0], json.loads(line[2:])
            except ValueError:
                pass


# What the specification shows as wrong, in the order of its examples.
WRONG = [
    {"jsonrpc": "2.0", "method": 1, "params": "bar"},
    [],
    [1],
    [1, 2, 3],
]


async def the_specifications_examples_pass_the_schema():
    validator = Draft202012Validator(json.loads(await sabir("model", "schema")))
    refused = [message for _, message in specification() if not validator.is_valid(message)]
    mixed = [m for m in refused if isinstance(m, list) and {"foo": "boo"} in m]
    check(len(mixed), 1)
    check([m for m in refused if m not in mixed], WRONG)


def uplift(message, context):
    return jsonld.normalize(
        message, {"expandContext": context, "algorithm": "URDNA2015", "format": "application/n-quads"}
    )


async def the_context_gives_the_triples_beside_each_example():
    context = json.loads(await sabir("model", "context"))
    for path in sorted(EXAMPLES.glob("messages/*.json")):
        check((path.name, uplift(json.loads(path.read_text()), context)), (path.name, path.with_suffix(".nt").read_text()))


async def findings(graph):
    """What the shapes find, as the node's short name and the rule."""
    shapes = rdflib.Graph().parse(data=await sabir("model", "shapes"), format="turtle")
    _, report, _ = validate(graph, shacl_graph=shapes)
    sh = rdflib.Namespace("http://www.w3.org/ns/shacl#")
    found = set()
    for result in report.objects(None, sh.result):
        focus = str(report.value(result, sh.focusNode)).rpartition("#")[2]
        found.add((focus, str(report.value(result, sh.resultMessage)).partition(":")[0]))
    return found


async def the_specifications_examples_pass_context_and_shapes():
    context = json.loads(await sabir("model", "context"))
    found = []
    for _, message in specification():
        graph = rdflib.Graph().parse(data=uplift(message, context), format="nt")
        found += sorted({rule for _, rule in await findings(graph)})
    # Only the one with a number for its method, and text for its params.
    check(found, ["RPC002", "RPC003"])


async def the_shapes_find_wrong_types():
    context = json.loads(await sabir("model", "context"))
    for text, want in [
        ('{"jsonrpc":2,"id":{},"method":1,"params":"bar"}', ["RPC001", "RPC002", "RPC003", "RPC006"]),
        ('{"jsonrpc":"2.0","id":null,"method":"rpc.x"}', ["RPC007", "RPC009"]),
        ('{"jsonrpc":"2.0","id":1.5,"method":"x"}', ["RPC008"]),
        ('{"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":"m"}}', ["RPC004"]),
        ('{"jsonrpc":"2.0","id":1,"method":"x","result":1}', ["RPC005"]),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":"-32601","message":"m"}}', ["RPC011, RPC012"]),
        ('{"jsonrpc":"2.0","id":1,"error":"bad"}', ["RPC011, RPC012"]),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":-32100,"message":"a\\nb"}}', ["RPC013", "RPC014"]),
        ('{"jsonrpc":"2.0","id":1,"error":{"code":-32099,"message":"m"}}', []),
    ]:
        graph = rdflib.Graph().parse(data=uplift(json.loads(text), context), format="nt")
        check((text, sorted({rule for _, rule in await findings(graph)})), (text, want))


async def the_shapes_find_what_is_wrong_with_a_session():
    graph = rdflib.Graph().parse(data=await sabir("graph", str(EXAMPLES / "session.jrl"), "--format", "ntriples"), format="nt")
    check(
        await findings(graph),
        {
            ("m7", "MCP012"),
            ("m11", "RPC023"),
            ("m11", "RPC024"),
            ("m13.2", "the message is not valid by itself"),
            ("m15", "RPC021"),
        },
    )
    twice = (
        b'> [{"jsonrpc":"2.0","id":1,"method":"x"},{"jsonrpc":"2.0","id":1,"method":"y"}]\n'
        b'< [{"jsonrpc":"2.0","id":1,"result":0},{"jsonrpc":"2.0","id":1,"result":0},{"jsonrpc":"2.0","id":1,"result":0}]\n'
    )
    graph = rdflib.Graph().parse(data=await sabir("graph", "-", "--format", "turtle", stdin=twice), format="turtle")
    check(await findings(graph), {("m1", "RPC018"), ("m1.1", "RPC023"), ("m1.1", "RPC022")})


async def documents_give_the_same_triples_as_lines():
    captures = [(EXAMPLES / "session.jrl").read_bytes()]
    captures += [(ROOT / "crates" / "proto" / "tests" / "data" / "specification.rpc").read_bytes()]
    captures += [
        b'{"jsonrpc":"2.0","id":"a b/../c","method":"\\u001b\\u202e","params":{"\xef\xac\xb3":1e21,"\xf0\x9f\x98\x80":[0.1,-0.0,1E-7]}}\n'
        b'{"@context":"http://evil.example/","@id":"urn:x","jsonrpc":"2.0","id":-0,"result":{"@type":"y","n":9007199254740993}}\n'
    ]
    for capture in captures:
        document = json.loads(await sabir("graph", "-", "--format", "jsonld", stdin=capture))
        lines = await sabir("graph", "-", "--format", "nquads", stdin=capture)
        lines = "".join(line.rpartition(" <")[0] + " .\n" for line in lines.splitlines())
        want = rdflib.Graph().parse(data=lines, format="nt")
        came = rdflib.Graph().parse(data=jsonld.to_rdf(document, {"format": "application/n-quads"}), format="nt")
        check(sorted(came - want), [])
        check(sorted(want - came), [])
        for syntax in ("turtle", "trig"):
            text = await sabir("graph", "-", "--format", syntax, stdin=capture)
            came = rdflib.Dataset().parse(data=text, format=syntax)
            check(sorted((s, p, o) for s, p, o, _ in came.quads() if (s, p, o) not in want), [])
            check(len({(s, p, o) for s, p, o, _ in came.quads()}), len(want))


async def the_queries_have_the_same_answers():
    capture = str(EXAMPLES / "session.jrl")
    graph = rdflib.Graph().parse(data=await sabir("graph", capture, "--format", "ntriples"), format="nt")
    names = [line.split()[0] for line in (await sabir("model", "query")).splitlines()]
    assert len(names) > 6, names
    for name in names:
        rows = graph.query(await sabir("model", "query", name))
        want = [{str(column): comparable(term.toPython()) for column, term in row.asdict().items()} for row in rows]
        came = [json.loads(line) for line in (await sabir("graph", capture, "--query", name, "--json")).splitlines()]
        came = [{column: comparable(value) for column, value in row.items()} for row in came]
        check((name, came), (name, want))


def comparable(value):
    """Numbers by their value, all else by its text."""
    return float(value) if isinstance(value, (int, float, Decimal)) else str(value)


run(
    "model",
    [
        the_schemas_tell_messages_apart,
        so_do_their_twins_for_draft_07,
        the_specifications_examples_pass_the_schema,
        the_context_gives_the_triples_beside_each_example,
        the_specifications_examples_pass_context_and_shapes,
        the_shapes_find_wrong_types,
        the_shapes_find_what_is_wrong_with_a_session,
        documents_give_the_same_triples_as_lines,
        the_queries_have_the_same_answers,
    ],
)
