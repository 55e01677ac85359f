//! A message as RDF by one of our contexts. A JSON-LD processor gives the same facts for a message without members that
//! begin with `@`; those are not obeyed here.

use serde_json::{Map, Value};

use crate::blocks::annotate::Prefixes;
use crate::blocks::classes::Classes;
use crate::graph::canonical_json;

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const JRPC: &str = "http://json-rpc.org/ontology#";
const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";

/// Something without a name, and what is said of it.
#[derive(Debug, Default)]
pub(crate) struct Thing {
    facts: Vec<(String, Object)>,
}

#[derive(Debug)]
enum Object {
    Iri(String),
    Literal { text: String, datatype: String },
    Thing(Thing),
    List(Vec<Object>),
}

/// What a message, or each of a batch, is.
pub(crate) fn things(message: &Value, context: &Value, classes: &Classes) -> Vec<Thing> {
    let terms = context["@context"].as_object().cloned().unwrap_or_default();
    let entries = message.as_array().map_or(std::slice::from_ref(message), Vec::as_slice);
    let things = entries.iter().filter_map(|entry| {
        let members = entry.as_object()?;
        let mut whole = thing(members, &terms);
        let types = types(members, classes).into_iter().map(|class| (TYPE.to_owned(), Object::Iri(class)));
        whole.facts.splice(0..0, types);
        whole.facts.iter_mut().for_each(|(property, object)| type_error(property, object, classes));
        Some(whole)
    });
    things.filter(|thing| !thing.facts.is_empty()).collect()
}

/// The classes of a message, as `types.ru` finds them.
fn types(members: &Map<String, Value>, classes: &Classes) -> Vec<String> {
    let mut types = Vec::new();
    if let Some(method) = members.get("method").filter(|method| !method.is_null()) {
        types.extend(method.as_str().and_then(|method| classes.by_method.get(method)).cloned());
        let kind = if members.contains_key("id") { "Request" } else { "Notification" };
        types.push([JRPC, kind].concat());
    }
    let kinds = [("result", "Response"), ("error", "ErrorResponse")];
    let has = |name: &str| members.get(name).is_some_and(|value| name == "result" || !value.is_null());
    types.extend(kinds.into_iter().filter(|(name, _)| has(name)).map(|(_, kind)| [JRPC, kind].concat()));
    types
}

/// The classes of an error, by its code: its own, and that of all codes of servers.
fn type_error(property: &str, object: &mut Object, classes: &Classes) {
    let is = |iri: &str, local: &str| iri.strip_prefix(JRPC) == Some(local);
    let Object::Thing(error) = object else { return };
    if !is(property, "hasError") {
        return;
    }
    let code = error.facts.iter().find_map(|(property, object)| match object {
        Object::Literal { text, datatype } if is(property, "hasErrorCode") => {
            (datatype.strip_prefix(XSD) == Some("integer")).then(|| text.parse::<i64>().ok())?
        }
        _ => None,
    });
    let Some(code) = code else { return };
    let of_server = (-32099..=-32000).contains(&code).then(|| [JRPC, "ServerError"].concat());
    let types = classes.by_code.get(&code).cloned().into_iter().chain(of_server);
    error.facts.splice(0..0, types.map(|class| (TYPE.to_owned(), Object::Iri(class))));
}

fn thing(members: &Map<String, Value>, terms: &Map<String, Value>) -> Thing {
    let mut facts = Vec::new();
    let mut names: Vec<_> = members.keys().filter(|name| !name.starts_with('@')).collect();
    names.sort();
    for name in names {
        let (value, Some(term)) = (&members[name], terms.get(name)) else { continue };
        let Some(iri) = term.as_str().or_else(|| term["@id"].as_str()) else { continue };
        if term["@type"] == "@json" {
            facts.push((iri.to_owned(), json_literal(value)));
            continue;
        }
        let inner = term["@context"].as_array().and_then(|parts| parts.get(1)).and_then(Value::as_object);
        let terms = inner.unwrap_or(terms);
        let mut objects = Vec::new();
        collect(value, terms, &mut objects);
        match term["@container"] == "@list" {
            true if !value.is_null() => facts.push((iri.to_owned(), Object::List(objects))),
            true => {}
            false => facts.extend(objects.into_iter().map(|object| (iri.to_owned(), object))),
        }
    }
    Thing { facts }
}

fn collect(value: &Value, terms: &Map<String, Value>, objects: &mut Vec<Object>) {
    let literal = |text: String, datatype: &str| Object::Literal { text, datatype: [XSD, datatype].concat() };
    match value {
        Value::Null => {}
        Value::Array(items) => items.iter().for_each(|item| collect(item, terms, objects)),
        Value::Object(members) => objects.push(Object::Thing(thing(members, terms))),
        Value::Bool(truth) => objects.push(literal(truth.to_string(), "boolean")),
        Value::String(text) => objects.push(literal(text.clone(), "string")),
        Value::Number(number) => objects.push(match number.as_f64() {
            Some(float) if float.fract() != 0.0 || float.abs() >= 1e21 => literal(double(float), "double"),
            Some(float) if !number.is_i64() && !number.is_u64() => literal(format!("{float:.0}"), "integer"),
            _ => literal(number.to_string(), "integer"),
        }),
    }
}

/// The canonical form of `xsd:double`.
fn double(float: f64) -> String {
    let text = format!("{float:E}");
    match text.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => text,
    }
}

fn json_literal(value: &Value) -> Object {
    Object::Literal { text: canonical_json(&value.to_string()), datatype: [RDF, "JSON"].concat() }
}

/// The facts in Turtle.
pub(crate) fn turtle(things: &[Thing], prefixes: &Prefixes) -> String {
    let mut prefixes = prefixes.clone();
    prefixes.0.push(("rdf".to_owned(), RDF.to_owned()));
    prefixes.0.push(("xsd".to_owned(), XSD.to_owned()));
    let mut body = String::new();
    for thing in things {
        body.push_str("[]");
        facts(&mut body, thing, &prefixes, 2);
        body.push_str(" .\n");
    }
    let used = prefixes.0.iter().filter(|(short, _)| body.contains(&format!("{short}:")));
    let head: String = used.map(|(short, iri)| format!("@prefix {short}: <{iri}> .\n")).collect();
    format!("{head}\n{body}")
}

fn facts(out: &mut String, thing: &Thing, prefixes: &Prefixes, indent: usize) {
    for (i, (iri, value)) in thing.facts.iter().enumerate() {
        let before = if i == 0 { " ".to_owned() } else { format!(" ;\n{}", " ".repeat(indent)) };
        out.push_str(&before);
        out.push_str(&if iri == TYPE { "a".to_owned() } else { name(iri, prefixes) });
        out.push(' ');
        object(out, value, prefixes, indent);
    }
}

fn object(out: &mut String, value: &Object, prefixes: &Prefixes, indent: usize) {
    match value {
        Object::Iri(iri) => out.push_str(&name(iri, prefixes)),
        Object::Literal { text, datatype } => {
            match datatype.strip_prefix(XSD) {
                Some("integer" | "boolean") => out.push_str(text),
                Some("string") => crate::graph::quote(out, text),
                _ => {
                    crate::graph::quote(out, text);
                    out.push_str("^^");
                    out.push_str(&name(datatype, prefixes));
                }
            };
        }
        Object::Thing(thing) => {
            out.push('[');
            facts(out, thing, prefixes, indent + 2);
            out.push_str(" ]");
        }
        Object::List(items) => {
            out.push('(');
            for item in items {
                out.push(' ');
                object(out, item, prefixes, indent + 2);
            }
            out.push_str(" )");
        }
    }
}

fn name(iri: &str, prefixes: &Prefixes) -> String {
    prefixes.compact(iri).unwrap_or_else(|| format!("<{iri}>"))
}
