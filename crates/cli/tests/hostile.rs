//! Clients for documents that were written to do harm, read by the compiler's own parser and by rustdoc. Those in other
//! languages are read by their compilers in `interop`.

#![allow(clippy::unwrap_used)]

#[path = "../../../fuzz/targets/generate.rs"]
#[allow(dead_code, reason = "the corpus is replayed elsewhere")]
mod target;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use sabir_cli::{Language, client};
use serde_json::{Value, json};

fn folder(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// What ends comments, strings and lines somewhere, or means something inside of them.
const PIECES: &[&str] = &[
    "\"",
    "'",
    "`",
    "\\",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "    ",
    "\0",
    "\u{b}",
    "\u{c}",
    "\u{1b}[2J",
    "\u{7f}",
    "\u{85}",
    "\u{9b}",
    "\u{2028}",
    "\u{2029}",
    "\u{202e}",
    "\u{2066}",
    "\u{feff}",
    "\u{e0041}",
    "*/",
    "/*",
    "//",
    "///",
    "#",
    "\"\"\"",
    "'''",
    "```",
    "```rust\n",
    "~~~",
    "<script>",
    "[a](b)",
    "${x}",
    "#{x}",
    "{",
    "}",
    "(",
    ")",
    ";",
    ",",
    "#[doc]",
    "#![x]",
    "@deprecated",
    "@ts-nocheck",
    ">>> ",
    "__proto__",
    "__TITLE__",
    "__NAME__",
    "__METHODS__\n",
    "# __TYPES__\n",
    "process.exit(99)",
    "raise SystemExit(99)",
    "panic!()",
    "self",
    "Self",
    "None",
    "True",
    "crate",
    "class",
    "type",
    "list",
    "cast",
    "constructor",
    "then",
    "new",
    "Error",
    "Result",
    "String",
    "Params",
    "9",
    "a",
    "é",
    "日",
    "\u{1f600}",
    "_",
    "-",
    ".",
    "/",
    "$",
    "\\u2028",
    "\\x41",
    "\\N{DIGIT ONE}",
];

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 0..6).prop_map(|pieces| pieces.concat());
    prop_oneof![8 => pieces, 1 => any::<String>(), 1 => Just("long ".repeat(300))]
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "integer", "minimum": 0})),
        Just(json!(true)),
        prop::collection::vec(text(), 1..4).prop_map(|values| json!({"enum": values})),
        text().prop_map(|value| json!({"const": value})),
        text().prop_map(|name| json!({"$ref": format!("#/components/schemas/{name}")})),
        prop::sample::select(&["A", "B"][..])
            .prop_map(|name| json!({"$ref": format!("#/components/schemas/{name}")})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            (prop::collection::btree_map(text(), inner.clone(), 0..3), text()).prop_map(
                |(properties, text)| json!({"type": "object", "description": text, "properties": properties})
            ),
            inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            prop::collection::vec(inner.clone(), 1..3).prop_map(|options| json!({"anyOf": options})),
            (inner, text()).prop_map(|(values, default)| {
                json!({"type": "object", "default": default, "additionalProperties": values})
            }),
        ]
    })
}

fn document() -> impl Strategy<Value = Value> {
    let param = (text(), text(), any::<bool>(), schema()).prop_map(|(name, description, required, schema)| {
        json!({"name": name, "description": description, "required": required, "schema": schema})
    });
    let structure = prop::sample::select(&["by-name", "by-position", "either"][..]);
    let params = prop::collection::vec(param, 0..4);
    let method = (text(), text(), text(), structure, params, prop::option::of(schema()), any::<bool>())
        .prop_map(|(name, summary, description, structure, params, result, deprecated)| {
            let result = result.map(|schema| json!({"name": "result", "schema": schema}));
            let mut method = json!({
                "name": name, "summary": summary, "description": description, "deprecated": deprecated,
                "paramStructure": structure, "params": params,
            });
            if let Some(result) = result {
                method["result"] = result;
            }
            method
        });
    let schemas = (schema(), schema(), text(), schema());
    (text(), text(), prop::collection::vec(method, 0..4), schemas).prop_map(
        |(title, version, methods, (a, b, name, other))| {
            json!({
                "openrpc": "1.3.2",
                "info": {"title": title, "version": version},
                "methods": methods,
                "components": {"schemas": {"A": a, "B": b, name: other}},
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn text_is_never_code(document in document()) {
        target::check(&document);
    }
}

/// A lone surrogate is not text, and so not in a document.
#[test]
fn lone_surrogates_are_refused() {
    let document = r#"{"openrpc":"1.3.2","info":{"title":"\ud800","version":"1"},"methods":[]}"#;
    assert!(client(document, Language::Rust, None).is_err());
}

/// rustdoc finds no test in the documentation, and puts no markup of the document's into its pages.
#[test]
fn nothing_in_documentation_is_run() {
    let document = fs::read_to_string(folder("tests/data/generated/hostile.json")).unwrap();
    target::check(&serde_json::from_str(&document).unwrap());
    let file = syn::parse_file(&client(&document, Language::Rust, None).unwrap()).unwrap();
    let mut docs = Vec::new();
    for item in file.items {
        match item {
            syn::Item::Struct(item) => {
                docs.push(doc(&item.attrs));
                docs.extend(item.fields.iter().map(|field| doc(&field.attrs)));
            }
            syn::Item::Enum(item) => docs.push(doc(&item.attrs)),
            syn::Item::Type(item) => docs.push(doc(&item.attrs)),
            syn::Item::Impl(item) => docs.extend(item.items.iter().map(|item| match item {
                syn::ImplItem::Fn(item) => doc(&item.attrs),
                _ => panic!("only methods are written"),
            })),
            _ => {}
        }
    }
    // The same documentation without what it documents, which would need the crates.
    let lines = docs.iter().enumerate().map(|(i, doc)| format!("#[doc = {doc:?}]\npub struct Item{i};\n"));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hostile-{}", std::process::id()));
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("docs.rs"), lines.collect::<String>()).unwrap();
    let rustdoc = |args: &[&str]| {
        let output = Command::new("rustdoc").args(args).arg("docs.rs").current_dir(&path).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text).into_owned()
    };
    let tests = rustdoc(&["--test"]);
    assert!(tests.contains("running 0 tests"), "{tests}");
    rustdoc(&["-o", "pages"]);
    for (i, doc) in docs.iter().enumerate() {
        let page = fs::read_to_string(path.join(format!("pages/docs/struct.Item{i}.html"))).unwrap();
        assert!(!page.contains("<script>alert") && !page.contains("href=\"javascript:"), "{doc}");
    }
    fs::remove_dir_all(&path).unwrap();
}

fn doc(attributes: &[syn::Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(syn::MetaNameValue {
            path,
            value: syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }),
            ..
        }) if path.is_ident("doc") => Some(text.value()),
        _ => None,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A document takes time that grows with its size, and not with the square of it: what took hours takes a moment.
#[test]
fn large_documents_take_no_time() {
    const COUNT: usize = 20_000;
    let reference = |i: usize| json!({"$ref": format!("#/components/schemas/s{i}")});
    let method = |name: &str, schema: &Value| {
        let content = json!({"name": "p", "schema": schema});
        json!({"name": name, "params": [content], "result": content})
    };
    let text = json!({"type": "string"});
    let schemas = |of: &dyn Fn(usize) -> Value| -> Value {
        (0..COUNT).map(|i| (format!("s{i}"), of(i))).collect::<serde_json::Map<_, _>>().into()
    };
    let object = |i: usize, schema: Value| json!({"type": "object", "properties": {format!("a{i}"): schema}});
    let alternatives: Vec<Value> = (0..COUNT).map(|i| object(i, text.clone())).collect();
    let same: Vec<Value> = (0..COUNT).map(|_| method("m", &text)).collect();
    let names: Vec<String> = (0..COUNT).map(|i| format!("a{i}")).collect();
    let fields: serde_json::Map<_, _> = names.iter().map(|name| (name.clone(), text.clone())).collect();
    let wide = json!({"type": "object", "properties": fields, "required": names});
    let cases = [
        ("a chain", json!([method("m", &reference(0))]), schemas(&|i| reference((i + 1).min(COUNT)))),
        ("a circle", json!([method("m", &reference(0))]), schemas(&|i| reference((i + 1) % COUNT))),
        ("a chain of objects", json!([]), schemas(&|i| object(i, reference(i + 1)))),
        ("a circle of objects", json!([]), schemas(&|i| object(i, reference((i + 1) % COUNT)))),
        ("the same name", json!(same), json!({})),
        ("many alternatives", json!([method("m", &json!({"oneOf": alternatives}))]), json!({})),
        ("many members", json!([method("m", &json!({"allOf": [wide, wide]}))]), json!({})),
    ];
    for (name, methods, schemas) in cases {
        let document = json!({
            "openrpc": "1.3.2",
            "info": {"title": "x", "version": "1"},
            "methods": methods,
            "components": {"schemas": schemas},
        });
        let document = document.to_string();
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for language in [Language::Rust, Language::Typescript, Language::Python] {
                client(&document, language, None).unwrap();
            }
            let _ = done.send(());
        });
        let done = is_done.recv_timeout(std::time::Duration::from_secs(60));
        assert!(done.is_ok(), "{name}: it takes too long, or fails");
    }
}
