//! What an observer of a router is told.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use sabir::{ErrorObject, Observed, Router, transport};

type Log = Arc<Mutex<Vec<String>>>;

fn watched(router: Router, log: &Log) -> Router {
    let log = Arc::clone(log);
    router.observe(move |event| {
        let line = match event {
            Observed::Opened => "opened".to_owned(),
            Observed::Closed { cause } => format!("closed: {cause}"),
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
    assert_eq!(peer.call::<_, _, i64>("add", (1, 2)).await.unwrap(), 3);
    assert!(peer.call::<_, _, ()>("fail", ()).await.is_err());
    assert!(peer.call::<_, _, ()>("unknown", ()).await.is_err());
    assert!(peer.call::<_, _, ()>("sleep", ()).timeout(Duration::from_millis(20)).await.is_err());
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
