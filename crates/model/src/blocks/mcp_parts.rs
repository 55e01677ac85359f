//! The objects in messages of MCP: which definitions they are, what stands above each, and where its members lead.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::blocks::definitions::{Definitions, Method, UNIONS};
use crate::blocks::mcp::{AS_JSON, BY_REFERENCE, Published, is_response};

/// Definitions that others extend, and how the names of those end. One extends it if it has its members, too.
const BASES: [(&str, &str); 11] = [
    ("PaginatedResult", "Result"),
    ("CacheableResult", "Result"),
    ("PaginatedRequestParams", "RequestParams"),
    ("TaskAugmentedRequestParams", "RequestParams"),
    ("ResourceRequestParams", "RequestParams"),
    ("InputResponseRequestParams", "RequestParams"),
    ("ResourceContents", "ResourceContents"),
    ("Resource", "ResourceLink"),
    ("BaseMetadata", ""),
    ("Icons", ""),
    ("Annotated", ""),
];

/// What definitions are by their names alone, if nothing nearer is of the same kind. The first that fits holds.
const KINDS: [(&str, &str); 4] = [
    ("Result", "Result"),
    ("NotificationParams", "NotificationParams"),
    ("RequestParams", "Params"),
    ("MetaObject", "MetaObject"),
];

/// The objects of messages, as opposed to messages, unions of messages, and text.
pub(crate) struct Parts<'a> {
    pub(crate) definitions: &'a Definitions,
    pub(crate) published: &'a Published,
    pub(crate) methods: &'a [Method],
}

/// Where a member is.
#[derive(Default)]
pub(crate) struct Place {
    /// The classes that have it.
    pub(crate) of: BTreeSet<String>,
    /// The classes and data types of its values.
    pub(crate) values: BTreeSet<String>,
}

impl<'a> Parts<'a> {
    pub(crate) fn is_part(&self, name: &str) -> bool {
        let Some(newest) = self.definitions.newest(name) else { return false };
        let is_object = newest["type"] == "object" || newest["allOf"].is_array() || name == "EmptyResult";
        let is_message = self.methods.iter().any(|method| method.name == name)
            || is_response(newest)
            || UNIONS.contains(&name);
        is_object && !is_message && !BY_REFERENCE.iter().any(|(own, ..)| *own == name)
    }

    /// What a definition is one of, if all of that is part of messages.
    pub(crate) fn union(&self, name: &str) -> Option<Vec<&'a str>> {
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

    /// The definitions that one is made of besides its own members.
    fn joined(&self, name: &str) -> impl Iterator<Item = &'a str> + use<'a> {
        let all = self.definitions.newest(name).and_then(|newest| newest["allOf"].as_array());
        all.into_iter().flatten().filter_map(referred)
    }

    /// The definitions that stand above one: those that it is made of, those whose members it has where the protocol means
    /// it so, and the unions that it is one of. The published schemas have copies of members in the place of the first.
    pub(crate) fn above(&self, name: &str) -> Vec<&'a str> {
        let mut above: Vec<&str> = self.joined(name).collect();
        let bases = BASES
            .iter()
            .filter(|(base, end)| name.ends_with(end) && *base != name && self.has_members_of(name, base));
        above.extend(bases.map(|(base, _)| *base));
        let is_base = |base: &&(&str, &str)| name.ends_with(base.1) && base.0 != name;
        let kind = KINDS.iter().find(is_base).filter(|_| !KINDS.iter().any(|(base, _)| *base == name));
        if let Some((kind, end)) = kind
            && !above.iter().any(|known| known.ends_with(end))
        {
            above.push(kind);
        }
        // What the sides send at all does not make a kind of thing.
        let unions = self.definitions.names().filter(|union| !union.ends_with("Result") && *union != name);
        let own = self.union(name);
        let has = |all: Vec<&str>| match &own {
            Some(own) => own.len() < all.len() && own.iter().all(|part| all.contains(part)),
            None => all.contains(&name),
        };
        above.extend(unions.filter(|union| self.union(union).is_some_and(has)));
        let known: BTreeSet<_> = self.definitions.names().collect();
        above.retain(|base| known.contains(base));
        above.dedup();
        above
    }

    /// Whether a definition has the members of another one, in all revisions that have both.
    fn has_members_of(&self, name: &str, base: &str) -> bool {
        let revisions = self.definitions.revisions_of(base);
        let mut both = revisions.iter().filter_map(|revision| {
            Some((self.definitions.get(name, revision)?, self.definitions.get(base, revision)?))
        });
        let includes = |(own, base): (&Value, &Value)| {
            let base = base["properties"].as_object();
            base.is_some_and(|base| base.keys().all(|member| own["properties"].get(member).is_some()))
        };
        let mut found = false;
        both.all(|pair| {
            found = true;
            includes(pair)
        }) && found
    }

    /// The definition of the params of a message, if it has one of its own.
    pub(crate) fn params(&self, method: &Method) -> Option<&'a str> {
        let message = self.definitions.newest(&method.name)?;
        let params = referred(&message["properties"]["params"])?;
        (self.is_part(params) || self.union(params).is_some()).then_some(params)
    }

    /// The code of an error, or of the error in an answer, that a definition describes.
    pub(crate) fn error(&self, name: &str) -> Option<i64> {
        let newest = self.definitions.newest(name)?;
        let own = newest["properties"]["code"]["const"].as_i64();
        let all = newest["properties"]["error"]["allOf"].as_array();
        let mut of_answer =
            all.into_iter().flatten().filter_map(|part| part["properties"]["code"]["const"].as_i64());
        own.or_else(|| of_answer.next())
    }

    /// Whether a definition is of requests that have no method in common.
    pub(crate) fn is_request(&self, name: &str) -> bool {
        self.definitions.newest(name).is_some_and(|newest| newest["properties"]["method"].is_object())
    }

    /// Whether a definition is of an error, and not of an answer that has one.
    pub(crate) fn is_error(&self, name: &str) -> bool {
        self.definitions.newest(name).is_some_and(|newest| newest["properties"]["code"].is_object())
    }

    pub(crate) fn members(&self, name: &str) -> BTreeMap<&'a str, &'a Value> {
        let own = self.definitions.newest(name).and_then(|newest| newest["properties"].as_object());
        let own = own.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema));
        self.joined(name).flat_map(|above| self.members(above)).chain(own).collect()
    }

    /// Where each member is, by its IRI.
    pub(crate) fn places(&self) -> BTreeMap<String, Place> {
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

pub(crate) const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
pub(crate) const RDF_JSON: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON";
