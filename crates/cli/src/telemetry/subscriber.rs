//! Takes the spans and events of the library and of this program from `tracing`: spans go to the collector, events to
//! standard error and to the collector.
//!
//! It does what `tracing-subscriber` with `tracing-opentelemetry` would, for one program: a tenth of the code to compile.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use sabir::{Propagator, TraceContext};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes as NewSpan, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_core::span::Current;

use super::filter::LogFilter;
use super::ids::Ids;
use super::log::LogWriter;
use super::queue::Queue;
use super::settings::Sampler;
use super::span::{Attributes, Log, Place, Span, SpanKind, Value, cut};

/// Spans that are open at the same time; others are not exported.
const MOST_OPEN: usize = 65_536;

thread_local! {
    /// The spans that this thread is in.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The one subscriber of this process.
#[derive(Clone)]
pub(super) struct Collect(Arc<Inner>);

struct Inner {
    /// Where spans go, and which.
    spans: Option<(Arc<Queue>, Sampler)>,
    /// Which events are exported.
    exported: Option<LogFilter>,
    /// Which are written to standard error.
    written: Option<(LogFilter, LogWriter)>,
    ids: Ids,
    next: AtomicU64,
    open: Mutex<HashMap<u64, Open>>,
}

/// A span that has not ended.
struct Open {
    metadata: &'static Metadata<'static>,
    handles: usize,
    place: Place,
    /// As its caller sent it: it goes on with each call.
    tracestate: Option<String>,
    start: SystemTime,
    fields: Fields,
}

/// What `tracing` says of a span or an event. Fields whose name begins with `otel.` are for exporters.
#[derive(Default)]
struct Fields {
    name: Option<String>,
    kind: SpanKind,
    is_error: bool,
    message: String,
    attributes: Attributes,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "otel.name" => self.name = Some(cut(value).to_owned()),
            "otel.kind" => {
                self.kind = match value {
                    "server" => SpanKind::Server,
                    "client" => SpanKind::Client,
                    _ => SpanKind::Internal,
                }
            }
            "otel.status_code" => self.is_error = value == "ERROR",
            "message" => self.message = cut(value).to_owned(),
            name => self.attributes.text(name, value),
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.attributes.set(field.name(), Value::Number(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.attributes.set(field.name(), Value::Number(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.attributes.set(field.name(), Value::Bool(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

impl Collect {
    pub(super) fn new(
        spans: Option<(Arc<Queue>, Sampler)>,
        exported: Option<LogFilter>,
        written: Option<(LogFilter, LogWriter)>,
    ) -> Self {
        let (ids, next, open) = (Ids::new(), AtomicU64::new(1), Mutex::default());
        Collect(Arc::new(Inner { spans, exported, written, ids, next, open }))
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Open>> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anybody wants a span or an event of this kind.
    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.is_span() {
            // Those of other crates are about their own work, not about calls.
            return metadata.target().starts_with("sabir") && *metadata.level() <= LevelFilter::INFO;
        }
        let filters = self.0.exported.iter().chain(self.0.written.iter().map(|(filter, _)| filter));
        filters.into_iter().any(|filter| filter.lets_through(metadata))
    }

    /// A span of somebody who makes them without `tracing`, such as a tap: its place, below a parent that was sent.
    pub(super) fn place(&self, parent: Option<&TraceContext<'_>>) -> Place {
        let span = self.0.ids.span();
        let (trace, parent, sampled) = match parent.and_then(Place::remote) {
            Some((trace, parent, is_sampled)) => (trace, Some(parent), Some(is_sampled)),
            None => (self.0.ids.trace(), None, None),
        };
        Place { trace, span, parent, is_sampled: self.samples(trace, sampled) }
    }

    fn samples(&self, trace: u128, parent: Option<bool>) -> bool {
        self.0.spans.as_ref().is_some_and(|(_, sampler)| sampler.samples(trace, parent))
    }

    fn end(&self, open: Open) {
        let Some((queue, _)) = self.0.spans.as_ref().filter(|_| open.place.is_sampled) else { return };
        let Open { metadata, place, start, fields, .. } = open;
        queue.span(Span {
            place,
            name: fields.name.unwrap_or_else(|| metadata.name().to_owned()),
            kind: fields.kind,
            start,
            end: SystemTime::now(),
            is_error: fields.is_error,
            attributes: fields.attributes,
        });
    }
}

impl Subscriber for Collect {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match self.wants(metadata) {
            true => Interest::always(),
            false => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let filters = self.0.exported.iter().chain(self.0.written.iter().map(|(filter, _)| filter));
        Some(filters.map(LogFilter::finest).fold(LevelFilter::INFO, LevelFilter::max))
    }

    fn new_span(&self, new: &NewSpan<'_>) -> Id {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let mut fields = Fields::default();
        new.record(&mut fields);
        let parent = match new.parent() {
            Some(parent) => Some(parent.into_u64()),
            None if new.is_contextual() => ENTERED.with_borrow(|entered| entered.last().copied()),
            None => None,
        };
        let mut open = self.open();
        let above = parent.and_then(|parent| open.get(&parent));
        let tracestate = above.and_then(|above| above.tracestate.clone());
        let place = match above.map(|above| above.place) {
            Some(above) => Place { span: self.0.ids.span(), parent: Some(above.span), ..above },
            None => self.place(None),
        };
        if open.len() < MOST_OPEN {
            let (metadata, start) = (new.metadata(), SystemTime::now());
            open.insert(id, Open { metadata, handles: 1, place, tracestate, start, fields });
        }
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        if let Some(open) = self.open().get_mut(&id.into_u64()) {
            values.record(&mut open.fields);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let exported = self
            .0
            .spans
            .as_ref()
            .filter(|_| self.0.exported.as_ref().is_some_and(|filter| filter.lets_through(metadata)));
        let written = self.0.written.as_ref().filter(|(filter, _)| filter.lets_through(metadata));
        if exported.is_none() && written.is_none() {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let span = ENTERED.with_borrow(|entered| entered.last().copied());
        let place = span.and_then(|span| self.open().get(&span).map(|open| open.place));
        let log = Log {
            time: SystemTime::now(),
            level: *metadata.level(),
            target: metadata.target().to_owned(),
            message: fields.message,
            attributes: fields.attributes,
            within: place.map(|place| (place.trace, place.span)),
        };
        if let Some((_, writer)) = written {
            writer.write(&log);
        }
        if let Some((queue, _)) = exported {
            queue.log(log);
        }
    }

    fn enter(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(id.into_u64()));
    }

    fn exit(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| {
            // Usually the last.
            if let Some(at) = entered.iter().rposition(|entered| *entered == id.into_u64()) {
                entered.remove(at);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        if let Some(open) = self.open().get_mut(&id.into_u64()) {
            open.handles += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut open = self.open();
        let Some(span) = open.get_mut(&id.into_u64()) else { return false };
        span.handles -= 1;
        if span.handles > 0 {
            return false;
        }
        let ended = open.remove(&id.into_u64());
        drop(open);
        ended.into_iter().for_each(|ended| self.end(ended));
        true
    }

    fn current_span(&self) -> Current {
        let entered = ENTERED.with_borrow(|entered| entered.last().copied());
        let Some(id) = entered else { return Current::none() };
        match self.open().get(&id) {
            Some(open) => Current::new(Id::from_u64(id), open.metadata),
            None => Current::none(),
        }
    }
}

/// Joins traces with those of peers.
impl Propagator for Collect {
    fn extract(&self, trace: &TraceContext<'_>, span: &tracing::Span) {
        let Some((id, (remote, parent, is_sampled))) = span.id().zip(Place::remote(trace)) else { return };
        if let Some(open) = self.open().get_mut(&id.into_u64()) {
            let is_sampled = self.samples(remote, Some(is_sampled));
            open.place = Place { trace: remote, parent: Some(parent), is_sampled, ..open.place };
            // W3C lets a service drop what is longer.
            let tracestate = trace.tracestate.as_deref().filter(|state| state.len() <= 512);
            open.tracestate = tracestate.map(str::to_owned);
        }
    }

    fn inject(&self, span: &tracing::Span) -> Option<TraceContext<'static>> {
        let open = self.open();
        let of = open.get(&span.id()?.into_u64())?;
        let (traceparent, tracestate) =
            (of.place.traceparent().into(), of.tracestate.clone().map(Into::into));
        Some(TraceContext { traceparent, tracestate, baggage: None })
    }
}
