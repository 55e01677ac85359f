//! Turtle, and what TriG adds to it.

use crate::graph::node::{Node, Value};
use crate::graph::terms::{DECIMAL, INTEGER, Prefix, TYPE, Term};
use crate::graph::write::literal::{quoted, typed, typed_json};

pub(crate) fn start(out: &mut String, base: &str) {
    for prefix in Prefix::ALL {
        out.extend(["@prefix ", prefix.label(), ": <", prefix.iri(), "> .\n"]);
    }
    out.extend(["@prefix c: <", base, "> .\n\n"]);
}

pub(crate) fn open(out: &mut String, graph: &str) {
    out.extend(["c:", graph, " {\n"]);
}

pub(crate) fn node(out: &mut String, indent: &str, node: &Node<'_>) {
    out.extend([indent, "c:", &node.name]);
    for (i, (property, object)) in node.facts.iter().enumerate() {
        if i > 0 {
            out.extend([" ;\n", indent, "  "]);
        } else {
            out.push(' ');
        }
        if *property == TYPE {
            out.push('a')
        } else {
            term(out, *property)
        }
        out.push(' ');
        value(out, object);
    }
    out.push_str(" .\n");
}

fn value(out: &mut String, value: &Value<'_>) {
    match value {
        Value::Term(object) => term(out, *object),
        Value::Class(prefix, local) => out.extend([prefix.label(), ":", local]),
        Value::Node(object) => out.extend(["c:", object]),
        Value::Text(text) => quoted(out, text),
        // Numbers as they are mean the same in Turtle.
        Value::Typed(text, INTEGER | DECIMAL) => out.push_str(text),
        Value::Typed(text, datatype) => typed(out, text, *datatype, term),
        Value::Json(json) => typed_json(out, json, term),
    }
}

fn term(out: &mut String, term: Term) {
    out.extend([term.prefix.label(), ":", term.local]);
}
