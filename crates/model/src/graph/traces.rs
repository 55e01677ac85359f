//! Which request was made in the course of which other: across sessions, by the trace that both belong to.

use std::collections::HashMap;

use sabir_proto::{RawJson, TraceContext};

use crate::capture::Direction;
use crate::graph::calls::{Chain, Name};

/// Requests in flight of one trace that are looked at.
const LOOK_BACK: usize = 256;

/// Requests in flight of all traces that are kept. Of more, the traces that were seen longest ago are forgotten: who calls
/// on in the course of theirs is then not found.
const MOST: usize = 16_384;

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
    working: HashMap<String, Trace>,
    /// How many requests are in flight in all of them.
    count: usize,
    /// How many requests came.
    came: u64,
}

#[derive(Debug, Default)]
struct Trace {
    working: Vec<Working>,
    /// Which request was its newest.
    newest: u64,
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
        if self.count >= MOST {
            self.forget_older_half();
        }
        self.came += 1;
        let Trace { working, newest } = self.working.entry(trace.to_owned()).or_default();
        *newest = self.came;
        let outer = working
            .iter()
            .rev()
            .find(|outer| outer.session != session || (outer.asked.is_some() && outer.asked != asked))
            .map(|outer| (outer.name, outer.chain));
        if working.len() == LOOK_BACK {
            working.remove(0);
            self.count -= 1;
        }
        let chain = outer.map_or_else(|| Chain::of(name), |(_, chain)| chain.within());
        working.push(Working { name, chain, session, asked });
        self.count += 1;
        outer
    }

    pub(crate) fn answer(&mut self, trace: &str, name: Name) {
        if let Some(Trace { working, .. }) = self.working.get_mut(trace) {
            let before = working.len();
            working.retain(|request| request.name != name);
            self.count -= before - working.len();
            if working.is_empty() {
                self.working.remove(trace);
            }
        }
    }

    fn forget_older_half(&mut self) {
        let mut newest: Vec<_> = self.working.values().map(|trace| trace.newest).collect();
        let half = newest.len() / 2;
        let (_, middle, _) = newest.select_nth_unstable(half);
        let middle = *middle;
        self.working.retain(|_, trace| trace.newest > middle);
        self.count = self.working.values().map(|trace| trace.working.len()).sum();
    }
}
