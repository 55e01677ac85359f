//! What an ontology says of classes: which there are, and by which method a message, or by which code an error, is of one.

use std::collections::BTreeMap;

use oxrdf::{NamedOrBlankNode, Term, Triple};
use oxttl::TurtleParser;

const JRPC: &str = "http://json-rpc.org/ontology#";
const OWL: &str = "http://www.w3.org/2002/07/owl#";
const TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

/// Classes by what makes something one of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Classes {
    /// All that have a name, by the last part of it.
    pub(crate) names: BTreeMap<String, String>,
    pub(crate) by_method: BTreeMap<String, String>,
    pub(crate) by_code: BTreeMap<i64, String>,
}

impl Classes {
    /// Those of an ontology that are in one of these namespaces.
    pub(crate) fn read(turtle: &str, namespaces: &[&str]) -> Classes {
        let triples: Vec<Triple> =
            TurtleParser::new().for_slice(turtle.as_bytes()).filter_map(Result::ok).collect();
        let mut classes = Classes::default();
        for triple in &triples {
            let NamedOrBlankNode::NamedNode(class) = &triple.subject else { continue };
            let local = namespaces.iter().find_map(|namespace| class.as_str().strip_prefix(namespace));
            let Some(local) = local else { continue };
            if triple.predicate.as_str() == TYPE && is(&triple.object, OWL, "Class") {
                classes.names.insert(local.to_owned(), class.as_str().to_owned());
            }
            if let Term::BlankNode(restriction) = &triple.object {
                let about = |name: &str| {
                    let found = triples.iter().find(|other| {
                        matches!(&other.subject, NamedOrBlankNode::BlankNode(node) if node == restriction)
                            && other.predicate.as_str().strip_prefix(OWL) == Some(name)
                    });
                    found.map(|other| &other.object)
                };
                let (Some(on), Some(Term::Literal(value))) = (about("onProperty"), about("hasValue")) else {
                    continue;
                };
                let class = class.as_str().to_owned();
                if is(on, JRPC, "hasMethod") {
                    classes.by_method.insert(value.value().to_owned(), class);
                } else if let (true, Ok(code)) = (is(on, JRPC, "hasErrorCode"), value.value().parse()) {
                    classes.by_code.insert(code, class);
                }
            }
        }
        classes
    }

    /// The same with the classes of another ontology. Where both have a class for a code, this one's holds.
    pub(crate) fn and(mut self, other: &Classes) -> Classes {
        for (name, class) in &other.names {
            self.names.entry(name.clone()).or_insert_with(|| class.clone());
        }
        for (code, class) in &other.by_code {
            self.by_code.entry(*code).or_insert_with(|| class.clone());
        }
        self
    }
}

fn is(term: &Term, namespace: &str, local: &str) -> bool {
    matches!(term, Term::NamedNode(node) if node.as_str().strip_prefix(namespace) == Some(local))
}
