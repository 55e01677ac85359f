//! The building blocks as they are built, and what others read of them.

use std::collections::{BTreeMap, BTreeSet};

use oxjsonld::JsonLdParser;
use oxrdf::dataset::{CanonicalizationAlgorithm, CanonicalizationHashAlgorithm};
use oxrdf::{Dataset, GraphName, Quad, Triple};
use oxttl::TurtleParser;
use sabir_model::blocks::{BlockFile, build};
use serde_json::Value;

pub(crate) fn built() -> BTreeMap<String, String> {
    build(None).unwrap().into_iter().map(|BlockFile { path, text, .. }| (path, text)).collect()
}

pub(crate) fn canonical(triples: impl Iterator<Item = Triple>) -> BTreeSet<String> {
    let quads = triples.map(|t| Quad::new(t.subject, t.predicate, t.object, GraphName::DefaultGraph));
    let mut graph: Dataset = quads.collect();
    graph.canonicalize(CanonicalizationAlgorithm::Rdfc10 {
        hash_algorithm: CanonicalizationHashAlgorithm::Sha256,
    });
    graph.iter().map(|quad| quad.to_string()).collect()
}

pub(crate) fn turtle(text: &str) -> Vec<Triple> {
    TurtleParser::new().for_slice(text.as_bytes()).map(Result::unwrap).collect()
}

/// What a processor makes of a document that refers to a context.
pub(crate) fn processed(document: &str, context: &str) -> BTreeSet<String> {
    let mut document: Value = serde_json::from_str(document).unwrap();
    if document["@context"].is_string() {
        document["@context"] = serde_json::from_str::<Value>(context).unwrap()["@context"].take();
    }
    let quads = JsonLdParser::new()
        .for_slice(document.to_string().as_bytes())
        .map(Result::unwrap)
        .collect::<Vec<_>>();
    canonical(quads.into_iter().map(Triple::from))
}
