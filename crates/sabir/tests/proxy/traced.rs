//! Spans of calls that are passed on, with their parents.

use std::cell::RefCell;
use std::sync::atomic::AtomicU64;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;

thread_local! {
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Names, and the ids of their parents.
type Spans = Arc<Mutex<Vec<(String, Option<u64>)>>>;

/// Keeps the kind of each span with that of its parent.
#[derive(Clone, Default)]
struct Keep {
    next: Arc<AtomicU64>,
    spans: Spans,
}

#[derive(Default)]
struct Kind(String);

impl Visit for Kind {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if ["otel.kind", "error.type"].contains(&field.name()) {
            self.0 += &format!("{value:?}").replace('"', "");
        }
    }
}

impl Subscriber for Keep {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("sabir") && metadata.is_span()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut kind = Kind::default();
        span.record(&mut kind);
        let parent = ENTERED.with_borrow(|entered| entered.last().copied());
        self.spans.lock().unwrap().push((kind.0, parent));
        Id::from_u64(self.next.fetch_add(1, Ordering::SeqCst) + 1)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut kind = Kind::default();
        values.record(&mut kind);
        self.spans.lock().unwrap()[id.into_u64() as usize - 1].0 += &kind.0;
    }

    fn enter(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(id.into_u64()));
    }

    fn exit(&self, _: &Id) {
        ENTERED.with_borrow_mut(Vec::pop);
    }

    fn event(&self, _: &Event<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
}

#[tokio::test]
async fn the_call_upstream_has_a_span_below_the_one_of_its_handler() {
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, Router::new().method("known", |_, ()| async { Ok(1) })));
    let upstream = sabir::connect(near, Router::new()).await.unwrap();
    let keep = Keep::default();
    let _guard = tracing::subscriber::set_default(keep.clone());
    let plain = Router::new().forward_to(upstream);
    plain.call::<i64>("known", ()).await.unwrap();
    assert!(keep.spans.lock().unwrap().is_empty(), "there is nothing to stand below");
    let router = plain.spans();
    router.call::<i64>("known", ()).await.unwrap();
    router.call::<i64>("unknown", ()).await.unwrap_err();
    let spans = keep.spans.lock().unwrap();
    let spans: Vec<_> = spans.iter().map(|(kind, parent)| (kind.as_str(), *parent)).collect();
    let want = [("server", None), ("client", Some(1)), ("server-32601", None), ("client-32601", Some(3))];
    assert_eq!(spans, want);
}
