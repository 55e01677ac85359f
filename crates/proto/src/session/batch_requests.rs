//! Batches whose requests start straight away, one after the other, without waiting in the queue.

use std::borrow::Cow;

use crate::dialect::Dialect;
use crate::json::raw::RawJson;
use crate::message::decode::Entry;
use crate::message::id::Id;
use crate::message::{Message, Request};
use crate::session::event::Event;
use crate::session::inbound::{Next, in_flight, start};
use crate::session::meta::{Meta, may_have_long_token};
use crate::session::report::Report;
use crate::session::requests::parse_small_id;
use crate::session::{Core, Phase};

/// Batches that are longer than this wait in the queue: they are not bound by the copying, and the queue is
/// bounded in bytes.
const LONGEST: usize = 256 * 1024;

/// Memory that a batch may leave behind for the next.
const KEPT: usize = 64 * 1024;

/// A batch of requests that is being taken in.
#[derive(Debug, Default)]
pub(crate) struct BatchRequests {
    /// The whole batch: the requests lie in it.
    text: String,
    calls: Vec<Call>,
    next: usize,
    /// Where its answers are gathered.
    batch: u32,
}

/// Where a request lies in the text.
#[derive(Debug, Clone, Copy)]
struct Call {
    id: Span,
    method: Span,
    params: Option<Span>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Where `part` lies in `text`, of which it is a piece.
    #[inline]
    fn of(part: &str, text: &str) -> Option<Span> {
        let start = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        let end = start + part.len();
        (end <= text.len()).then_some(Span { start: start as u32, end: end as u32 })
    }

    #[inline]
    fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

impl Call {
    #[inline]
    fn bytes(&self) -> usize {
        self.method.len() + self.params.map_or(0, Span::len) + self.id.len()
    }
}

impl BatchRequests {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.calls.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.text.capacity() + self.calls.capacity() * size_of::<Call>()
    }

    /// Takes a batch on, if it is nothing but requests whose ids count up. Of those, none can have the id of
    /// another, so that each may be answered and forgotten before the next one is looked at.
    ///
    /// A progress token that is too long is refused where requests wait.
    pub(crate) fn take_on(
        &mut self,
        text: &str,
        entries: &[Entry<'_>],
        batch: u32,
        dialect: &Dialect,
    ) -> bool {
        debug_assert!(self.is_empty());
        self.next = 0;
        self.calls.clear();
        let mut highest = None;
        let orderly = text.len() <= LONGEST
            && entries.iter().all(|entry| {
                let Some((number, call)) = call(entry, text) else { return false };
                let params = call.params.map_or("", |params| piece(text, params));
                if may_have_long_token(params) && Meta::read(params, dialect).has_long_token() {
                    return false;
                }
                self.calls.push(call);
                highest.replace(number) < Some(number)
            });
        if !orderly {
            self.calls.clear();
            return false;
        }
        self.text.clear();
        self.text.push_str(text);
        self.batch = batch;
        true
    }

    pub(crate) fn clear(&mut self) {
        *self = BatchRequests::default();
    }

    /// Gives back what a large batch left behind.
    pub(crate) fn release(&mut self) {
        if self.is_empty() && self.capacity() > KEPT {
            self.clear();
        }
    }
}

/// Where a request lies, and the number that its id is.
#[inline]
fn call(entry: &Entry<'_>, text: &str) -> Option<(u64, Call)> {
    let Ok(Message::Request(Request { id, method: Cow::Borrowed(method), params })) = entry else {
        return None;
    };
    let params = match params {
        Some(params) => Some(Span::of(params.as_str(), text)?),
        None => None,
    };
    let call = Call { id: Span::of(id.text(), text)?, method: Span::of(method, text)?, params };
    Some((parse_small_id(id.text())?, call))
}

#[inline]
fn piece(text: &str, span: Span) -> &str {
    &text[span.start as usize..span.end as usize]
}

impl Core {
    /// Whether the next request of the batch may start without waiting.
    #[inline]
    pub(crate) fn has_batch_request(&self) -> bool {
        let Some(call) = self.batch_requests.calls.get(self.batch_requests.next) else { return false };
        self.queue.is_empty()
            && matches!(self.phase, Phase::Open | Phase::Ended)
            && self.can_start(call.bytes())
            && !self.is_batch_full(self.batch_requests.batch)
    }

    /// Starts the next request of the batch, which there is.
    #[inline(never)]
    pub(crate) fn next_batch_request(&mut self) -> Event<'_> {
        let BatchRequests { text, calls, next, batch } = &mut self.batch_requests;
        let (call, batch) = (calls[*next], *batch);
        *next += 1;
        let is_last = *next == calls.len();
        let (id, method) = (Id::trusted(piece(text, call.id)), piece(text, call.method));
        let cancellable = self.dialect.can_be_cancelled(method);
        let key = self.requests.insert(&id, Some(batch), self.incoming, cancellable);
        let started = match key {
            Some(key) => {
                self.gathering.expect(batch);
                Ok(key)
            }
            None => {
                let id = id.into_owned();
                self.send_error("null", &in_flight(&id), Some(batch));
                Err(id)
            }
        };
        if is_last {
            self.settle(batch);
        }
        let key = match started {
            Ok(key) => key,
            Err(id) => return Event::Report(Report::DuplicateId(id)),
        };
        let text = &self.batch_requests.text;
        let method = Cow::Borrowed(piece(text, call.method));
        let params = call.params.map(|params| piece(text, params));
        let meta = params.map(|params| Meta::read(params, &self.dialect)).unwrap_or_default();
        start(&mut self.requests, key, method, params, &meta)
    }

    /// The next request of the batch has to wait, and so has the rest.
    #[inline(never)]
    pub(crate) fn queue_rest(&mut self) {
        let BatchRequests { text, calls, next, batch } = std::mem::take(&mut self.batch_requests);
        let mut reports = 0;
        for call in &calls[next..] {
            let request = Request {
                id: Id::trusted(piece(&text, call.id)),
                method: Cow::Borrowed(piece(&text, call.method)),
                params: call.params.map(|params| RawJson::trusted(piece(&text, params))),
            };
            if let Next::Event(event) = self.request(request, Some(batch)) {
                self.push_batch_event(event, &mut reports);
            }
        }
        self.settle(batch);
        self.batch_requests = BatchRequests { text, next: calls.len(), calls, batch };
    }
}
