//! A graph in memory, for queries: terms are numbers, and facts are sorted in three orders, so that whatever part
//! of a pattern is known, what fits it is one slice.
//!
//! A graph is filled once and then only read, which is why this is a tenth of what a general store needs.

use std::convert::Infallible;
use std::hash::BuildHasher;
use std::rc::Rc;

use hashbrown::{DefaultHashBuilder, HashTable};
use oxrdf::{LiteralRef, NamedNodeRef, Term as Rdf, TermRef};
use spareval::{InternalQuad, QueryableDataset};

use crate::graph::canonical::canonical;
use crate::graph::node::{Node, Value};
use crate::graph::terms::{JSON, Term};

/// Takes nodes in; [`build`](Self::build) makes the graph that can be queried.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    base: String,
    terms: Vec<Rdf>,
    /// Finds a term's number by the term.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
    facts: Vec<[u32; 3]>,
    text: String,
}

/// What a capture tells, ready for queries.
#[derive(Debug)]
pub struct Graph {
    builder: GraphBuilder,
    /// Subject, property, object; and the same in the two other orders.
    by_subject: Vec<[u32; 3]>,
    by_property: Vec<[u32; 3]>,
    by_object: Vec<[u32; 3]>,
}

impl GraphBuilder {
    /// Names become IRIs behind `base`.
    pub fn new(base: &str) -> Self {
        GraphBuilder { base: base.to_owned(), ..GraphBuilder::default() }
    }

    /// Takes all that is said of a node.
    pub fn add(&mut self, node: &Node<'_>) {
        let subject = self.name(&node.name);
        for (property, value) in &node.facts {
            let property = self.term(*property);
            let object = match value {
                Value::Term(term) => self.term(*term),
                Value::Node(name) => self.name(name),
                Value::Text(text) => self.number(LiteralRef::new_simple_literal(text).into()),
                Value::Typed(text, datatype) => self.typed(text, *datatype),
                Value::Json(json) => {
                    let mut text = std::mem::take(&mut self.text);
                    text.clear();
                    canonical(json, &mut text);
                    let number = self.typed(&text, JSON);
                    self.text = text;
                    number
                }
            };
            self.facts.push([subject, property, object]);
        }
    }

    /// The graph of all that was added.
    pub fn build(mut self) -> Graph {
        let mut by_subject = std::mem::take(&mut self.facts);
        by_subject.sort_unstable();
        by_subject.dedup();
        let sorted = |order: fn([u32; 3]) -> [u32; 3]| {
            let mut facts: Vec<_> = by_subject.iter().map(|fact| order(*fact)).collect();
            facts.sort_unstable();
            facts
        };
        let by_property = sorted(|[s, p, o]| [p, o, s]);
        let by_object = sorted(|[s, p, o]| [o, s, p]);
        Graph { builder: self, by_subject, by_property, by_object }
    }

    fn name(&mut self, name: &str) -> u32 {
        let mut iri = std::mem::take(&mut self.text);
        iri.clear();
        iri.extend([&self.base, name]);
        let number = self.number(NamedNodeRef::new_unchecked(&iri).into());
        self.text = iri;
        number
    }

    fn term(&mut self, term: Term) -> u32 {
        let mut iri = std::mem::take(&mut self.text);
        iri.clear();
        iri.extend([term.prefix.iri(), term.local]);
        let number = self.number(NamedNodeRef::new_unchecked(&iri).into());
        self.text = iri;
        number
    }

    fn typed(&mut self, text: &str, datatype: Term) -> u32 {
        let datatype = [datatype.prefix.iri(), datatype.local].concat();
        self.number(LiteralRef::new_typed_literal(text, NamedNodeRef::new_unchecked(&datatype)).into())
    }

    /// The number of a term, which is a new one if the term is.
    fn number(&mut self, term: TermRef<'_>) -> u32 {
        let hash = self.hasher.hash_one(term);
        let terms = &self.terms;
        if let Some(number) = self.numbers.find(hash, |&number| terms[number as usize].as_ref() == term) {
            return *number;
        }
        let number = self.terms.len() as u32;
        self.terms.push(term.into_owned());
        let (terms, hasher) = (&self.terms, &self.hasher);
        self.numbers.insert_unique(hash, number, |&number| hasher.hash_one(terms[number as usize].as_ref()));
        number
    }
}

impl Graph {
    /// How many facts there are.
    pub fn len(&self) -> usize {
        self.by_subject.len()
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.by_subject.is_empty()
    }

    fn find(&self, term: TermRef<'_>) -> Option<u32> {
        let GraphBuilder { terms, numbers, hasher, .. } = &self.builder;
        numbers.find(hasher.hash_one(term), |&number| terms[number as usize].as_ref() == term).copied()
    }
}

/// A term in the course of a query: one of the graph's, or one that the query came up with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Known {
    Number(u32),
    Other(Rc<Rdf>),
}

impl Known {
    /// Terms that are not in the graph are in no fact.
    fn number(&self) -> u32 {
        match self {
            Known::Number(number) => *number,
            Known::Other(_) => u32::MAX,
        }
    }
}

/// A graph as the query engine sees it.
pub(crate) struct Facts<'g>(pub(crate) &'g Graph);

impl<'g> QueryableDataset<'g> for Facts<'g> {
    type InternalTerm = Known;
    type Error = Infallible;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&Known>,
        property: Option<&Known>,
        object: Option<&Known>,
        graph: Option<Option<&Known>>,
    ) -> impl Iterator<Item = Result<InternalQuad<Known>, Infallible>> + use<'g> {
        let [s, p, o] = [subject, property, object].map(|term| term.map(Known::number));
        // `turn` is how far the order is turned from subject, property, object.
        let (facts, known, turn) = match (s, p, o) {
            (Some(s), None, Some(o)) => (&self.0.by_object, [Some(o), Some(s), None], 2),
            (Some(_), _, _) | (None, None, None) => (&self.0.by_subject, [s, p, o], 0),
            (None, Some(_), _) => (&self.0.by_property, [p, o, None], 1),
            (None, None, Some(_)) => (&self.0.by_object, [o, None, None], 2),
        };
        let facts = match graph {
            Some(None) => fitting(facts, known),
            // There is only the one graph.
            _ => &[],
        };
        facts.iter().map(move |fact| {
            let mut fact = *fact;
            fact.rotate_right(turn);
            let [subject, predicate, object] = fact.map(Known::Number);
            Ok(InternalQuad { subject, predicate, object, graph_name: None })
        })
    }

    fn internalize_term(&self, term: Rdf) -> Result<Known, Infallible> {
        Ok(self.0.find(term.as_ref()).map_or_else(|| Known::Other(Rc::new(term)), Known::Number))
    }

    fn externalize_term(&self, term: Known) -> Result<Rdf, Infallible> {
        Ok(match term {
            Known::Number(number) => self.0.builder.terms[number as usize].clone(),
            Known::Other(term) => Rc::unwrap_or_clone(term),
        })
    }
}

/// The facts that begin with what is known; nothing known follows on something unknown.
fn fitting(facts: &[[u32; 3]], known: [Option<u32>; 3]) -> &[[u32; 3]] {
    let low = known.map(|number| number.unwrap_or(0));
    let high = known.map(|number| number.unwrap_or(u32::MAX));
    let start = facts.partition_point(|fact| *fact < low);
    let end = facts.partition_point(|fact| *fact <= high);
    &facts[start..end]
}
