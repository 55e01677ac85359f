//! What an observer of a router is told.

#![expect(clippy::unwrap_used, reason = "a test may")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sabir::{ErrorObject, Observed, Router, transport};

type Log = Arc<Mutex<Vec<String>>>;

fn watched(router: Router, log: &Log) -> Router {
    let log = Arc::clone(log);
    router.observe(move |event| {
        let line = match event {
            Observed::Opened => "opened".to_owned(),
            Observed::Closed { cause, .. } => format!("closed: {cause}"),
            Observed::CallStarted { side, method, known } => format!("{side:?} {method} known={known}"),
            Observed::CallEnded { side, method, end, .. } => format!("{side:?} {method} {end:?}"),
            Observed::Notification { side, method } => format!("{side:?} told {method}"),
            _ => return,
        };
        log.lock().unwrap().push(line);
    })
}

#[tokio::test]
async fn both_sides_are_told() {
    let (ours, theirs) = (Log::default(), Log::default());
    let (client, server) = transport::memory();
    let router = Router::new()
        .method("add", |_, (a, b): (i64, i64)| async move { Ok(a + b) })
        .method("fail", |_, ()| async { Err::<(), _>(ErrorObject::new(7, "no")) })
        .method("sleep", |_, ()| async { std::future::pending::<sabir::Result<()>>().await });
    let serving = tokio::spawn(sabir::serve(server, watched(router, &theirs)));
    let peer = sabir::connect(client, watched(Router::new(), &ours)).await.unwrap();
    assert_eq!(peer.call::<i64>("add", (1, 2)).await.unwrap(), 3);
    assert!(peer.call::<()>("fail", ()).await.is_err());
    assert!(peer.call::<()>("unknown", ()).await.is_err());
    assert!(peer.call::<()>("sleep", ()).timeout(Duration::from_millis(20)).await.is_err());
    peer.notify("log", ()).await.unwrap();
    peer.shutdown(Duration::from_secs(1)).await;
    serving.await.unwrap().unwrap();
    let lines = |log: &Log| log.lock().unwrap().clone();
    assert_eq!(
        lines(&ours),
        [
            "opened",
            "Ours add known=true",
            "Ours add Result",
            "Ours fail known=true",
            "Ours fail Error(ErrorCode(7))",
            "Ours unknown known=true",
            "Ours unknown Error(ErrorCode(-32601))",
            "Ours sleep known=true",
            "Ours sleep TimedOut",
            "Ours told log",
            "closed: shut down",
        ]
    );
    assert_eq!(
        lines(&theirs),
        [
            "opened",
            "Theirs add known=true",
            "Theirs add Result",
            "Theirs fail known=true",
            "Theirs fail Error(ErrorCode(7))",
            "Theirs unknown known=false",
            "Theirs unknown Error(ErrorCode(-32601))",
            "Theirs sleep known=true",
            "Theirs sleep Cancelled",
            "Theirs told log",
            "closed: the peer closed the connection",
        ]
    );
}

/// A result that cannot be written, or is too large, goes out as an error: that is what counts.
/// Also where the transport still waits for its peer, as a WebSocket does: nobody waits for that.
#[cfg(feature = "http")]
#[tokio::test]
async fn the_end_of_every_connection_is_told() {
    for scheme in ["tcp", "http", "ws"] {
        let server = sabir::listen(format!("{scheme}://127.0.0.1:0"), Router::new()).await.unwrap();
        let url = server.url().to_string();
        let serving = tokio::spawn(server.run());
        let log = Log::default();
        let peer = sabir::connect(&*url, watched(Router::new(), &log)).await.unwrap();
        peer.call::<()>("unknown", ()).await.unwrap_err();
        peer.shutdown(Duration::from_secs(1)).await;
        let ends = log.lock().unwrap().iter().filter(|line| line.starts_with("closed")).count();
        assert_eq!(ends, 1, "{scheme}: {log:?}");
        serving.abort();
    }
}

#[tokio::test]
async fn what_went_out_is_told() {
    let log = Log::default();
    let limits = sabir::Limits { outbound_bytes: 1000, ..sabir::Limits::default() };
    let router = Router::new()
        .method("unwritable", |_, ()| async { Ok(std::collections::HashMap::from([((1, 2), 3)])) })
        .method("large", |_, ()| async { Ok("x".repeat(2000)) })
        .method("large_error", |_, ()| async { Err::<(), _>(ErrorObject::new(7, "x".repeat(2000))) })
        .method("small", |_, ()| async { Ok(1) });
    let (client, server) = transport::memory();
    let serving = tokio::spawn(sabir::serve(server.limits(limits), watched(router, &log)));
    let peer = sabir::connect(client, Router::new()).await.unwrap();
    let mut codes = Vec::new();
    for method in ["unwritable", "large", "large_error", "small"] {
        codes.push(match peer.call::<serde_json::Value>(method, ()).await {
            Err(sabir::CallError::Error(error)) => error.code.0,
            _ => 0,
        });
    }
    assert_eq!(codes, [-32603, -32008, -32008, 0]);
    peer.shutdown(Duration::from_secs(1)).await;
    serving.await.unwrap().unwrap();
    let ends: Vec<_> = log.lock().unwrap().iter().filter(|line| !line.contains("known=")).cloned().collect();
    assert_eq!(
        ends,
        [
            "opened",
            "Theirs unwritable Error(ErrorCode(-32603))",
            "Theirs large Error(ErrorCode(-32008))",
            "Theirs large_error Error(ErrorCode(-32008))",
            "Theirs small Result",
            "closed: the peer closed the connection",
        ]
    );
}

/// What an observer hears of a router, whichever of the observer and a layer that refuses was added first.
#[tokio::test]
async fn layers_hide_nothing_in_any_order() {
    type Step = fn(Router, &Log) -> Router;
    let refuse: Step = |router, _| {
        router.layer(|_, next| async move {
            match next.method() {
                "secret" => Err(ErrorObject::new(403, "no")),
                _ => next.run().await,
            }
        })
    };
    let pass: Step = |router, _| router.layer(|_, next| next.run());
    let observe: Step = |router, log| watched(router, log);
    let methods: Step = |router, _| {
        router.method("secret", |_, ()| async { Ok(1) }).method("open", |_, ()| async { Ok(2) }).method(
            "panic",
            |_, ()| async {
                if true {
                    panic!("of no concern")
                }
                Ok(3)
            },
        )
    };
    let steps = [refuse, pass, observe, methods];
    for order in permutations(steps.len()) {
        let log = Log::default();
        let router = order.iter().fold(Router::new(), |router, &step| steps[step](router, &log));
        let (client, server) = transport::memory();
        let serving = tokio::spawn(sabir::serve(server, router));
        let peer = sabir::connect(client, Router::new()).await.unwrap();
        for method in ["secret", "open", "panic", "unknown"] {
            let _ = peer.call::<i64>(method, ()).await;
        }
        let _ = peer.call::<i64>("open", (1, 2)).await;
        peer.shutdown(Duration::from_secs(1)).await;
        serving.await.unwrap().unwrap();
        assert_eq!(
            *log.lock().unwrap(),
            [
                "opened",
                "Theirs secret known=true",
                "Theirs secret Error(ErrorCode(403))",
                "Theirs open known=true",
                "Theirs open Result",
                "Theirs panic known=true",
                "Theirs panic Error(ErrorCode(-32603))",
                "Theirs unknown known=false",
                "Theirs unknown Error(ErrorCode(-32601))",
                "Theirs open known=true",
                "Theirs open Error(ErrorCode(-32602))",
                "closed: the peer closed the connection",
            ],
            "{order:?}"
        );
    }
}

/// All orders of so many things.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    (0..count).fold(vec![Vec::new()], |orders, new| {
        let insert = |order: Vec<usize>| {
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, new);
                order
            })
        };
        orders.into_iter().flat_map(insert).collect()
    })
}

/// Nobody waits for an answer to a notification, so those who watch must hear that it failed.
#[tokio::test]
async fn notifications_that_fail_are_reported() {
    for layered in [false, true] {
        let (observed, reported) = (Log::default(), Log::default());
        let mut router = Router::new()
            .method("take", |_, _: i64| async { Ok(()) })
            .method("refuse", |_, ()| async { Err::<(), _>(ErrorObject::new(7, "no")) })
            .method("later", |_, ()| async {
                tokio::task::yield_now().await;
                Err::<(), _>(ErrorObject::new(8, "no"))
            })
            .method("panic", |_, ()| async {
                if true {
                    panic!("of no concern")
                }
                Ok(())
            });
        if layered {
            router = router.layer(|_, next| next.run());
        }
        let observer = Arc::clone(&observed);
        let router = router.observe(move |event| {
            if let Observed::Report(report) = event {
                observer.lock().unwrap().push(report.to_string());
            }
        });
        let (client, server) = transport::memory();
        let log = Arc::clone(&reported);
        let server = server.on_report(move |report| log.lock().unwrap().push(report.to_string()));
        let serving = tokio::spawn(sabir::serve(server, router));
        let peer = sabir::connect(client, Router::new()).await.unwrap();
        peer.notify("take", 1).await.unwrap();
        peer.notify("take", "x").await.unwrap();
        for method in ["refuse", "later", "panic", "unknown"] {
            peer.notify(method, ()).await.unwrap();
        }
        peer.shutdown(Duration::from_secs(1)).await;
        serving.await.unwrap().unwrap();
        let reason = r#"{"reason":"invalid type: string \"x\", expected i64"}"#;
        let want = [
            format!("notification `take` failed: -32602: Invalid params ({reason})"),
            "notification `refuse` failed: 7: no".to_owned(),
            "notification `later` failed: 8: no".to_owned(),
            "notification `panic` failed: -32603: Internal error".to_owned(),
            "notification `unknown` failed: -32601: Method not found".to_owned(),
        ];
        assert_eq!(*observed.lock().unwrap(), want, "layered: {layered}");
        assert_eq!(*reported.lock().unwrap(), want, "layered: {layered}");
    }
}

/// What spans and events say, to a subscriber that keeps them.
#[cfg(feature = "tracing")]
mod traced {
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    struct Keep(Log);

    impl Visit for Keep {
        fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
            if ["error.type", "message", "rpc.method", "error"].contains(&field.name()) {
                self.0.lock().unwrap().push(format!("{}={value:?}", field.name()));
            }
        }
    }

    impl Subscriber for Keep {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target().starts_with("sabir")
        }

        fn new_span(&self, span: &Attributes<'_>) -> Id {
            span.record(&mut Keep(Arc::clone(&self.0)));
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, values: &Record<'_>) {
            values.record(&mut Keep(Arc::clone(&self.0)));
        }

        fn event(&self, event: &Event<'_>) {
            event.record(&mut Keep(Arc::clone(&self.0)));
        }

        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}
    }

    #[tokio::test]
    async fn spans_are_outside_of_layers_and_tell_of_notifications() {
        for spans_first in [true, false] {
            let log = Log::default();
            let _guard = tracing::subscriber::set_default(Keep(Arc::clone(&log)));
            let refuse = |router: Router| router.layer(|_, _| async { Err(ErrorObject::new(403, "no")) });
            let router = Router::new().method("secret", |_, ()| async { Ok(1) });
            let router = if spans_first { refuse(router.spans()) } else { refuse(router).spans() };
            let (client, server) = transport::memory();
            let serving = tokio::spawn(sabir::serve(server, router));
            let peer = sabir::connect(client, Router::new()).await.unwrap();
            assert!(peer.call::<i64>("secret", ()).await.is_err());
            peer.notify("secret", ()).await.unwrap();
            peer.shutdown(Duration::from_secs(1)).await;
            serving.await.unwrap().unwrap();
            let want = [
                "rpc.method=\"secret\"",
                "error.type=\"403\"",
                "rpc.method=\"secret\"",
                "error.type=\"403\"",
                "message=notification failed",
                "rpc.method=\"secret\"",
                "error=403: no",
            ];
            assert_eq!(*log.lock().unwrap(), want, "spans first: {spans_first}");
        }
    }
}
