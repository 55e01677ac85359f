//! A graph in memory, for queries: terms are numbers, and facts are in three orders, so that whatever part of a pattern is
//! known, what fits it is one slice.
//!
//! A graph is filled once and then only read, which is why this is a tenth of what a general store needs. The texts of all
//! terms are in one string, and an order has two numbers for each fact: the third is where the fact stands.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use oxrdf::{Literal, NamedNode, Term as Rdf, TermRef};

use crate::graph::canonical::canonical;
use crate::graph::node::{Node, Value};
use crate::graph::terms::{BOOLEAN, DATE_TIME, DECIMAL, DOUBLE, INTEGER, JSON, TERMS, TYPE, Term};

/// Facts that are allocated at a time: a vector that doubles would take half as much again.
const CHUNK: usize = 1 << 18;

/// Datatypes of literals, by the number that their terms have as a kind.
const DATATYPES: [Term; 6] = [INTEGER, DECIMAL, DATE_TIME, BOOLEAN, DOUBLE, JSON];

/// What the text of a term is: a name behind the base, an IRI, a string, or a literal of one of [`DATATYPES`].
type Kind = u8;
const NAME: Kind = 0;
const IRI: Kind = 1;
const STRING: Kind = 2;
const TYPED: Kind = 3;

/// Takes nodes in; [`build`](Self::build) makes the graph that can be queried.
#[derive(Debug)]
pub struct GraphBuilder {
    /// Those of the vocabulary come first: the number of each is its place among them.
    terms: Terms,
    facts: Vec<Vec<[u32; 3]>>,
    text: String,
}

/// What a capture tells, ready for queries.
#[derive(Debug)]
pub struct Graph {
    pub(crate) terms: Terms,
    /// Subject: property and object; and the same in the two other orders.
    pub(crate) by_subject: Order,
    pub(crate) by_property: Order,
    pub(crate) by_object: Order,
}

/// Every term once.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    base: String,
    texts: String,
    /// Where each text ends.
    ends: Vec<u64>,
    kinds: Vec<Kind>,
    /// Finds a term's number by the term.
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Facts in an order: for each term that comes first, the pairs that follow it.
#[derive(Debug, Default)]
pub(crate) struct Order {
    /// Where the pairs of each term begin, and the end.
    starts: Vec<u32>,
    pairs: Vec<[u32; 2]>,
}

impl GraphBuilder {
    /// Names become IRIs behind `base`.
    pub fn new(base: &str) -> Self {
        let mut terms = Terms { base: base.to_owned(), ..Terms::default() };
        for term in TERMS {
            terms.iri(&[term.prefix.iri(), term.local].concat());
        }
        GraphBuilder { terms, facts: Vec::new(), text: String::new() }
    }

    /// Takes all that is said of a node.
    pub fn add(&mut self, node: &Node<'_>) {
        let subject = self.terms.number(NAME, &node.name);
        for (property, value) in &node.facts {
            let property = u32::from(property.index);
            let object = match value {
                Value::Term(term) => u32::from(term.index),
                Value::Class(prefix, local) => self.terms.iri(&[prefix.iri(), *local].concat()),
                Value::Node(name) => self.terms.number(NAME, name),
                Value::Text(text) => self.terms.number(STRING, text),
                Value::Typed(text, datatype) => self.terms.number(kind_of(*datatype), text),
                Value::Json(json) => {
                    self.text.clear();
                    canonical(json, &mut self.text);
                    self.terms.number(kind_of(JSON), &self.text)
                }
            };
            match self.facts.last_mut().filter(|chunk| chunk.len() < CHUNK) {
                Some(chunk) => chunk.push([subject, property, object]),
                None => {
                    let mut chunk = Vec::with_capacity(CHUNK);
                    chunk.push([subject, property, object]);
                    self.facts.push(chunk);
                }
            }
        }
    }

    /// The graph of all that was added.
    pub fn build(self) -> Graph {
        let GraphBuilder { mut terms, facts, .. } = self;
        terms.texts.shrink_to_fit();
        let count = terms.kinds.len();
        let mut by_subject = Order::of(count, || facts.iter().flatten().copied());
        by_subject.dedup();
        drop(facts);
        // Properties are of the vocabulary.
        let by_property = Order::of(TERMS.len(), || by_subject.facts().map(|[s, p, o]| [p, o, s]));
        let by_object = Order::of(count, || by_subject.facts().map(|[s, p, o]| [o, s, p]));
        Graph { terms, by_subject, by_property, by_object }
    }
}

fn kind_of(datatype: Term) -> Kind {
    DATATYPES.iter().position(|known| *known == datatype).map_or(STRING, |at| TYPED + at as Kind)
}

impl Terms {
    /// What names have before them.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// The text of a term: of a name without the base.
    pub(crate) fn text(&self, number: u32) -> &str {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.texts[start as usize..self.ends[at] as usize]
    }

    /// The number of a term, which is a new one if the term is.
    fn number(&mut self, kind: Kind, text: &str) -> u32 {
        let hash = self.hasher.hash_one((kind, text));
        if let Some(number) = self.lookup(hash, kind, text) {
            return number;
        }
        let number = self.kinds.len() as u32;
        self.texts.push_str(text);
        self.ends.push(self.texts.len() as u64);
        self.kinds.push(kind);
        let mut numbers = std::mem::take(&mut self.numbers);
        numbers.insert_unique(hash, number, |&number| {
            self.hasher.hash_one((self.kinds[number as usize], self.text(number)))
        });
        self.numbers = numbers;
        number
    }

    fn lookup(&self, hash: u64, kind: Kind, text: &str) -> Option<u32> {
        let same = |&number: &u32| self.kinds[number as usize] == kind && self.text(number) == text;
        self.numbers.find(hash, same).copied()
    }

    fn iri(&mut self, iri: &str) -> u32 {
        let base = std::mem::take(&mut self.base);
        let number = match iri.strip_prefix(base.as_str()) {
            Some(name) => self.number(NAME, name),
            None => self.number(IRI, iri),
        };
        self.base = base;
        number
    }

    pub(crate) fn find(&self, term: TermRef<'_>) -> Option<u32> {
        let (kind, text) = match term {
            TermRef::NamedNode(node) => match node.as_str().strip_prefix(self.base.as_str()) {
                Some(name) => (NAME, name),
                None => (IRI, node.as_str()),
            },
            TermRef::Literal(literal) if literal.language().is_none() => {
                let datatype = literal.datatype().as_str();
                let is = |term: &Term| {
                    datatype.strip_prefix(term.prefix.iri()).is_some_and(|local| local == term.local)
                };
                match DATATYPES.iter().position(is) {
                    Some(at) => (TYPED + at as Kind, literal.value()),
                    None if datatype.ends_with("XMLSchema#string") => (STRING, literal.value()),
                    None => return None,
                }
            }
            _ => return None,
        };
        self.lookup(self.hasher.hash_one((kind, text)), kind, text)
    }

    pub(crate) fn get(&self, number: u32) -> Rdf {
        let text = self.text(number);
        match self.kinds[number as usize] {
            NAME => NamedNode::new_unchecked([self.base.as_str(), text].concat()).into(),
            IRI => NamedNode::new_unchecked(text).into(),
            STRING => Literal::new_simple_literal(text).into(),
            kind => {
                let datatype = DATATYPES[usize::from(kind - TYPED)];
                let iri = [datatype.prefix.iri(), datatype.local].concat();
                Literal::new_typed_literal(text, NamedNode::new_unchecked(iri)).into()
            }
        }
    }
}

impl Graph {
    /// How many facts there are.
    pub fn len(&self) -> usize {
        self.by_subject.pairs.len()
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.by_subject.pairs.is_empty()
    }

    /// What a property of the vocabulary leads to: the first, if it is several things.
    pub(crate) fn object(&self, subject: u32, property: Term) -> Option<u32> {
        let pairs = self.by_subject.pairs(subject, Some(u32::from(property.index)), None);
        pairs.first().map(|[_, object]| *object)
    }

    /// The same as text.
    pub(crate) fn text_of(&self, subject: u32, property: Term) -> Option<&str> {
        self.object(subject, property).map(|object| self.terms.text(object))
    }

    /// From where a property leads to this.
    pub(crate) fn subjects(&self, property: Term, object: u32) -> impl Iterator<Item = u32> {
        self.by_property.pairs(u32::from(property.index), Some(object), None).iter().map(|[_, s]| *s)
    }

    /// All that are of a class of the vocabulary.
    pub(crate) fn all(&self, class: Term) -> impl Iterator<Item = u32> {
        self.subjects(TYPE, u32::from(class.index))
    }

    /// Both ends of a property of the vocabulary, wherever it is.
    pub(crate) fn ends(&self, property: Term) -> impl Iterator<Item = [u32; 2]> {
        let pairs = self.by_property.pairs(u32::from(property.index), None, None);
        pairs.iter().map(|[object, subject]| [*subject, *object])
    }

    pub(crate) fn is(&self, subject: u32, property: Term, object: Term) -> bool {
        let [property, object] = [property, object].map(|term| u32::from(term.index));
        !self.by_subject.pairs(subject, Some(property), Some(object)).is_empty()
    }
}

impl Order {
    /// Puts facts in order. They are gone through twice.
    fn of<F: Iterator<Item = [u32; 3]>>(terms: usize, facts: impl Fn() -> F) -> Order {
        let mut starts = vec![0_u32; terms + 1];
        for [first, ..] in facts() {
            starts[first as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut pairs = vec![[0; 2]; starts.last().map_or(0, |end| *end as usize)];
        // Where a term's next pair goes; when all are there, that is where the next term's begin.
        for [first, second, third] in facts() {
            let at = &mut starts[first as usize];
            pairs[*at as usize] = [second, third];
            *at += 1;
        }
        starts.copy_within(..terms, 1);
        starts[0] = 0;
        for window in starts.windows(2) {
            pairs[window[0] as usize..window[1] as usize].sort_unstable();
        }
        Order { starts, pairs }
    }

    /// Drops what was said twice.
    fn dedup(&mut self) {
        let mut kept = 0;
        let mut from = 0;
        for at in 1..self.starts.len() {
            let (start, end) = (kept, self.starts[at] as usize);
            for i in from..end {
                if kept == start || self.pairs[kept - 1] != self.pairs[i] {
                    self.pairs[kept] = self.pairs[i];
                    kept += 1;
                }
            }
            from = end;
            self.starts[at] = kept as u32;
        }
        self.pairs.truncate(kept);
    }

    fn facts(&self) -> impl Iterator<Item = [u32; 3]> {
        self.starts.windows(2).enumerate().flat_map(move |(first, window)| {
            let pairs = &self.pairs[window[0] as usize..window[1] as usize];
            pairs.iter().map(move |[second, third]| [first as u32, *second, *third])
        })
    }

    /// How many terms there are.
    pub(crate) fn terms(&self) -> u32 {
        self.starts.len().saturating_sub(1) as u32
    }

    /// The pairs that follow a term, as far as they begin with what is known.
    pub(crate) fn pairs(&self, first: u32, second: Option<u32>, third: Option<u32>) -> &[[u32; 2]] {
        if first >= self.terms() {
            return &[];
        }
        let at = first as usize;
        let pairs = &self.pairs[self.starts[at] as usize..self.starts[at + 1] as usize];
        let Some(second) = second else { return pairs };
        let (low, high) = ([second, third.unwrap_or(0)], [second, third.unwrap_or(u32::MAX)]);
        let start = pairs.partition_point(|pair| *pair < low);
        let end = start + pairs[start..].partition_point(|pair| *pair <= high);
        &pairs[start..end]
    }
}
