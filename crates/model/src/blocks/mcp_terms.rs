//! The ontology of MCP: a class for each message, for what is in messages, and a property for each member. What each of
//! them means is in `files/mcp/comments.json`, in words of our own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde_json::Value;

use crate::blocks::annotate::Documents;
use crate::blocks::classes::Classes;
use crate::blocks::definitions::{Definitions, Method};
use crate::blocks::mcp::{OWN, Published, prefixes};
use crate::blocks::mcp_parts::{Parts, Place, RDF_JSON, XSD};

/// The terms of all revisions, in OWL. `base` are the classes of JSON-RPC.
pub(crate) fn ontology(
    definitions: &Definitions,
    published: &Published,
    documents: &Documents,
    base: &Classes,
) -> String {
    let comments = Comments::read();
    let mut prefixes = prefixes();
    prefixes.0.extend([("xsd".to_owned(), XSD.to_owned()), ("rdf".to_owned(), RDF_JSON.replace("JSON", ""))]);
    let short = |iri: &str| prefixes.compact(iri).unwrap_or_else(|| format!("<{iri}>"));
    let mut out = String::from(HEAD);
    let methods = definitions.methods();
    let parts = Parts { definitions, published, methods: &methods };
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
        if let Some(params) = parts.params(method) {
            let _ = writeln!(out, "  mcpx:paramsClass {} ;", short(&published.class(params)));
        }
        let of = method.revisions.join(", ");
        let comment = format!("{}`{called}`, sent by {from}. In revision {of}.", comments.class(name));
        let _ = writeln!(out, "  rdfs:comment \"{comment}\"@en ; rdfs:isDefinedBy {DEFINED_BY} .");
        if let Some(operation) =
            operation.filter(|operation| !HEAD.contains(&format!("\nmcp:{operation} a ")))
        {
            let comment = format!("What `{called}` asks for. Here the request stands for it.");
            let _ = writeln!(
                out,
                "mcp:{operation} a owl:Class ; rdfs:label \"{}\"@en ; rdfs:subClassOf mcp:Operation ;\n  rdfs:comment \"{comment}\"@en ; rdfs:isDefinedBy {DEFINED_BY} .",
                words(&operation),
            );
        }
    }
    out.push_str("\n# What is in them\n\n");
    for name in definitions.names() {
        let class = short(&published.class(name));
        let of = definitions.revisions_of(name).join(", ");
        let (union, about) = match (parts.is_part(name), parts.union(name)) {
            (true, _) => {
                let members = parts.members(name).into_keys().map(|name| format!("`{name}`"));
                let members: Vec<_> = members.collect();
                let about = match members.is_empty() {
                    true => String::new(),
                    false => format!("Has {}. ", members.join(", ")),
                };
                (String::new(), about)
            }
            (false, Some(union)) => {
                let iris: Vec<_> = union.iter().map(|name| short(&published.class(name))).collect();
                let names: Vec<_> = union.iter().map(|name| format!("`{name}`")).collect();
                let union = format!("\n  owl:unionOf ( {} ) ;", iris.join(" "));
                (union, format!("One of {}. ", names.join(", ")))
            }
            (false, None) => continue,
        };
        let mut above: Vec<_> = parts.above(name).iter().map(|name| short(&published.class(name))).collect();
        let error = parts.error(name);
        match error {
            // The error itself, which JSON-RPC has.
            Some(code) if parts.is_error(name) => above.extend(base.by_code.get(&code).map(|iri| short(iri))),
            Some(_) => above.push(format!(
                "jrpc:ErrorResponse , [ a owl:Restriction ; owl:onProperty jrpc:hasError ; owl:allValuesFrom mcpx:{} ]",
                error_class(name),
            )),
            None => {}
        }
        if parts.is_request(name) {
            above.push("jrpc:Request".to_owned());
        }
        if above.is_empty() {
            above.push("mcpx:Part".to_owned());
        }
        let _ = writeln!(
            out,
            "{class} a owl:Class ; rdfs:label \"{}\"@en ;\n  rdfs:subClassOf {} ;{union}\n  rdfs:comment \"{}{about}In revision {of}.\"@en ; rdfs:isDefinedBy {DEFINED_BY} .",
            words(name),
            above.join(" , "),
            comments.class(name),
        );
        if let (Some(code), false) = (error, parts.is_error(name)) {
            let class = error_class(name);
            let _ = writeln!(
                out,
                "mcpx:{class} a owl:Class ; rdfs:label \"{}\"@en ;\n  rdfs:subClassOf jrpc:ServerError , [ a owl:Restriction ; owl:onProperty jrpc:hasErrorCode ; owl:hasValue {code} ] ;\n  rdfs:comment \"{}The code {code} in MCP. In revision {of}.\"@en ; rdfs:isDefinedBy {DEFINED_BY} .",
                words(class),
                comments.class(class),
            );
        }
    }
    out.push_str("\n# Members. What has them, and which values they have, is said without consequence for reasoners: a member may be added.\n\n");
    let places = parts.places();
    for (iri, Use { members, objects, scalars }) in uses(documents) {
        let kind = match (objects, scalars) {
            (true, false) => "owl:ObjectProperty",
            (false, true) => "owl:DatatypeProperty",
            _ => "rdf:Property",
        };
        let mut members: Vec<_> = members.iter().map(|name| format!("`{name}`")).collect();
        let last = members.pop().unwrap_or_default();
        let members = match members.is_empty() {
            true => format!("The member {last}."),
            false => format!("The members {} and {last}.", members.join(", ")),
        };
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
            "{} a {kind} ; rdfs:label \"{}\"@en ;{included}\n  rdfs:comment \"{}{members}\"@en ; rdfs:isDefinedBy {DEFINED_BY} .",
            short(&iri),
            words(local),
            comments.member(local),
        );
    }
    out
}

const DEFINED_BY: &str = "<urn:sabir:ontology:mcp>";
const HEAD: &str = include_str!("../../files/mcp/head.ttl");
const COMMENTS: &str = include_str!("../../files/mcp/comments.json");

/// What terms mean.
struct Comments(Value);

impl Comments {
    fn read() -> Comments {
        Comments(serde_json::from_str(COMMENTS).unwrap_or_default())
    }

    fn class(&self, name: &str) -> String {
        self.sentence("classes", name)
    }

    fn member(&self, name: &str) -> String {
        self.sentence("members", name)
    }

    /// With a space behind it, or nothing.
    fn sentence(&self, kind: &str, name: &str) -> String {
        self.0[kind][name].as_str().map(|text| format!("{text} ")).unwrap_or_default()
    }
}

/// The class of the error in an answer that a definition such as `HeaderMismatchError` describes.
fn error_class(name: &str) -> &str {
    name.strip_suffix("Error").unwrap_or(name)
}

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
