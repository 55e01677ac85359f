//! Without an async runtime.

#![allow(clippy::unwrap_used)]

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use futures_util::stream;
use sabir::{
    CallError, Cause, Ctx, ErrorObject, Router, SendError, SubscriptionEnd, SubscriptionStyle, blocking,
};

fn connected(server: Router, client: Router) -> blocking::Peer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (b, _) = listener.accept().unwrap();
    let streams = |stream: TcpStream| {
        stream.set_nodelay(true).unwrap();
        blocking::Streams::new(stream.try_clone().unwrap(), stream)
    };
    thread::spawn(move || blocking::serve(streams(a), server));
    blocking::connect(streams(b), client).unwrap()
}

#[test]
fn calls_are_answered() {
    let peer = connected(
        Router::new()
            .method_sync("add", |_, (a, b): (i64, i64)| Ok(a + b))
            .method_sync("parse", |_, text: String| Ok(text.parse::<i64>()?)),
        Router::new(),
    );
    for n in 0..1000i64 {
        assert_eq!(peer.call("add", (n, 1)), Ok(n + 1));
    }
    let error = peer.call::<i64>("parse", "x").unwrap_err();
    assert_eq!(error.to_string(), "-32603: invalid digit found in string");
    assert_eq!(peer.shutdown(Duration::from_secs(1)), Some(Cause::Shutdown));
    assert_eq!(peer.call::<()>("add", ()), Err(CallError::NotSent(SendError::Closed(Cause::Shutdown))));
}

#[test]
fn threads_may_ask_back_and_the_connection_may_not() {
    let ask = |ctx: Ctx, ()| Ok(blocking::Peer::from(&ctx).call::<i64>("answer", ())?);
    let server = Router::new().method_blocking("threaded", ask).method_sync("in place", ask);
    let peer = connected(server, Router::new().method_sync("answer", |_, ()| Ok(42)));
    assert_eq!(peer.call("threaded", ()), Ok(42));
    let error = peer.call::<i64>("in place", ()).unwrap_err().to_string();
    assert!(error.contains(&SendError::OwnThread.to_string()), "{error}");
}

#[test]
fn many_threads_share_a_peer() {
    let router = Router::new().method_blocking("slow", |_, n: u64| {
        thread::sleep(Duration::from_millis(n % 7));
        Ok(n)
    });
    let peer = Arc::new(connected(router, Router::new()));
    let callers: Vec<_> = (0..20u64)
        .map(|n| {
            let peer = Arc::clone(&peer);
            thread::spawn(move || assert_eq!(peer.call("slow", n), Ok(n)))
        })
        .collect();
    callers.into_iter().for_each(|caller| caller.join().unwrap());
}

#[test]
fn time_and_processes_end() {
    let peer = connected(
        Router::new().method_blocking("hang", |_, ()| {
            thread::sleep(Duration::from_secs(5));
            Ok(())
        }),
        Router::new(),
    );
    let timed = peer.call_timeout::<()>("hang", (), Duration::from_millis(20));
    assert_eq!(timed, Err(CallError::TimedOut));

    let (shell, script, ended) = match cfg!(windows) {
        true => ("cmd", ["/c", "exit 3"], "exit code: 3"),
        false => ("sh", ["-c", "read line; exit 3"], "exit status: 3"),
    };
    let mut command = std::process::Command::new(shell);
    command.args(script);
    let peer = blocking::connect(blocking::child(command).unwrap(), Router::new()).unwrap();
    let error = peer.call::<()>("anything", ()).unwrap_err();
    assert_eq!(error.to_string(), format!("no answer: the process ended with {ended}"));
}

#[test]
fn urls_and_memory() {
    let (near, far) = blocking::memory().unwrap();
    let router = || Router::new().method_sync("add", |_, (a, b): (i64, i64)| Ok(a + b));
    let serving = std::thread::spawn(move || blocking::serve(far, router()));
    let peer = blocking::connect(near, Router::new()).unwrap();
    assert_eq!(peer.call("add", (1, 2)), Ok(3));
    peer.close();
    serving.join().unwrap().unwrap();

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        blocking::serve(blocking::Streams::new(stream.try_clone().unwrap(), stream), router())
    });
    let peer = blocking::connect(blocking::url(&url).unwrap(), Router::new()).unwrap();
    assert_eq!(peer.call("add", (2, 2)), Ok(4));
    peer.shutdown(Duration::from_secs(1));
    serving.join().unwrap().unwrap();

    assert!(matches!(blocking::url(&url), Err(sabir::Error::Connect(_))));
    let error = blocking::url("https://localhost/").unwrap_err();
    assert!(matches!(&error, sabir::Error::Config(_)), "{error}");
}

/// A server that has had nothing to do but read sleeps in a read. Whoever comes to hold its peer still wakes it.
#[cfg(unix)]
#[test]
fn a_server_that_sleeps_is_woken_by_other_threads() {
    use std::io::{BufRead, BufReader, Write};

    let (server_input, mut input) = std::io::pipe().unwrap();
    let (output, server_output) = std::io::pipe().unwrap();
    let weak: Arc<std::sync::Mutex<Option<sabir::WeakPeer>>> = Arc::default();
    let kept = Arc::clone(&weak);
    let router = Router::new()
        .method_sync("add", |_, (a, b): (i64, i64)| Ok(a + b))
        .method_sync("later", |ctx: Ctx, ()| {
            let peer = ctx.peer().clone();
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(50));
                peer.try_notify("told", ()).unwrap();
            });
            Ok(())
        })
        .method_sync("weak", move |ctx: Ctx, ()| {
            *kept.lock().unwrap() = Some(ctx.peer().downgrade());
            Ok(())
        });
    let streams = blocking::Streams::new(
        std::os::fd::OwnedFd::from(server_input),
        std::os::fd::OwnedFd::from(server_output),
    );
    let server = thread::spawn(move || blocking::serve(streams, router));
    let mut lines = BufReader::new(output).lines();
    let mut ask = |method: &str, params: &str, answers: &[&str]| {
        let request =
            format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{params}}}\n");
        input.write_all(request.as_bytes()).unwrap();
        for answer in answers {
            let line = lines.next().unwrap().unwrap();
            assert!(line.contains(answer), "{line}");
        }
    };
    for _ in 0..3 {
        for n in 0..40 {
            ask("add", &format!("[{n},1]"), &[&format!("\"result\":{}", n + 1)]);
        }
        ask("later", "[]", &["\"result\":null", "told"]);
    }
    ask("weak", "[]", &["\"result\":null"]);
    for n in 0..40 {
        ask("add", &format!("[{n},1]"), &[&format!("\"result\":{}", n + 1)]);
    }
    // Long enough for it to sleep.
    thread::sleep(Duration::from_millis(20));
    weak.lock().unwrap().take().unwrap().upgrade().unwrap().try_notify("told", ()).unwrap();
    assert!(lines.next().unwrap().unwrap().contains("told"));
    drop(input);
    server.join().unwrap().unwrap();
}

#[test]
fn items_are_waited_for() {
    let count = SubscriptionStyle::notified("subscribe_count", "count", "unsubscribe_count");
    let idle = SubscriptionStyle::new("subscribe_idle", "idle", "unsubscribe_idle");
    let router = Router::new()
        .try_subscription(count.clone(), |_, (to, fails): (u64, bool)| async move {
            let end = fails.then(|| Err(ErrorObject::new(7, "it failed")));
            Ok(stream::iter((0..to).map(Ok).chain(end)))
        })
        .subscription(idle.clone(), |_, ()| async { Ok(stream::pending::<u64>()) });
    let peer = connected(router, Router::new());
    for (fails, end) in [
        (false, SubscriptionEnd::Finished(None)),
        (true, SubscriptionEnd::Error(ErrorObject::new(7, "it failed"))),
    ] {
        let mut items = peer.subscribe::<u64>(count.clone(), (500, fails)).unwrap();
        let got: Vec<_> = items.by_ref().collect();
        assert_eq!(got, (0..500).map(Ok).collect::<Vec<_>>());
        assert_eq!(items.end(), Some(end));
    }
    let mut left = peer.subscribe::<u64>(idle.clone(), ()).unwrap();
    assert!(left.unsubscribe());
    assert_eq!((left.next(), left.end()), (None, Some(SubscriptionEnd::Unsubscribed)));
    let mut lost = peer.subscribe::<u64>(idle, ()).unwrap();
    peer.close();
    assert_eq!(lost.next(), None);
    assert_eq!(lost.end(), Some(SubscriptionEnd::Disconnected(Cause::Shutdown)));
}
