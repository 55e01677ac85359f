//! What the ontologies and shapes say, in rows.

use std::collections::BTreeMap;

use oxrdf::{NamedOrBlankNode, Term, Triple};
use oxttl::TurtleParser;

use crate::blocks::annotate::Prefixes;

const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";
const SCHEMA: &str = "https://schema.org/";
const OWL: &str = "http://www.w3.org/2002/07/owl#";
const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const SHACL: &str = "http://www.w3.org/ns/shacl#";

/// A property that leads from a class to others.
pub(super) struct Link {
    pub(super) from: String,
    pub(super) property: String,
    pub(super) to: Vec<String>,
}

/// An ontology of ours.
pub(super) struct Vocabulary {
    triples: Vec<Triple>,
    prefixes: Prefixes,
}

fn read(turtle: &str) -> Vec<Triple> {
    TurtleParser::new().for_slice(turtle.as_bytes()).filter_map(Result::ok).collect()
}

impl Vocabulary {
    pub(super) fn read(turtle: &str, prefixes: &Prefixes) -> Self {
        let mut prefixes = prefixes.clone();
        for (short, iri) in [
            ("lspx", "urn:sabir:ontology:lsp#"),
            ("a2ax", "urn:sabir:ontology:a2a#"),
            ("prov", "http://www.w3.org/ns/prov#"),
            ("xsd", "http://www.w3.org/2001/XMLSchema#"),
            ("rdf", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"),
        ] {
            prefixes.0.push((short.to_owned(), iri.to_owned()));
        }
        Vocabulary { triples: read(turtle), prefixes }
    }

    pub(super) fn classes(&self) -> Vec<Vec<String>> {
        let row =
            |name: &String| vec![code(&self.short(name)), self.above(name).join(", "), self.comment(name)];
        self.of(&["Class"]).iter().map(row).collect()
    }

    pub(super) fn properties(&self) -> Vec<Vec<String>> {
        let row = |name: &String| {
            let about = |property| {
                let classes = self.classes_at(name, property);
                classes.iter().map(|class| code(class)).collect::<Vec<_>>().join(" or ")
            };
            vec![code(&self.short(name)), about("domain"), about("range"), self.comment(name)]
        };
        let kinds = ["ObjectProperty", "DatatypeProperty", "AnnotationProperty", "Property"];
        self.of(&kinds).iter().map(row).collect()
    }

    pub(super) fn individuals(&self) -> Vec<Vec<String>> {
        let row = |name: &String| {
            let classes =
                self.objects(name, RDF_TYPE).filter_map(named).filter(|class| !class.starts_with(OWL));
            let classes: Vec<_> = classes.map(|class| code(&self.short(class))).collect();
            vec![code(&self.short(name)), classes.join(", "), self.comment(name)]
        };
        self.of(&["NamedIndividual"]).iter().map(row).collect()
    }

    /// Each class, and the first one above it that is in the tree too.
    pub(super) fn tree(&self) -> Vec<(String, Option<String>)> {
        let mut tree = BTreeMap::new();
        for name in self.of(&["Class"]) {
            let above = self.objects(&name, &[RDFS, "subClassOf"].concat()).filter_map(named).next();
            let above = above.map(|above| self.short(above));
            if let Some(above) = &above {
                tree.entry(above.clone()).or_insert(None);
            }
            let own = tree.entry(self.short(&name)).or_default();
            *own = own.take().or(above);
        }
        tree.into_iter().collect()
    }

    /// The properties between classes, and what the messages of a class have as their params and results.
    pub(super) fn links(&self) -> Vec<Link> {
        let is_class = |name: &String| !name.starts_with("xsd:") && !name.starts_with("rdf:");
        let mut links = Vec::new();
        for name in self.of(&["ObjectProperty", "Property"]) {
            let to: Vec<_> = self.classes_at(&name, "range").into_iter().filter(is_class).collect();
            if !to.is_empty() {
                let link = |from| Link { from, property: self.short(&name), to: to.clone() };
                links.extend(self.classes_at(&name, "domain").into_iter().map(link));
            }
        }
        for class in self.of(&["Class"]) {
            for (annotation, property) in [("params", "rpcx:params"), ("result", "rpcx:result")] {
                let iri = format!("urn:sabir:ontology:mcp#{annotation}Class");
                let to: Vec<_> =
                    self.objects(&class, &iri).filter_map(named).map(|to| self.short(to)).collect();
                if !to.is_empty() {
                    links.push(Link { from: self.short(&class), property: property.to_owned(), to });
                }
            }
        }
        links.sort_by(|a, b| (&a.from, &a.property).cmp(&(&b.from, &b.property)));
        links
    }

    /// The names of a kind, in order.
    fn of(&self, kinds: &[&str]) -> Vec<String> {
        let is_kind = |class: &str| kinds.iter().any(|kind| class.ends_with(&format!("#{kind}")));
        let found = self.triples.iter().filter(|t| t.predicate.as_str() == RDF_TYPE);
        let found = found.filter(|t| named(&t.object).is_some_and(is_kind));
        let mut names: Vec<_> = found
            .filter_map(|t| match &t.subject {
                NamedOrBlankNode::NamedNode(name) => Some(name.as_str().to_owned()),
                NamedOrBlankNode::BlankNode(_) => None,
            })
            .collect();
        names.sort_by_key(|name| self.short(name));
        names.dedup();
        names
    }

    fn above(&self, name: &str) -> Vec<String> {
        self.objects(name, &[RDFS, "subClassOf"].concat())
            .filter_map(named)
            .map(|class| code(&self.short(class)))
            .collect()
    }

    /// The class at a property, or those of a union, or those that it includes.
    fn classes_at(&self, name: &str, property: &str) -> Vec<String> {
        let mut found = Vec::new();
        let included = [SCHEMA, property, "Includes"].concat();
        for object in self.objects(name, &[RDFS, property].concat()).chain(self.objects(name, &included)) {
            match object {
                Term::NamedNode(class) => found.push(self.short(class.as_str())),
                Term::BlankNode(_) => found.extend(self.listed(object)),
                _ => {}
            }
        }
        found
    }

    fn listed(&self, union: &Term) -> Vec<String> {
        let at = |node: &Term, property: &str| {
            let found = self
                .triples
                .iter()
                .find(|t| Term::from(t.subject.clone()) == *node && t.predicate.as_str().ends_with(property));
            found.map(|triple| triple.object.clone())
        };
        let mut found = Vec::new();
        let mut next = at(union, "#unionOf");
        while let Some(node) = next {
            found.extend(at(&node, "#first").as_ref().and_then(named).map(|class| self.short(class)));
            next = at(&node, "#rest");
        }
        found
    }

    fn comment(&self, name: &str) -> String {
        let literal = |term: &Term| match term {
            Term::Literal(literal) => Some(literal.value().to_owned()),
            _ => None,
        };
        self.objects(name, &[RDFS, "comment"].concat()).find_map(literal).unwrap_or_default()
    }

    fn objects<'v>(&'v self, name: &'v str, property: &str) -> impl Iterator<Item = &'v Term> + use<'v> {
        let property = property.to_owned();
        self.triples
            .iter()
            .filter(move |t| matches!(&t.subject, NamedOrBlankNode::NamedNode(node) if node.as_str() == name))
            .filter(move |t| t.predicate.as_str() == property)
            .map(|t| &t.object)
    }

    fn short(&self, iri: &str) -> String {
        self.prefixes.compact(iri).unwrap_or_else(|| iri.to_owned())
    }
}

/// Each shape, and what it says when something does not hold.
pub(super) fn shapes(turtle: &str) -> Vec<Vec<String>> {
    let triples = read(turtle);
    let mut rows = Vec::new();
    let mut shape = String::new();
    for triple in &triples {
        if let NamedOrBlankNode::NamedNode(name) = &triple.subject {
            name.as_str().rsplit('#').next().unwrap_or_default().clone_into(&mut shape);
        }
        if let (Term::Literal(message), true) =
            (&triple.object, triple.predicate.as_str() == [SHACL, "message"].concat())
        {
            rows.push(vec![code(&shape), message.value().to_owned()]);
        }
    }
    rows
}

fn named(term: &Term) -> Option<&str> {
    match term {
        Term::NamedNode(node) => Some(node.as_str()),
        _ => None,
    }
}

fn code(name: &str) -> String {
    format!("`{name}`")
}
