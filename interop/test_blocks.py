"""The building blocks in the tools of others: examples by `jsonschema`, their triples by `pyld` and `rdflib`, the annotated
schema by `ogc-na`, the names of MCP by PyPI's `mcp-types`, and a real session of MCP by all of them.

No package of a registry has the protocol's `schema.json`. `mcp-types` has its definitions as classes, of two revisions: our
definitions are compared with those."""

import importlib
import json
import re
import subprocess
import sys
import tempfile
import typing
from pathlib import Path

import mcp
import mcp_types as types
import rdflib
import yaml
from jsonschema import Draft202012Validator
from ogc.na.annotate_schema import ContextBuilder
from owlrl import DeductiveClosure, OWLRL_Semantics
from mcp.client.stdio import StdioServerParameters, stdio_client
from pyld import jsonld
from pyshacl import validate
from rdflib.compare import isomorphic, to_isomorphic
from referencing import Registry, Resource

from program import SABIR, sabir
from tap import check, run

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = ROOT / "building-blocks"
FILES = ROOT / "crates/model/files"


def load(path):
    return json.loads(path.read_text())


def local(url, options):
    """Nothing is fetched: a context is a file beside the documents."""
    return {"contextUrl": None, "documentUrl": url, "document": load(Path(url.removeprefix("file://")))}


jsonld.set_document_loader(local)


def schemas():
    """Those of the folder, and nothing else, by where they are."""
    return {path.as_uri(): load(path) for path in BLOCKS.glob("*/schema*.json")}


def registry():
    return Registry().with_resources((uri, Resource.from_contents(schema)) for uri, schema in schemas().items())


async def the_folder_is_what_the_program_builds():
    with tempfile.TemporaryDirectory() as folder:
        code, _, err = await sabir("model", "build", folder)
        assert code == 0, err
        files = lambda root: {str(p.relative_to(root)): p.read_text() for p in Path(root).rglob("*") if p.is_file()}
        check(files(folder) == files(BLOCKS), True)


async def examples_pass_or_fail_by_their_part_of_the_schema():
    for schema in schemas().values():
        Draft202012Validator.check_schema(schema)
    known = registry()
    count = 0
    for report in BLOCKS.glob("*/results/_report.json"):
        for item in load(report)["items"]:
            if item["sections"][0]["name"] != "JSON_SCHEMA":
                continue
            file, _, anchor = item["sections"][0]["entries"][0]["filename"].partition("#")
            uri = (report.parent.parent / file).as_uri()
            validator = Draft202012Validator({"$ref": f"{uri}#{anchor}"}, registry=known)
            message = load(report.parent / item["source"]["filename"])
            check((item["source"]["title"], validator.is_valid(message)), (item["source"]["title"], not item["source"]["requireFail"]))
            count += 1
    assert count > 60, count


async def the_schema_of_mcp_takes_every_revision_and_checks_params():
    validator = Draft202012Validator({"$ref": (BLOCKS / "mcp/schema.json").as_uri()}, registry=registry())
    for path in BLOCKS.glob("mcp/results/*.json"):
        if not path.stem.startswith("_") and not path.stem.endswith("-fail"):
            check((path.name, validator.is_valid(load(path))), (path.name, True))
    call = {"jsonrpc": "2.0", "id": 1}
    for method, params, want in (
        ("tools/list", None, True),
        ("tools/call", {"name": "add", "arguments": {"a": 1}}, True),
        ("tools/call", {"arguments": {}}, False),
        ("initialize", {}, False),
        ("somebody/elses", {"x": 1}, True),
        ("somebody/elses", [1], False),
    ):
        message = {**call, "method": method, **({} if params is None else {"params": params})}
        check((message, validator.is_valid(message)), (message, want))


def classes(graph, block):
    """What the block does after its context."""
    for step in yaml.safe_load((block / "semantic-uplift.yaml").read_text())["additionalSteps"]:
        check(step["type"], "sparql-update")
        graph.update((block / step["ref"]).read_text())
    return graph


def by_pyld(path):
    quads = jsonld.to_rdf(path.as_uri(), {"format": "application/n-quads"})
    return rdflib.Graph().parse(data=quads, format="nt")


async def each_listed_example_stands_alone():
    """`examples.yaml` by itself: each message by the anchor of the block's one schema, its JSON-LD with the context within."""
    known = registry()
    count = 0
    for path in BLOCKS.glob("*/examples.yaml"):
        for example in yaml.safe_load(path.read_text())["examples"]:
            snippets = {snippet["language"]: snippet for snippet in example["snippets"]}
            title = (path.parent.name, example["title"])
            part = snippets["json"].get("schema-ref", "")
            validator = Draft202012Validator({"$ref": (path.parent / "schema.json").as_uri() + part}, registry=known)
            message = json.loads(snippets["json"]["code"])
            check((title, validator.is_valid(message)), (title, True))
            linked = json.loads(snippets["jsonld"]["code"])
            context = linked.pop("@context")
            check((title, linked.get("@graph", linked), type(context)), (title, message, dict))
            want = rdflib.Graph().parse(data=snippets["turtle"]["code"], format="turtle")
            assert len(want), title
            quads = jsonld.to_rdf({"@context": context, **linked}, {"format": "application/n-quads"})
            by_rdflib = rdflib.Graph().parse(data=snippets["jsonld"]["code"], format="json-ld")
            for graph in (rdflib.Graph().parse(data=quads, format="nt"), by_rdflib):
                assert isomorphic(classes(graph, path.parent), want), title
            count += 1
    assert count > 90, count


def registered():
    return {entry["itemIdentifier"]: entry for entry in load(BLOCKS / "register.json")["bblocks"]}


async def what_is_in_tests_fails_by_the_block_alone():
    """A tool for building blocks has the block's schema and its shapes, and no part of a schema for a test."""
    known = registry()
    count = 0
    for name, entry in registered().items():
        block = BLOCKS / name.removeprefix("sabir.")
        validator = Draft202012Validator({"$ref": (block / "schema.json").as_uri()}, registry=known)
        shapes = rdflib.Graph()
        for path in [path for paths in entry["shaclShapes"].values() for path in paths]:
            shapes.parse(BLOCKS / path)
        for path in (block / "tests").iterdir():
            assert path.stem.endswith("-fail"), path
            if path.suffix == ".json":
                valid = validator.is_valid(load(path))
            else:
                valid, _, _ = validate(rdflib.Graph().parse(path), shacl_graph=shapes, advanced=True)
            check((path, valid), (path, False))
            count += 1
        # A warning is a failure there, so that listed examples have none.
        for example in yaml.safe_load((block / "examples.yaml").read_text())["examples"]:
            graph = rdflib.Graph().parse(data=example["snippets"][2]["code"], format="turtle")
            conforms, _, text = validate(graph, shacl_graph=shapes, advanced=True)
            check((name, example["title"], conforms, text), (name, example["title"], True, text))
    assert count > 30, count


async def a_register_with_an_address_leads_to_its_files():
    home = "https://example.org/blocks/"
    with tempfile.TemporaryDirectory() as folder:
        code, _, err = await sabir("model", "build", folder, "--base-url", home)
        assert code == 0, err
        at = lambda url: Path(folder) / url.removeprefix(home)
        fetched = []

        def retrieve(url):
            fetched.append(url)
            return Resource.from_contents(load(at(url)))

        register = load(Path(folder) / "register.json")
        check(register["baseURL"], home)
        for entry in register["bblocks"]:
            shapes = [path for paths in entry["shaclShapes"].values() for path in paths]
            for url in (*entry["schema"].values(), entry["ldContext"], entry["ontology"], *shapes):
                check((url, url.startswith(home) and at(url).is_file()), (url, True))
        # As one who imports it refers to a block.
        schemas = {entry["itemIdentifier"]: entry["schema"]["application/yaml"] for entry in register["bblocks"]}
        validator = Draft202012Validator({"$ref": schemas["sabir.mcp"] + "#CallToolRequest-2025-11-25"}, registry=Registry(retrieve=retrieve))
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add"}}
        check((validator.is_valid(call), validator.is_valid({**call, "params": {}})), (True, False))
        check(sorted(set(url.removeprefix(home) for url in fetched))[:2], ["json-rpc/schema.json", "mcp/schema-2025-11-25.json"])
        code, _, err = await sabir("model", "context", "--base-url", home)
        assert code == 2 and "model build" in err, err
        code, _, err = await sabir("model", "build", folder, "--base-url", "example.org")
        assert code == 2 and "https://" in err, err


# What a processor of JSON-LD would obey, and numbers that not everybody can hold.
HOSTILE = [
    '{"@context":"http://evil.example/","@id":"urn:x","@type":"jrpc:Error","jsonrpc":"2.0","id":9007199254740993,"result":{"@id":"urn:y","n":1e300}}',
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a b/../\\u0000<\\"","arguments":{"@id":"urn:z","n":9007199254740993}}}',
    '{"jsonrpc":"2.0","id":-0,"method":"x","params":{"@type":"y","@graph":[1],"@value":2}}',
    '{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"x","params":[1e308,5e-324]}',
]


async def hostile_messages_are_valid_and_obeyed_by_nobody():
    validator = Draft202012Validator({"$ref": (BLOCKS / "json-rpc/schema.json").as_uri()}, registry=registry())
    for text in HOSTILE:
        check((text, validator.is_valid(json.loads(text))), (text, True))
    lines = (ROOT / "crates/proto/tests/data/specification.rpc").read_text().splitlines()
    messages = []
    for line in lines:
        if line[:2] in ("< ", "> "):
            try:
                messages.append(json.loads(line[2:]))
            except json.JSONDecodeError:
                pass
    # The specification shows them as wrong; the last is a batch with some that are.
    refused = [message for message in messages if not validator.is_valid(message)]
    check([len(message) if isinstance(message, list) else message["method"] for message in refused], [1, 0, 1, 3, 6])

    _, shapes, _ = await sabir("model", "shapes")
    shapes = rdflib.Graph().parse(data=shapes, format="turtle")
    code, triples, err = await sabir("graph", "-", "--format", "ntriples", stdin="\n".join(HOSTILE) + "\n")
    assert code == 0, err
    graph = rdflib.Graph().parse(data=triples, format="nt")
    named = {str(term) for fact in graph for term in fact if isinstance(term, rdflib.URIRef)}
    check([name for name in named if name in ("urn:x", "urn:y", "urn:z") or "evil" in name], [])
    # The answer to nothing, requests that nobody answers, and ids that not every peer can keep: nothing else is wrong.
    check(rules(graph, shapes), (False, ["RPC008", "RPC021", "RPC024"]))


async def contexts_that_others_derive_mean_the_same():
    count = 0
    for path in [*BLOCKS.glob("*/schema.json"), *BLOCKS.glob("mcp/schema-20*.json")]:
        context = ContextBuilder(path).context["@context"]
        for example in path.parent.glob("results/example_*.ttl"):
            message = load(example.with_suffix(".json"))
            entries = message if isinstance(message, list) else [message]
            document = {"@context": context, "@graph": entries}
            quads = jsonld.to_rdf(document, {"format": "application/n-quads"})
            came = classes(rdflib.Graph().parse(data=quads, format="nt"), path.parent)
            assert isomorphic(came, rdflib.Graph().parse(example)), (path, example)
            count += 1
    assert count > 150, count


async def others_know_the_classes_that_a_schema_names():
    """`x-jsonld-extra-terms`: names that are not members become terms of the context that `ogc-na` derives."""
    for block, name, iri in (
        ("json-rpc", "Request", "http://json-rpc.org/ontology#Request"),
        ("mcp", "CallToolRequest", "http://modelcontextprotocol.io/ontology#CallToolRequest"),
        ("mcp", "GetTaskResult", "urn:sabir:ontology:mcp#GetTaskResult"),
        ("mcp", "Notification", "http://json-rpc.org/ontology#Notification"),
        ("lsp", "Progress", "urn:sabir:ontology:lsp#Progress"),
        ("a2a", "SendMessage", "urn:sabir:ontology:a2a#SendMessage"),
    ):
        derived = ContextBuilder(BLOCKS / block / "schema.json").context["@context"]
        for context in (derived, load(BLOCKS / block / "context.jsonld")["@context"]):
            quads = jsonld.to_rdf({"@context": context, "@id": "urn:x", "@type": name}, {"format": "application/n-quads"})
            check((block, quads), (block, f"<urn:x> <{rdflib.RDF.type}> <{iri}> .\n"))
        classes_of = lambda context: {name for name in context if name[:1].isupper()}
        check((block, classes_of(derived)), (block, classes_of(load(BLOCKS / block / "context.jsonld")["@context"])))


def rules(graph, shapes, ontology=None):
    """Whether a graph conforms to shapes, and the rules that these name of it. The ontology is read beside it: pyshacl would
    leave out annotations of one that it is given as such."""
    graph = graph if ontology is None else graph + ontology
    conforms, report, _ = validate(graph, shacl_graph=shapes, allow_warnings=True)
    messages = [str(text) for text in report.objects(None, rdflib.URIRef("http://www.w3.org/ns/shacl#resultMessage"))]
    return conforms, sorted({text.partition(":")[0] for text in messages})


async def shapes_find_what_the_reports_say():
    """Each section named SHACL, by pyshacl: in valid examples at most a warning, and in those made to fail what they are for."""
    count = failing = 0
    for path in BLOCKS.glob("*/results/_report.json"):
        block = path.parent.parent
        ontology = rdflib.Graph().parse(block / "ontology.ttl")
        for item in load(path)["items"]:
            sections = {section["name"]: section["entries"] for section in item["sections"]}
            for entry in sections.get("SHACL", []):
                shapes = rdflib.Graph().parse(block / entry["filename"])
                must_fail = item["source"]["requireFail"]
                graph = rdflib.Graph().parse((path.parent / item["source"]["filename"]).with_suffix(".ttl"))
                conforms, found = rules(graph, shapes, ontology if must_fail else None)
                found = [rule for rule in found if rule in entry["finds"]] if must_fail else found
                title = (block.name, item["source"]["title"], entry["filename"])
                # What is only a warning does not make it fail for those who allow warnings.
                check((title, found), (title, sorted(entry["finds"])))
                if not must_fail:
                    check((title, conforms), (title, True))
                count, failing = count + 1, failing + must_fail
    assert count > 170 and failing >= 20, (count, failing)


async def shapes_apply_to_messages_of_every_block():
    shapes = rdflib.Graph().parse(BLOCKS / "json-rpc/shapes.ttl")
    for block in ("json-rpc", "mcp", "lsp", "a2a"):
        context = load(BLOCKS / block / "context.jsonld")["@context"]
        check("sabir.json-rpc" in registered()[f"sabir.{block}"]["shaclShapes"], True)
        for broken, rule in (
            ({"id": 1, "result": {}, "error": {"code": 1, "message": "x"}}, "RPC004"),
            ({"id": 1, "method": "tools/call", "params": {"name": "a"}, "result": {}}, "RPC005"),
            ({"id": 1, "method": "tools/call", "params": "text"}, "RPC003"),
        ):
            quads = jsonld.to_rdf({"@context": context, "jsonrpc": "2.0", **broken}, {"format": "application/n-quads"})
            conforms, _, text = validate(rdflib.Graph().parse(data=quads, format="nt"), shacl_graph=shapes)
            assert not conforms and rule in text, (block, broken, text)
        for example in (BLOCKS / block / "results").glob("example_*.ttl"):
            graph = rdflib.Graph().parse(example)
            assert (None, rdflib.RDF.type, None) in graph, example
            conforms, _, text = validate(graph, shacl_graph=shapes, allow_warnings=True)
            assert conforms, (example, text)


async def examples_give_the_same_triples():
    count = 0
    for path in [*BLOCKS.glob("*/results/*.jsonld"), BLOCKS / "bblocks.jsonld"]:
        want = rdflib.Graph().parse(path.with_suffix(".ttl"), format="turtle")
        assert len(want), path
        typed = (lambda graph: graph) if path.parent == BLOCKS else (lambda graph: classes(graph, path.parent.parent))
        assert isomorphic(typed(by_pyld(path)), want), path
        assert isomorphic(typed(rdflib.Graph().parse(path, format="json-ld")), want), path
        count += 1
    assert count > 40, count


def annotations(value, found):
    """Each member that a schema says the meaning of."""
    if isinstance(value, dict):
        for name, inner in value.get("properties", {}).items():
            if isinstance(inner, dict) and "x-jsonld-id" in inner:
                found.add((name, inner["x-jsonld-id"], inner.get("x-jsonld-type")))
        for inner in value.values():
            annotations(inner, found)
    elif isinstance(value, list):
        for inner in value:
            annotations(inner, found)
    return found


async def what_the_readme_shows_runs():
    shown = re.findall(r"```python\n(.*?)```", (BLOCKS / "README.md").read_text(), re.DOTALL)
    outs = [subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True).stdout for code in shown]
    check((len(outs), "CallToolRequest" in outs[1], "Conforms: True" in outs[1]), (2, True, True))


async def another_tool_annotates_the_schemas_as_we_do():
    """`ogc-na` is given each schema without its annotations, and the context that its source is annotated by."""
    base = load(FILES / "context.jsonld")["@context"]
    for block, source, added in (
        ("json-rpc", "json-rpc.schema.json", None),
        ("lsp", "lsp-envelope.schema.json", "lsp/context.jsonld"),
        ("a2a", "a2a-envelope.schema.json", "a2a/context.jsonld"),
        ("mcp", "mcp-envelope.schema.json", "mcp/envelope-context.jsonld"),
    ):
        added = load(FILES / "blocks" / added)["@context"] if added else {}
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            # The tool looks for what is referred to beside the schema.
            for name in ("json-rpc", "mcp-envelope", "lsp-envelope", "a2a-envelope"):
                text = (FILES / f"{name}.schema.json").read_text().replace("urn:sabir:schema:json-rpc", "json-rpc.schema.json")
                schema = json.loads(text)
                del schema["$id"]
                (folder / f"{name}.schema.json").write_text(json.dumps(schema))
            (folder / "context.jsonld").write_text(json.dumps({"@context": {**base, **added}}))
            command = [sys.executable, "-m", "ogc.na.annotate_schema", source, "--context", folder / "context.jsonld"]
            out = subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
        theirs = yaml.safe_load(out)
        ours = load(BLOCKS / block / ("schema-envelope.json" if block == "mcp" else "schema.json"))
        ours.pop("properties", None)
        wanted, came = annotations(ours, set()), annotations(theirs, set())
        check((block, sorted(wanted - came, key=str)), (block, []))
        # It also annotates members of parts that are not part of a message by themselves.
        names = {name for name, _, _ in wanted}
        check((block, sorted({item for item in came - wanted if item[0] in names}, key=str)), (block, []))
        if block != "json-rpc":
            continue
        validator = Draft202012Validator(theirs)
        for path in BLOCKS.glob("json-rpc/results/example_*.json"):
            if not path.name.endswith("-fail.json"):
                check((path.name, validator.is_valid(load(path))), (path.name, True))


# What the published building blocks call differently.
PUBLISHED = {
    "http://json-rpc.org/ontology#hasVersion": "http://json-rpc.org/ontology#version",
    "urn:sabir:ontology#id": "http://json-rpc.org/ontology#hasId",
    "urn:sabir:ontology#params": "http://json-rpc.org/ontology#hasParameters",
    "urn:sabir:ontology#result": "http://json-rpc.org/ontology#hasResult",
}


async def published_names_mean_the_same():
    count = 0
    for block, context in (("json-rpc", "context.jsonld"), ("mcp", "mcp-context.jsonld")):
        theirs = load(BLOCKS / "ogc" / context)["@context"]
        for path in (BLOCKS / block).glob("results/*.jsonld"):
            want = rdflib.Graph()
            for s, p, o in by_pyld(path):
                want.add((s, rdflib.URIRef(PUBLISHED.get(str(p), str(p))), o))
            document = {**load(path), "@context": theirs}
            quads = jsonld.to_rdf(document, {"format": "application/n-quads"})
            assert isomorphic(rdflib.Graph().parse(data=quads, format="nt"), want), (context, path)
            count += 1
    assert count > 60, count


async def a_reasoner_finds_data_of_both_kinds():
    graph = rdflib.Graph()
    for path in (*BLOCKS.glob("*/ontology.ttl"), BLOCKS / "ogc/alignment.ttl"):
        graph.parse(path)
    graph.parse(
        data="""
        @prefix jrpc: <http://json-rpc.org/ontology#> .
        @prefix mcp: <http://modelcontextprotocol.io/ontology#> .
        <urn:x:request> a mcp:RequestMessage ; jrpc:version "2.0" ; mcp:hasMethod "tools/call" .
        <urn:x:result> a mcp:ToolResult . <urn:x:part> a mcp:ResourceContent .
        <urn:x:host> mcp:hasClient <urn:x:client> . <urn:x:client> mcp:usesTransport <urn:x:pipe> .
        """,
        format="turtle",
    )
    DeductiveClosure(OWLRL_Semantics).expand(graph)
    found = graph.query("""
        PREFIX jrpc: <http://json-rpc.org/ontology#>
        PREFIX mcp: <http://modelcontextprotocol.io/ontology#>
        PREFIX prov: <http://www.w3.org/ns/prov#>
        ASK {
          <urn:x:request> a jrpc:Request , jrpc:Message ; jrpc:hasVersion "2.0" ; jrpc:hasMethod "tools/call" .
          <urn:x:result> a mcp:CallToolResult . <urn:x:part> a mcp:EmbeddedResource , mcp:Content .
          <urn:x:client> a mcp:MCPClient , mcp:Actor , prov:Agent ; mcp:belongsToHost <urn:x:host> .
          <urn:x:host> a mcp:MCPHost . <urn:x:pipe> a mcp:TransportMechanism .
        }""")
    check(found.askAnswer, True)
    nothing = rdflib.URIRef("http://www.w3.org/2002/07/owl#Nothing")
    check(list(graph.subjects(rdflib.RDF.type, nothing)), [])


async def the_ontologies_explain_every_term():
    rdfs = rdflib.RDFS
    count = 0
    for path in BLOCKS.glob("*/ontology.ttl"):
        graph = rdflib.Graph().parse(path, format="turtle")
        for term in {s for s in graph.subjects() if isinstance(s, rdflib.URIRef) and "#" in s}:
            for property in (rdfs.label, rdfs.comment, rdfs.isDefinedBy):
                assert (term, property, None) in graph, (path, term, property)
            count += 1
    assert count > 250, count


def methods_of(revision):
    """The methods that PyPI's package knows of a revision, by the names of their classes."""
    module = importlib.import_module("mcp_types._v" + revision.replace("-", "_"))
    found = {}
    for name, value in vars(module).items():
        field = getattr(value, "model_fields", {}).get("method")
        values = typing.get_args(field.annotation) if field is not None else ()
        if len(values) == 1 and isinstance(values[0], str) and name not in ("ClientNotification", "ServerNotification"):
            found[name] = values[0]
    return found


async def the_definitions_of_mcp_are_those_of_its_package():
    definitions = load(FILES / "mcp/definitions.json")["definitions"]
    for revision in ("2025-11-25", "2026-07-28"):
        ours = {}
        for name, versions in definitions.items():
            for version in versions:
                method = version["schema"].get("properties", {}).get("method", {})
                if revision in version["in"] and "const" in method and name not in ("ClientNotification", "ServerNotification"):
                    ours[name] = method["const"]
        check((revision, sorted(ours.items())), (revision, sorted(methods_of(revision).items())))


async def sample(context, params):
    content = types.TextContent(type="text", text="Hi")
    return types.CreateMessageResult(role="assistant", content=content, model="parrot")


async def elicit(context, params):
    return types.ElicitResult(action="accept", content={"name": "Ann"})


async def a_real_session_is_the_same_graph_to_all():
    with tempfile.TemporaryDirectory() as folder:
        record = str(Path(folder) / "session.jrl")
        server = StdioServerParameters(command=SABIR, args=["tap", "--record", record, "--", sys.executable, "mcp_server.py"])
        async with stdio_client(server) as (read, write):
            async with mcp.ClientSession(read, write, sampling_callback=sample, elicitation_callback=elicit) as session:
                await session.initialize()
                await session.list_tools()
                check((await session.call_tool("add", {"a": 1, "b": 2})).is_error, False)
                await session.call_tool("add", {"a": "one"})
                await session.call_tool("count", {"steps": 2})
                await session.call_tool("nonesuch", {})
        documents = {}
        for format in ("ntriples", "turtle", "jsonld"):
            code, documents[format], err = await sabir("graph", record, "--format", format)
            assert code == 0, err
        want = to_isomorphic(rdflib.Graph().parse(data=documents["ntriples"], format="nt"))
        check(to_isomorphic(rdflib.Graph().parse(data=documents["turtle"], format="turtle")) == want, True)
        quads = jsonld.to_rdf(json.loads(documents["jsonld"]), {"format": "application/n-quads"})
        check(to_isomorphic(rdflib.Graph().parse(data=quads, format="nt")) == want, True)

        async def rows(query):
            code, out, err = await sabir("graph", record, "--query", query, "--json")
            assert code == 0, err
            came = [json.loads(line) for line in out.splitlines()]
            _, text, _ = await sabir("model", "query", query)
            theirs = [row.asdict() for row in rdflib.Graph().parse(data=documents["ntriples"], format="nt").query(text)]
            check((query, len(came)), (query, len(theirs)))
            return came

        never = [row["tool"] for row in await rows("tools-never-called")]
        assert "wait" in never and "add" not in never and "count" not in never, never
        failed = await rows("failed-arguments")
        check([row["tool"] for row in failed], ["add", "nonesuch"])
        assert "schema" in failed[0]["why"], failed
        asked = {(row["method"], row["what"]): row["calls"] for row in await rows("who-asked-what")}
        check((asked[("tools/call", "add")], asked[("tools/call", "count")]), (2, 1))
        check(await rows("broken-results"), [])

        # Each message of it is valid by the schema of MCP and, once the revision is agreed on, by that of the revision.
        lines = [json.loads(line) for line in Path(record).read_text().splitlines()[1:]]
        messages = [line["msg"] for line in lines if "msg" in line]
        assert len(messages) > 10, messages
        revision = next(m["result"]["protocolVersion"] for m in messages if "protocolVersion" in m.get("result", {}))
        known = registry()
        for file in ("schema.json", f"schema-{revision}.json"):
            validator = Draft202012Validator({"$ref": (BLOCKS / "mcp" / file).as_uri()}, registry=known)
            for message in messages:
                faults = [error.message for error in validator.iter_errors(message)]
                check((file, message, faults), (file, message, []))
        broken = [{**message, "jsonrpc": "1.0"} for message in messages]
        check([message for message in broken if validator.is_valid(message)], [])

        _, shapes, _ = await sabir("model", "shapes")
        shapes = rdflib.Graph().parse(data=shapes, format="turtle")
        graph = rdflib.Graph().parse(data=documents["ntriples"], format="nt")
        conforms, _, text = validate(graph, shacl_graph=shapes)
        assert conforms, text
        _, shapes, _ = await sabir("model", "shapes", "mcp")
        ontology = rdflib.Graph().parse(BLOCKS / "mcp/ontology.ttl")
        # The arguments that the session gets wrong, and the tool that it makes up.
        check(rules(graph, rdflib.Graph().parse(data=shapes, format="turtle"), ontology)[1], ["MCP015", "MCP016"])
        for picture in ("sequence", "calls"):
            code, svg, err = await sabir("graph", record, "--svg", picture)
            assert code == 0 and ("tools/call add" in svg or "tool add" in svg), err or svg


run(
    "blocks",
    [
        the_folder_is_what_the_program_builds,
        examples_pass_or_fail_by_their_part_of_the_schema,
        the_schema_of_mcp_takes_every_revision_and_checks_params,
        examples_give_the_same_triples,
        each_listed_example_stands_alone,
        what_is_in_tests_fails_by_the_block_alone,
        a_register_with_an_address_leads_to_its_files,
        hostile_messages_are_valid_and_obeyed_by_nobody,
        contexts_that_others_derive_mean_the_same,
        shapes_apply_to_messages_of_every_block,
        what_the_readme_shows_runs,
        another_tool_annotates_the_schemas_as_we_do,
        others_know_the_classes_that_a_schema_names,
        shapes_find_what_the_reports_say,
        published_names_mean_the_same,
        a_reasoner_finds_data_of_both_kinds,
        the_ontologies_explain_every_term,
        the_definitions_of_mcp_are_those_of_its_package,
        a_real_session_is_the_same_graph_to_all,
    ],
)
