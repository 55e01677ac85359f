//! What a graph is made of: nodes, each with all that is said of it at once.

use std::borrow::Cow;

use sabir_proto::RawJson;

use crate::graph::terms::{DECIMAL, INTEGER, Prefix, TYPE, Term};

/// One thing, and what is said of it.
#[derive(Debug, Clone)]
pub struct Node<'a> {
    /// The session that it belongs to: the name of the graph, in syntaxes that have such names.
    pub(crate) session: Cow<'a, str>,
    /// Its own name within the capture: letters, digits, `-`, `.`, `_` and escapes such as `%22`.
    pub(crate) name: Cow<'a, str>,
    pub(crate) facts: Vec<(Term, Value<'a>)>,
}

/// The object of a fact.
#[derive(Debug, Clone)]
pub(crate) enum Value<'a> {
    /// A class or an individual of the vocabulary.
    Term(Term),
    /// A class of an error, by its prefix and its name: an ontology has it, and not the vocabulary.
    Class(Prefix, &'static str),
    /// The name of another node of the capture.
    Node(Cow<'a, str>),
    Text(Cow<'a, str>),
    /// A literal that is not a plain string.
    Typed(Cow<'a, str>, Term),
    Json(RawJson<'a>),
}

impl<'a> Node<'a> {
    pub(crate) fn new(session: &'a str, name: impl Into<Cow<'a, str>>, class: Term) -> Self {
        let mut facts = Vec::with_capacity(12);
        facts.push((TYPE, Value::Term(class)));
        Node { session: Cow::Borrowed(session), name: name.into(), facts }
    }

    /// One of which only facts are told, and no class.
    pub(crate) fn plain(session: &'a str, name: impl Into<Cow<'a, str>>) -> Self {
        Node { session: Cow::Borrowed(session), name: name.into(), facts: Vec::new() }
    }

    /// A part of this one, of which nothing is said yet.
    pub(crate) fn part(&self, name: &str) -> Self {
        let name = Cow::Owned(format!("{}-{name}", self.name));
        Node { session: self.session.clone(), name, facts: Vec::new() }
    }

    /// One more class, before the others: some readers look at the first only.
    pub(crate) fn class(&mut self, class: Term) {
        self.facts.insert(0, (TYPE, Value::Term(class)));
    }

    pub(crate) fn add(&mut self, property: Term, value: Value<'a>) {
        self.facts.push((property, value));
    }

    pub(crate) fn link(&mut self, property: Term, name: &(impl ToString + ?Sized)) {
        self.add(property, Value::Node(Cow::Owned(name.to_string())));
    }

    pub(crate) fn text(&mut self, property: Term, text: impl Into<Cow<'a, str>>) {
        self.add(property, Value::Text(text.into()));
    }

    pub(crate) fn integer(&mut self, property: Term, number: impl ToString + Copy) {
        self.add(property, Value::Typed(Cow::Owned(number.to_string()), INTEGER));
    }

    pub(crate) fn milliseconds(&mut self, property: Term, time: std::time::Duration) {
        self.add(property, Value::Typed(Cow::Owned(milliseconds(time)), DECIMAL));
    }
}

/// With as many decimals as it takes, and at least one.
fn milliseconds(time: std::time::Duration) -> String {
    let nanos = time.as_nanos();
    let text = format!("{}.{:06}", nanos / 1_000_000, nanos % 1_000_000);
    let kept = text.trim_end_matches('0').len();
    let dot = text.len() - 7;
    text[..kept.max(dot + 2)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn milliseconds_are_decimals() {
        for (nanos, want) in
            [(0, "0.0"), (5_000_000, "5.0"), (1_234_567, "1.234567"), (100, "0.0001"), (10_500_000, "10.5")]
        {
            assert_eq!(milliseconds(Duration::from_nanos(nanos)), want);
        }
    }
}
