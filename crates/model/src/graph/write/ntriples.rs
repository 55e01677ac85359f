//! N-Triples and N-Quads.

use crate::graph::node::{Node, Value};
use crate::graph::terms::Term;
use crate::graph::write::literal::{quoted, typed, typed_json};

pub(crate) fn node(out: &mut String, base: &str, node: &Node<'_>, graph: Option<&str>) {
    for (property, object) in &node.facts {
        name(out, base, &node.name);
        out.push(' ');
        term(out, *property);
        out.push(' ');
        value(out, base, object);
        if let Some(graph) = graph {
            out.push(' ');
            name(out, base, graph);
        }
        out.push_str(" .\n");
    }
}

fn value(out: &mut String, base: &str, value: &Value<'_>) {
    match value {
        Value::Term(object) => term(out, *object),
        Value::Class(prefix, local) => out.extend(["<", prefix.iri(), local, ">"]),
        Value::Node(object) => name(out, base, object),
        Value::Text(text) => quoted(out, text),
        Value::Typed(text, datatype) => typed(out, text, *datatype, term),
        Value::Json(json) => typed_json(out, json, term),
    }
}

fn name(out: &mut String, base: &str, name: &str) {
    out.extend(["<", base, name, ">"]);
}

fn term(out: &mut String, term: Term) {
    out.extend(["<", term.prefix.iri(), term.local, ">"]);
}
