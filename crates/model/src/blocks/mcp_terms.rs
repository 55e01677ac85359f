//! The ontology of MCP: a class for each message, for what is in messages, and a property for each member.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::Value;

use crate::blocks::annotate::Documents;
use crate::blocks::definitions::{Definitions, Method};
use crate::blocks::mcp::{AS_JSON, BY_REFERENCE, OWN, Published, is_response, prefixes};

/// The terms of all revisions, in OWL.
pub(crate) fn ontology(definitions: &Definitions, published: &Published, documents: &Documents) -> String {
    let mut prefixes = prefixes();
    prefixes.0.extend([("xsd".to_owned(), XSD.to_owned()), ("rdf".to_owned(), RDF_JSON.replace("JSON", ""))]);
    let short = |iri: &str| prefixes.compact(iri).unwrap_or_else(|| format!("<{iri}>"));
    let mut out = String::from(HEAD);
    let methods = definitions.methods();
    out.push_str("# Messages by method\n\n");
    for method in &methods {
        let Method { name, method: called, .. } = method;
        let kind = if method.is_request { "Request" } else { "Notification" };
        let from = match (method.from_client, method.from_server) {
            (true, true) => "either side",
            (false, true) => "the server",
            _ => "the client",
        };
        let operation = name.strip_suffix("Request").map(|stem| format!("{stem}Operation"));
        let operation = operation.filter(|operation| published.has_class(operation));
        let _ = write!(
            out,
            "{} a owl:Class ; rdfs:label \"{}\"@en ;\n  rdfs:subClassOf jrpc:{kind}{} ,\n    \
             [ a owl:Restriction ; owl:onProperty jrpc:hasMethod ; owl:hasValue \"{called}\" ] ;\n",
            short(&published.class(name)),
            words(name),
            operation.as_ref().map(|operation| format!(" , mcp:{operation}")).unwrap_or_default(),
        );
        if let Some(result) = &method.result {
            let _ = writeln!(out, "  mcpx:resultClass {} ;", short(&published.class(result)));
        }
        let comment = format!("`{called}`, sent by {from}. In revision {}.", method.revisions.join(", "));
        let _ = writeln!(out, "  rdfs:comment \"{comment}\"@en ; rdfs:isDefinedBy {DEFINED_BY} .");
        if let Some(operation) =
            operation.filter(|operation| !HEAD.contains(&format!("\nmcp:{operation} a ")))
        {
            let comment = format!("What `{called}` asks for. Here the request stands for it.");
            let _ = writeln!(
                out,
                "mcp:{operation} a owl:Class ; rdfs:label \"{}\"@en ;\n  rdfs:comment \"{comment}\"@en ; rdfs:isDefinedBy {DEFINED_BY} .",
                words(&operation),
            );
        }
    }
    out.push_str("\n# What is in them\n\n");
    let parts = Parts { definitions, published, methods: &methods };
    for name in definitions.names() {
        let class = short(&published.class(name));
        let of = definitions.revisions_of(name).join(", ");
        let (above, about) = match (parts.is_part(name), parts.union(name)) {
            (true, _) => {
                let members = parts.members(name).into_keys().map(|name| format!("`{name}`"));
                let members: Vec<_> = members.collect();
                let about = match members.is_empty() {
                    true => String::new(),
                    false => format!("Has {}. ", members.join(", ")),
                };
                let above = parts
                    .above(name)
                    .map(|name| format!("\n  rdfs:subClassOf {} ;", short(&published.class(name))));
                (above.collect(), about)
            }
            (false, Some(union)) => {
                let iris: Vec<_> = union.iter().map(|name| short(&published.class(name))).collect();
                let names: Vec<_> = union.iter().map(|name| format!("`{name}`")).collect();
                let above = format!("\n  owl:unionOf ( {} ) ;", iris.join(" "));
                (above, format!("One of {}. ", names.join(", ")))
            }
            (false, None) => continue,
        };
        let _ = writeln!(
            out,
            "{class} a owl:Class ; rdfs:label \"{}\"@en ;{above}\n  rdfs:comment \"{about}In revision {of}.\"@en ; rdfs:isDefinedBy {DEFINED_BY} .",
            words(name),
        );
    }
    out.push_str("\n# Members. What has them, and which values they have, is said without consequence for reasoners: a member may be added.\n\n");
    let places = parts.places();
    for (iri, Use { members, objects, scalars }) in uses(documents) {
        let kind = match (objects, scalars) {
            (true, false) => "owl:ObjectProperty",
            (false, true) => "owl:DatatypeProperty",
            _ => "rdf:Property",
        };
        let members: Vec<_> = members.iter().map(|name| format!("`{name}`")).collect();
        let local = iri.rsplit(['#', '/']).next().unwrap_or_default();
        let mut included = String::new();
        if let Some(Place { of, values }) = places.get(&iri) {
            for (property, iris) in [("domainIncludes", of), ("rangeIncludes", values)] {
                let iris: Vec<_> = iris.iter().map(|iri| short(iri)).collect();
                if !iris.is_empty() {
                    let _ = write!(included, "\n  schema:{property} {} ;", iris.join(" , "));
                }
            }
        }
        let _ = writeln!(
            out,
            "{} a {kind} ; rdfs:label \"{}\"@en ;{included}\n  rdfs:comment \"The member {}.\"@en ; rdfs:isDefinedBy {DEFINED_BY} .",
            short(&iri),
            words(local),
            members.join(", "),
        );
    }
    out
}

const DEFINED_BY: &str = "<urn:sabir:ontology:mcp>";
const HEAD: &str = include_str!("../../files/mcp/head.ttl");

/// The objects of messages, as opposed to messages, unions of messages, and text.
struct Parts<'a> {
    definitions: &'a Definitions,
    published: &'a Published,
    methods: &'a [Method],
}

/// Where a member is.
#[derive(Default)]
struct Place {
    /// The classes that have it.
    of: BTreeSet<String>,
    /// The classes and data types of its values.
    values: BTreeSet<String>,
}

impl<'a> Parts<'a> {
    fn is_part(&self, name: &str) -> bool {
        let Some(newest) = self.definitions.newest(name) else { return false };
        let is_object = newest["type"] == "object" || newest["allOf"].is_array() || name == "EmptyResult";
        let is_message = self.methods.iter().any(|method| method.name == name) || is_response(newest);
        is_object && !is_message && !BY_REFERENCE.iter().any(|(own, ..)| *own == name)
    }

    /// What a definition is one of, if all of that is part of messages.
    fn union(&self, name: &str) -> Option<Vec<&'a str>> {
        let alternatives = self.definitions.newest(name)?["anyOf"].as_array()?;
        let mut found = Vec::new();
        for alternative in alternatives {
            let name = referred(alternative)?;
            match self.union(name) {
                Some(inner) => found.extend(inner),
                None => found.push(self.is_part(name).then_some(name)?),
            }
        }
        Some(found)
    }

    /// What a definition is besides itself.
    fn above(&self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let all = self.definitions.newest(name).and_then(|newest| newest["allOf"].as_array());
        all.into_iter().flatten().filter_map(referred)
    }

    fn members(&self, name: &str) -> BTreeMap<&'a str, &'a Value> {
        let own = self.definitions.newest(name).and_then(|newest| newest["properties"].as_object());
        let own = own.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema));
        self.above(name).flat_map(|above| self.members(above)).chain(own).collect()
    }

    /// Where each member is, by its IRI.
    fn places(&self) -> BTreeMap<String, Place> {
        let mut places = BTreeMap::<String, Place>::new();
        for name in self.definitions.names().filter(|name| self.is_part(name)) {
            for (member, schema) in self.members(name) {
                let place = places.entry(self.published.member(member)).or_default();
                place.of.insert(self.published.class(name));
                if AS_JSON.contains(&member) {
                    place.values.insert(RDF_JSON.to_owned());
                } else {
                    self.values(schema, &mut BTreeSet::new(), &mut place.values);
                }
            }
        }
        places
    }

    /// The classes and data types of the values that a schema takes, items for arrays. A definition is looked into once:
    /// values of JSON are made of values of JSON.
    fn values(&self, schema: &'a Value, seen: &mut BTreeSet<&'a str>, found: &mut BTreeSet<String>) {
        if let Some(name) = referred(schema) {
            match self.definitions.newest(name) {
                Some(_) if self.is_part(name) => _ = found.insert(self.published.class(name)),
                Some(newest) if seen.insert(name) => self.values(newest, seen, found),
                _ => {}
            }
        }
        let several = schema["anyOf"].as_array().or_else(|| schema["oneOf"].as_array());
        several.into_iter().flatten().for_each(|schema| self.values(schema, seen, found));
        let types = schema["type"].as_array().map_or(std::slice::from_ref(&schema["type"]), Vec::as_slice);
        for data_type in types.iter().filter_map(Value::as_str) {
            let kinds: &[&str] = match data_type {
                "string" => &["string"],
                "boolean" => &["boolean"],
                "integer" => &["integer"],
                // What has a fraction is a double in JSON-LD.
                "number" => &["integer", "double"],
                _ => &[],
            };
            found.extend(kinds.iter().map(|kind| [XSD, kind].concat()));
        }
        if schema["items"].is_object() {
            self.values(&schema["items"], seen, found);
        }
    }
}

/// The definition that a schema refers to.
fn referred(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix('#')
}

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const RDF_JSON: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON";

#[derive(Default)]
struct Use {
    members: BTreeSet<String>,
    objects: bool,
    scalars: bool,
}

/// Each term of MCP that members are mapped to, and what their values are as far as the context says it.
fn uses(documents: &Documents) -> BTreeMap<String, Use> {
    fn in_context(context: &Value, uses: &mut BTreeMap<String, Use>) {
        for term in context.as_object().into_iter().flatten().map(|(_, term)| term) {
            let Some(iri) = term.as_str().or_else(|| term["@id"].as_str()) else { continue };
            if let Some(used) = uses.get_mut(iri) {
                let is_object = term["@context"].is_array();
                used.objects |= is_object;
                used.scalars |= !is_object;
            }
            in_context(&term["@context"][1], uses);
        }
    }
    fn in_schema(name: &str, schema: &Value, uses: &mut BTreeMap<String, Use>) {
        let is_own = |iri: &&str| iri.starts_with(OWN) || iri.starts_with("http://modelcontextprotocol.io/");
        if let Some(iri) = schema["x-jsonld-id"].as_str().filter(is_own) {
            uses.entry(iri.to_owned()).or_default().members.insert(name.to_owned());
        }
        match schema {
            Value::Object(members) => members.iter().for_each(|(name, inner)| in_schema(name, inner, uses)),
            Value::Array(items) => items.iter().for_each(|inner| in_schema(name, inner, uses)),
            _ => {}
        }
    }
    let is_mcp = |id: &str| id.starts_with("urn:sabir:schema:mcp:");
    let ids: Vec<_> = documents.0.keys().map(String::as_str).filter(|id| is_mcp(id)).collect();
    let mut uses = BTreeMap::new();
    ids.iter().for_each(|id| in_schema("", &documents.0[*id], &mut uses));
    in_context(&documents.context(&ids)["@context"], &mut uses);
    uses
}

/// `CallToolRequest` as "call tool request".
fn words(name: &str) -> String {
    let mut words = String::new();
    let mut before = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && before {
            words.push(' ');
        }
        before = c.is_ascii_lowercase() || c.is_ascii_digit();
        words.push(if c == '_' { ' ' } else { c.to_ascii_lowercase() });
    }
    words.trim().to_owned()
}
