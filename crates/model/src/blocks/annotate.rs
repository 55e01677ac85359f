//! Schemas that say of each member what it means, and the contexts that follow from them.
//!
//! A context has a scope for each object within a message, in which nothing of the outer ones holds: `name` of a tool
//! and `name` of its server are looked up in their own places, and an unknown member is left out wherever it is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// Objects within objects that a context describes; what is deeper is JSON.
const DEEPEST: usize = 5;

/// Adds to the properties of a definition what a context says of them, and to the definitions that they refer to what
/// the scopes within it say.
pub(crate) fn by_context(
    schema: &mut Value,
    definition: &str,
    terms: &Map<String, Value>,
    prefixes: &Prefixes,
) {
    let Some(part) = schema["$defs"].get_mut(definition) else { return };
    for (definition, scope) in annotate(part, terms, prefixes) {
        by_context(schema, &definition, &scope, prefixes);
    }
}

/// The same for one schema. Gives back the definitions that it refers to, each with what the context says of it.
fn annotate(
    schema: &mut Value,
    terms: &Map<String, Value>,
    prefixes: &Prefixes,
) -> Vec<(String, Map<String, Value>)> {
    let mut inner = Vec::new();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let Some(term) = terms.get(name) else { continue };
        let scope = term["@context"].as_array().and_then(|parts| parts.last()).and_then(Value::as_object);
        if let Some(scope) = scope {
            match property.get("$ref").and_then(Value::as_str).map(|to| to.strip_prefix('#')) {
                Some(Some(definition)) => inner.push((definition.to_owned(), scope.clone())),
                // Of another document, which says it itself.
                Some(None) => {}
                None => inner.extend(annotate(property, scope, prefixes)),
            }
        }
        let Some(property) = property.as_object_mut() else { continue };
        let iri = term.as_str().or_else(|| term["@id"].as_str()).unwrap_or_default();
        property.insert("x-jsonld-id".to_owned(), prefixes.expanded(iri).into());
        if let Some(kind) = term["@type"].as_str() {
            property.insert("x-jsonld-type".to_owned(), kind.into());
        }
    }
    inner
}

/// Terms that are not members: names of classes, for documents that say of what class something is.
pub(crate) fn add_extra_terms(schema: &mut Value, classes: &BTreeMap<String, String>) {
    schema["x-jsonld-extra-terms"] = json!(classes);
}

/// Short names of namespaces.
#[derive(Debug, Clone)]
pub(crate) struct Prefixes(pub(crate) Vec<(String, String)>);

impl Prefixes {
    pub(crate) fn expanded(&self, name: &str) -> String {
        let parts = name.split_once(':');
        let found = parts.and_then(|(prefix, local)| {
            self.0.iter().find(|(short, _)| short == prefix).map(|(_, iri)| [iri, local].concat())
        });
        found.unwrap_or_else(|| name.to_owned())
    }

    /// As `prefix:local`, if one fits and the rest is a plain name.
    pub(crate) fn compact(&self, iri: &str) -> Option<String> {
        let plain = |local: &str| {
            local.starts_with(|c: char| c.is_ascii_alphabetic())
                && local.chars().all(|c| c.is_ascii_alphanumeric())
        };
        let fits = |(short, long): &(String, String)| {
            let local = iri.strip_prefix(long.as_str())?;
            plain(local).then(|| format!("{short}:{local}"))
        };
        self.0.iter().find_map(fits)
    }

    pub(crate) fn json(&self) -> Value {
        self.0.iter().map(|(short, iri)| (short.clone(), json!(iri))).collect::<Map<_, _>>().into()
    }
}

/// Annotated schemas by their `$id`, which refer to each other.
#[derive(Debug, Default)]
pub(crate) struct Documents(pub(crate) BTreeMap<String, Value>);

/// A part of a document, which knows where its references lead.
#[derive(Clone, Copy)]
struct Part<'d> {
    document: &'d str,
    schema: &'d Value,
}

/// What the values of a member can be, in all places of one scope.
#[derive(Default)]
struct Member<'d> {
    iri: String,
    json: bool,
    list: bool,
    scalars: bool,
    objects: Vec<Part<'d>>,
}

impl Documents {
    pub(crate) fn add(&mut self, schema: Value) {
        let id = schema["$id"].as_str().unwrap_or_default().to_owned();
        self.0.insert(id, schema);
    }

    /// The context for messages of these documents.
    pub(crate) fn context(&self, of: &[&str]) -> Value {
        let roots: Vec<_> = of
            .iter()
            .filter_map(|id| self.0.get_key_value(*id))
            .flat_map(|(id, schema)| {
                let definitions = schema["$defs"].as_object().into_iter().flatten();
                definitions
                    .filter(|(_, definition)| is_message(definition))
                    .map(|(_, schema)| Part { document: id, schema })
            })
            .collect();
        let mut terms = self.scope(roots, 0);
        for id in self.with_references(of) {
            for (name, class) in self.0[id]["x-jsonld-extra-terms"].as_object().into_iter().flatten() {
                terms.entry(name.clone()).or_insert_with(|| class.clone());
            }
        }
        terms.insert("@version".to_owned(), json!(1.1));
        json!({ "@context": terms })
    }

    /// These documents, and those that they refer to.
    fn with_references<'d>(&'d self, of: &[&str]) -> BTreeSet<&'d str> {
        fn references<'d>(schema: &'d Value, found: &mut Vec<&'d str>) {
            match schema {
                Value::Object(members) => {
                    found.extend(members.get("$ref").and_then(Value::as_str));
                    members.values().for_each(|inner| references(inner, found));
                }
                Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
                _ => {}
            }
        }
        let mut all = BTreeSet::new();
        let mut waiting: Vec<&str> = of.to_vec();
        while let Some(id) = waiting.pop() {
            let Some((id, schema)) = self.0.get_key_value(id) else { continue };
            if all.insert(id.as_str()) {
                let mut found = Vec::new();
                references(schema, &mut found);
                waiting.extend(found.into_iter().filter_map(|to| to.split('#').next()));
            }
        }
        all
    }

    fn scope<'d>(&'d self, parts: Vec<Part<'d>>, depth: usize) -> Map<String, Value> {
        let mut found = Vec::new();
        for part in parts {
            // What a schema says itself goes before what it says by reference.
            let mut nearest: BTreeMap<&str, usize> = BTreeMap::new();
            for (leaf, rank) in self.leaves(part) {
                for (name, property) in leaf.schema["properties"].as_object().into_iter().flatten() {
                    let Some(iri) = property["x-jsonld-id"].as_str() else { continue };
                    if *nearest.entry(name).or_insert(rank) >= rank {
                        found.push((name.as_str(), rank, iri, Part { schema: property, ..leaf }));
                    }
                }
            }
        }
        // Where schemas say different things of a member, the nearest does.
        let mut said: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
        for (name, rank, iri, _) in &found {
            let nearest = said.entry(name).or_insert((*rank, iri));
            if *rank <= nearest.0 {
                *nearest = (*rank, iri);
            }
        }
        let mut members: BTreeMap<&str, Member<'d>> = BTreeMap::new();
        for (name, _, iri, property) in found {
            if said[name].1 != iri {
                continue;
            }
            let member = members.entry(name).or_default();
            iri.clone_into(&mut member.iri);
            member.json |= property.schema["x-jsonld-type"] == "@json";
            if !member.json {
                self.values(property, member);
            }
        }
        members.into_iter().map(|(name, member)| (name.to_owned(), self.term(member, depth))).collect()
    }

    fn term(&self, member: Member<'_>, depth: usize) -> Value {
        let Member { iri, json, list, scalars, objects } = member;
        let inner = match objects.is_empty() || scalars {
            true => Map::new(),
            false => self.scope(objects.clone(), depth + 1),
        };
        if json || depth >= DEEPEST || (!objects.is_empty() && inner.is_empty()) {
            return json!({"@id": iri, "@type": "@json"});
        }
        match (inner.is_empty(), list) {
            (true, false) => json!(iri),
            (true, true) => json!({"@id": iri, "@container": "@list"}),
            (false, false) => json!({"@id": iri, "@context": [null, inner]}),
            (false, true) => json!({"@id": iri, "@container": "@list", "@context": [null, inner]}),
        }
    }

    /// Notes what a property may be.
    fn values<'d>(&'d self, part: Part<'d>, member: &mut Member<'d>) {
        for (leaf, _) in self.leaves(part) {
            let kinds: Vec<_> = match &leaf.schema["type"] {
                Value::String(kind) => vec![kind.as_str()],
                Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
                _ if !leaf.schema["const"].is_null() || leaf.schema["enum"].is_array() => vec!["string"],
                _ => Vec::new(),
            };
            member.json |= kinds.is_empty();
            for kind in kinds {
                match kind {
                    "object" if leaf.schema["properties"].is_object() => member.objects.push(leaf),
                    "object" => member.json = true,
                    "array" => {
                        member.list = true;
                        self.values(Part { schema: &leaf.schema["items"], ..leaf }, member);
                    }
                    _ => member.scalars = true,
                }
            }
        }
        member.json |= member.scalars && !member.objects.is_empty();
    }

    /// The schemas that a schema stands for, through references and alternatives. The number says how often one refines
    /// another on the way; lower ones come first.
    fn leaves<'d>(&'d self, part: Part<'d>) -> Vec<(Part<'d>, usize)> {
        let mut found = Vec::new();
        let mut waiting = vec![(part, 0, 0)];
        while let Some((part, depth, rank)) = waiting.pop() {
            if depth > 8 {
                continue;
            }
            let referred = part.schema["$ref"].as_str().and_then(|to| self.resolve(part.document, to));
            let mut inner: Vec<_> = referred.into_iter().collect();
            for word in ["anyOf", "oneOf", "allOf"] {
                let schemas = part.schema[word].as_array().into_iter().flatten();
                inner.extend(schemas.map(|schema| Part { schema, ..part }));
            }
            let refines = part.schema["properties"].is_object();
            if inner.is_empty() || refines {
                found.push((part, rank));
            }
            waiting
                .extend(inner.into_iter().rev().map(|part| (part, depth + 1, rank + usize::from(refines))));
        }
        found.sort_by_key(|(_, rank)| *rank);
        found
    }

    fn resolve<'d>(&'d self, document: &'d str, to: &str) -> Option<Part<'d>> {
        let (id, anchor) = to.split_once('#')?;
        let (id, root) = self.0.get_key_value(if id.is_empty() { document } else { id })?;
        Some(Part { document: id, schema: root["$defs"].get(anchor)? })
    }
}

/// A definition of something that stands for itself, and not for a part of a message.
fn is_message(definition: &Value) -> bool {
    let said = |name: &str| definition["properties"][name]["x-jsonld-id"].as_str();
    ["method", "jsonrpc", "params", "result", "error"].iter().any(|name| said(name).is_some())
        || said("id") == Some("urn:sabir:ontology#id")
}
