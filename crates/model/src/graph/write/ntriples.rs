//! N-Triples and N-Quads.

use crate::graph::canonical::canonical;
use crate::graph::node::{Node, Value};
use crate::graph::terms::{JSON, Term};
use crate::graph::write::literal::quoted;

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
        Value::Node(object) => name(out, base, object),
        Value::Text(text) => quoted(out, text),
        Value::Typed(text, datatype) => {
            quoted(out, text);
            out.push_str("^^");
            term(out, *datatype);
        }
        Value::Json(json) => {
            let mut text = String::with_capacity(json.as_str().len());
            canonical(json, &mut text);
            quoted(out, &text);
            out.push_str("^^");
            term(out, JSON);
        }
    }
}

fn name(out: &mut String, base: &str, name: &str) {
    out.extend(["<", base, name, ">"]);
}

fn term(out: &mut String, term: Term) {
    out.extend(["<", term.prefix.iri(), term.local, ">"]);
}
