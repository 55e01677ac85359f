"""The generated Python client: type-checked by mypy, then run against `sabir demo`."""

import ast
import asyncio
import doctest
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from program import SABIR, demo
from tap import check, run

FOLDER = Path(tempfile.mkdtemp(prefix="sabir-generated-"))
CLIENT = FOLDER / "client.py"
subprocess.run([SABIR, "generate", "--lang", "python", "demo:", "-o", CLIENT], check=True)

EVERYTHING = FOLDER / "everything.py"
SCHEMAS = "../crates/cli/tests/data/generated/everything.json"
subprocess.run([SABIR, "generate", "--lang", "python", SCHEMAS, "-o", EVERYTHING], check=True)

HOSTILE = FOLDER / "hostile.py"
HARM = "../crates/cli/tests/data/generated/hostile.json"
subprocess.run([SABIR, "generate", "--lang", "python", HARM, "--name", "Hostile", "-o", HOSTILE], check=True)


def mypy(path):
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=FOLDER).stdout


def client(path=CLIENT):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def talk(made, exchange):
    service = made.SabirDemo(exchange)
    check(service.add(2, 3), 5)
    check(service.subtract(minuend=42, subtrahend=23), 19)
    check(service.sum([1, 2, 4]), 7)
    check(service.get_data(), ["hello", 5])
    check(service.echo({"a": [None]}), {"a": [None]})
    check(service.progress(2, ms=0), 2)
    service.update(["noted"])
    try:
        service.fail(code=7, message="seven", data=[1])
        raise AssertionError("no error came")
    except made.RpcError as error:
        check((error.code, error.message, error.data), (7, "seven", [1]))
    return service


async def the_clients_pass_mypy_strict():
    for made in [CLIENT, EVERYTHING]:
        said = mypy(made)
        assert said.startswith("Success"), said


async def a_document_that_was_written_to_do_harm_is_a_client_like_others():
    # What runs on import is what the runtime brings along, and definitions of types.
    allowed = (ast.AnnAssign, ast.Assign, ast.ClassDef, ast.Expr, ast.FunctionDef, ast.Import, ast.ImportFrom)
    tree = ast.parse(HOSTILE.read_text())
    check([type(node) for node in tree.body if not isinstance(node, allowed)], [])
    expressions = [node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)]
    strange = [node for node in expressions if not isinstance(node, (ast.Constant, ast.Call, ast.Await))]
    check(strange, [])
    said = mypy(HOSTILE)
    assert said.startswith("Success"), said
    made = client(HOSTILE)
    check(sum(len(found.examples) for found in doctest.DocTestFinder().find(made)), 0)
    # The names are what the document says, however they are spelt.
    sent = []

    def exchange(message):
        sent.append(message)
        return {"jsonrpc": "2.0", "id": message.get("id"), "result": None}

    service = made.Hostile(exchange)
    methods = [name for name in vars(made.Hostile) if not name.startswith("_") or name[1:2].isdigit()]
    for name in methods:
        method = getattr(service, name)
        code = method.__func__.__code__
        method(*["1"] * (code.co_argcount - 1))
    document = json.loads(Path(HARM).read_text())
    check([message["method"] for message in sent], [method["name"] for method in document["methods"]])


async def wrong_types_are_found_by_mypy():
    wrong = FOLDER / "wrong.py"
    wrong.write_text(
        "from client import SabirDemo, over_http\n"
        "demo = SabirDemo(over_http('http://localhost'))\n"
        "demo.add('2', 3)\n"
        "demo.subtract(1)\n"
        "text: str = demo.add(1, 2)\n"
    )
    said = mypy(wrong)
    check(said.count("error:"), 3)


async def calls_the_demo_over_stdio():
    made = client()
    with made.over_stdio([SABIR, "demo"]) as exchange:
        service = talk(made, exchange)
        check(service.notes(), [["noted"]])


async def calls_the_demo_over_tcp():
    made = client()
    async with demo() as (host, port):
        def there():
            with made.over_tcp(host, port) as exchange:
                talk(made, exchange)
        await asyncio.to_thread(there)


async def calls_the_demo_over_http():
    made = client()
    async with demo(scheme="http") as (host, port):
        await asyncio.to_thread(talk, made, made.over_http(f"http://{host}:{port}/"))


try:
    run("python client", [
        the_clients_pass_mypy_strict,
        a_document_that_was_written_to_do_harm_is_a_client_like_others,
        wrong_types_are_found_by_mypy,
        calls_the_demo_over_stdio,
        calls_the_demo_over_tcp,
        calls_the_demo_over_http,
    ])
finally:
    shutil.rmtree(FOLDER)
