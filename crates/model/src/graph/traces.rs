//! Which request was made in the course of which other: across sessions, by the trace that both belong to.

use std::collections::HashMap;

use sabir_proto::{RawJson, TraceContext};

use crate::capture::Direction;
use crate::graph::calls::{Chain, Name};

/// Requests in flight of one trace that are looked at.
const LOOK_BACK: usize = 256;

/// Trace and span, as `traceparent` spells them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) trace: String,
    pub(crate) span: String,
}

impl Span {
    /// From `params._meta`, if there is a valid `traceparent` in it.
    pub(crate) fn from_meta(meta: &RawJson<'_>) -> Option<Span> {
        let parent = TraceContext::from_meta(meta)?.traceparent;
        let mut parts = parent.split('-');
        let mut hex = |len: usize| {
            let part = parts.next()?;
            (part.len() == len && part.bytes().all(|b| b.is_ascii_hexdigit()))
                .then(|| part.to_ascii_lowercase())
        };
        hex(2)?;
        Some(Span { trace: hex(32)?, span: hex(16)? })
    }
}

/// The requests in flight, by trace, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    working: HashMap<String, Vec<Working>>,
}

#[derive(Debug)]
struct Working {
    name: Name,
    chain: Chain,
    session: (usize, u64),
    asked: Option<Direction>,
}

impl Traces {
    /// A request comes; returns the innermost one of its trace that its sender may be working on. In the same
    /// session that is one that the other side sent.
    pub(crate) fn request(
        &mut self,
        trace: &str,
        name: Name,
        session: (usize, u64),
        asked: Option<Direction>,
    ) -> Option<(Name, Chain)> {
        let working = self.working.entry(trace.to_owned()).or_default();
        let outer = working
            .iter()
            .rev()
            .find(|outer| outer.session != session || (outer.asked.is_some() && outer.asked != asked))
            .map(|outer| (outer.name, outer.chain));
        if working.len() == LOOK_BACK {
            working.remove(0);
        }
        let chain = outer.map_or_else(|| Chain::of(name), |(_, chain)| chain.within());
        working.push(Working { name, chain, session, asked });
        outer
    }

    pub(crate) fn answer(&mut self, trace: &str, name: Name) {
        if let Some(working) = self.working.get_mut(trace) {
            working.retain(|request| request.name != name);
            if working.is_empty() {
                self.working.remove(trace);
            }
        }
    }
}
