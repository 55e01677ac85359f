//! A graph as the query engine sees it.

use std::convert::Infallible;
use std::rc::Rc;

use oxrdf::Term as Rdf;
use spareval::{InternalQuad, QueryableDataset};

use crate::graph::store::{Graph, Order};

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

/// The facts of a graph.
pub(crate) struct Facts<'g>(pub(crate) &'g Graph);

/// Facts that fit a pattern.
struct Matches<'g> {
    order: &'g Order,
    /// The term that the pairs follow.
    first: u32,
    pairs: std::slice::Iter<'g, [u32; 2]>,
    /// Terms up to here come next.
    end: u32,
    /// How far the order is turned from subject, property, object.
    turn: usize,
}

impl Iterator for Matches<'_> {
    type Item = Result<InternalQuad<Known>, Infallible>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some([second, third]) = self.pairs.next() {
                let mut fact = [self.first, *second, *third];
                fact.rotate_right(self.turn);
                let [subject, predicate, object] = fact.map(Known::Number);
                return Some(Ok(InternalQuad { subject, predicate, object, graph_name: None }));
            }
            self.first = self.first.checked_add(1).filter(|next| *next < self.end)?;
            self.pairs = self.order.pairs(self.first, None, None).iter();
        }
    }
}

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
        let graph_of_facts = self.0;
        let [s, p, o] = [subject, property, object].map(|term| term.map(Known::number));
        let (order, first, second, third, turn) = match (s, p, o) {
            (Some(s), None, Some(o)) => (&graph_of_facts.by_object, Some(o), Some(s), None, 2),
            (Some(s), p, o) => (&graph_of_facts.by_subject, Some(s), p, o, 0),
            (None, Some(p), o) => (&graph_of_facts.by_property, Some(p), o, None, 1),
            (None, None, Some(o)) => (&graph_of_facts.by_object, Some(o), None, None, 2),
            (None, None, None) => (&graph_of_facts.by_subject, None, None, None, 0),
        };
        // There is only the one graph.
        let is_there = matches!(graph, Some(None));
        let (pairs, end): (&'g [[u32; 2]], u32) = match first {
            _ if !is_there => (&[], 0),
            Some(first) => (order.pairs(first, second, third), 0),
            None => (order.pairs(0, None, None), order.terms()),
        };
        Matches { order, first: first.unwrap_or(0), pairs: pairs.iter(), end, turn }
    }

    fn internalize_term(&self, term: Rdf) -> Result<Known, Infallible> {
        let found = self.0.terms.find(term.as_ref());
        Ok(found.map_or_else(|| Known::Other(Rc::new(term)), Known::Number))
    }

    fn externalize_term(&self, term: Known) -> Result<Rdf, Infallible> {
        Ok(match term {
            Known::Number(number) => self.0.terms.get(number),
            Known::Other(term) => Rc::unwrap_or_clone(term),
        })
    }
}
