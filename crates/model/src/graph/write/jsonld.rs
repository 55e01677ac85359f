//! JSON-LD, against `files/session.context.jsonld`, which each document carries inside.

use sabir_proto::{RawJson, push_escaped};

use crate::files::SESSION_CONTEXT;
use crate::graph::canonical::{canonical, is_beyond_doubles};
use crate::graph::node::{Node, Value};
use crate::graph::terms::{AT_MS, DATE_TIME, DURATION_MS, INTEGER, JSON, TOTAL_MS, TYPE, Term};
use crate::graph::write::literal::quoted_json;

/// Numbers up to here are the same in every reader of JSON.
const EXACT: u64 = 9_007_199_254_740_991;

pub(crate) fn start(out: &mut String, base: &str) {
    let context = SESSION_CONTEXT.trim_end();
    let context = context.strip_suffix("\n  }\n}").unwrap_or(context);
    out.push_str(context);
    out.push_str(",\n    \"c\": ");
    // Whatever its last character, it is a prefix.
    out.push_str("{ \"@id\": ");
    quoted_json(out, base);
    out.push_str(", \"@prefix\": true }\n  },\n  \"@graph\": [");
}

pub(crate) fn node(out: &mut String, node: &Node<'_>) {
    out.extend(["{\"@id\":\"c:", &node.name, "\""]);
    // Facts with the same property stand together: an object must not have a member twice.
    for facts in node.facts.chunk_by(|a, b| a.0 == b.0) {
        let property = facts[0].0;
        // A document with a number that no double can hold is refused by many readers of JSON: such JSON is a text, under a name
        // for which the context has no rule.
        let is_text =
            facts.iter().any(|(_, value)| matches!(value, Value::Json(json) if is_beyond_doubles(json)));
        match () {
            () if property == TYPE => out.push_str(",\"@type\":"),
            () if is_text => out.extend([",\"", property.prefix.label(), ":", property.local, "\":"]),
            () => out.extend([",\"", property.local, "\":"]),
        }
        let mut before = "[";
        for (_, object) in facts {
            if facts.len() > 1 {
                out.push_str(std::mem::replace(&mut before, ","));
            }
            match object {
                Value::Json(json) if is_text => {
                    out.push_str("{\"@value\":");
                    quoted_json(out, &canonical_text(json));
                    out.extend([",\"@type\":\"", JSON.prefix.iri(), JSON.local, "\"}"]);
                }
                object => value(out, property, object),
            }
        }
        if facts.len() > 1 {
            out.push(']');
        }
    }
    out.push('}');
}

fn value(out: &mut String, property: Term, value: &Value<'_>) {
    match value {
        Value::Class(prefix, local) => out.extend(["\"", prefix.label(), ":", local, "\""]),
        Value::Term(object) => out.extend(["\"", object.prefix.label(), ":", object.local, "\""]),
        Value::Node(object) => out.extend(["\"c:", object, "\""]),
        Value::Text(text) => quoted_json(out, text),
        Value::Typed(text, INTEGER) if is_exact(text) => out.push_str(text),
        Value::Typed(text, DATE_TIME) => quoted_json(out, text),
        Value::Typed(text, _) if [AT_MS, DURATION_MS, TOTAL_MS].contains(&property) => quoted_json(out, text),
        Value::Typed(text, datatype) => {
            out.push_str("{\"@value\":");
            quoted_json(out, text);
            out.extend([",\"@type\":\"", datatype.prefix.label(), ":", datatype.local, "\"}"]);
        }
        // Not as it came: some processors keep both of two members with the same name.
        Value::Json(json) => {
            // Outside of its strings there is nothing to escape, and inside the escape means the same.
            push_escaped(out, &canonical_text(json));
        }
    }
}

fn canonical_text(json: &RawJson<'_>) -> String {
    let mut text = String::with_capacity(json.as_str().len());
    canonical(json, &mut text);
    text
}

/// Not `-0` either, which would lose its sign.
fn is_exact(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number.unsigned_abs() <= EXACT && (number != 0 || text == "0"))
}
