//! Subscribers that do not read, and consumers that do not take.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{Stream, StreamExt, stream};
use sabir::{Ctx, Feed, IntoFeed, Lag, Limits, Router, SubscriptionEnd, SubscriptionError};

use crate::support::{COUNT, Wire, client, count, router, until};

/// Counts on and on, and how far it got.
fn counting(made: &Arc<AtomicU64>) -> impl Stream<Item = u64> + Send + 'static + use<> {
    let made = Arc::clone(made);
    count(None).inspect(move |n| made.store(*n, Ordering::SeqCst))
}

fn feeding<F, S>(feed: F) -> Router
where
    F: Fn(Ctx) -> S + Send + Sync + 'static,
    S: IntoFeed + Send + 'static,
    S::Stream: Stream<Item = u64> + Send + 'static,
{
    let feed = Arc::new(feed);
    Router::new()
        .subscription(COUNT, move |ctx, ()| {
            let feed = Arc::clone(&feed);
            async move { Ok(feed(ctx)) }
        })
        .method("echo", |_, text: String| async move { Ok(text) })
}

const SUBSCRIBE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"subscribe_count","params":[]}"#;

#[tokio::test]
async fn a_stream_that_waits_is_polled_as_its_items_are_read() {
    let made = Arc::<AtomicU64>::default();
    let counted = Arc::clone(&made);
    let mut wire = Wire::of(feeding(move |_| counting(&counted)), Limits::default());
    wire.send(SUBSCRIBE).await;
    assert!(wire.next().await["result"].is_string());
    tokio::time::sleep(Duration::from_millis(50)).await;
    let ahead = made.load(Ordering::SeqCst);
    // What fits between: the queue, and what the connection sends before it lets items wait.
    assert!(ahead < 2000, "{ahead} items were made");
    // A call is answered behind what was sent before it, and no more.
    wire.send(r#"{"jsonrpc":"2.0","id":2,"method":"echo","params":["x"]}"#).await;
    let mut next = 0;
    loop {
        let message = wire.next().await;
        if message["id"] == 2 {
            break;
        }
        assert_eq!(message["params"]["result"], next, "none is lost");
        next += 1;
    }
    assert!(next <= ahead + 200, "the answer waited behind {next} items, and {ahead} were made");
}

#[tokio::test]
async fn items_are_dropped_or_replaced_if_that_is_wanted() {
    let limits = Limits { subscription_items: 8, high_water: 4096, ..Limits::default() };
    for keep in [false, true] {
        let made = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&made);
        let router = match keep {
            false => feeding(move |_| Feed::new(paced(counting(&counted))).drop_oldest()),
            true => feeding(move |_| Feed::new(paced(counting(&counted))).keep_latest(|n| n % 4)),
        };
        let mut wire = Wire::of(router, limits);
        wire.send(SUBSCRIBE).await;
        assert!(wire.next().await["result"].is_string());
        until("the stream goes on", || made.load(Ordering::SeqCst) > 3000).await;
        let mut seen = Vec::new();
        while seen.last().is_none_or(|last| *last < 3000) {
            seen.push(wire.next().await["params"]["result"].as_u64().unwrap());
        }
        assert!(seen.is_sorted_by(|a, b| a < b) || keep, "in order: {seen:?}");
        assert!(seen.len() < 1500, "most were dropped: {}", seen.len());
    }
}

/// Lets others run between items.
fn paced(stream: impl Stream<Item = u64> + Send + 'static) -> impl Stream<Item = u64> + Send + 'static {
    stream.then(|n| async move {
        tokio::task::yield_now().await;
        n
    })
}

#[tokio::test]
async fn a_slow_subscriber_is_told_that_it_ended() {
    let limits = Limits { subscription_items: 8, high_water: 4096, ..Limits::default() };
    let router = feeding(|_| Feed::new(count(None)).close());
    let mut wire = Wire::of(router, limits);
    wire.send(SUBSCRIBE).await;
    let last = loop {
        let message = wire.next().await;
        if message["params"]["error"].is_object() {
            break message;
        }
    };
    assert_eq!(last["params"]["error"]["code"], -32015, "{last}");
}

#[tokio::test]
async fn a_consumer_that_lags_is_told() {
    let peer = client(router(&Arc::<AtomicUsize>::default())).await;
    let mut closed = peer.subscribe::<u64>(COUNT, ()).capacity(10).await.unwrap();
    until("it has lagged", || closed.end().is_some()).await;
    let kept: Vec<_> = (&mut closed).collect().await;
    assert_eq!(kept, (0..10).map(Ok).collect::<Vec<_>>());
    assert!(matches!(closed.end(), Some(SubscriptionEnd::Lagged(1..))), "{:?}", closed.end());

    let mut lossy = peer.subscribe::<u64>(COUNT, 500).capacity(10).lag(Lag::DropOldest).await.unwrap();
    until("all have come", || lossy.end().is_some()).await;
    let kept: Vec<_> = (&mut lossy).collect().await;
    assert_eq!(kept[0], Err(SubscriptionError::Lagged(490)));
    assert_eq!(kept[1..], (490..500).map(Ok).collect::<Vec<_>>());

    let mut patient = peer.subscribe::<u64>(COUNT, 5000).capacity(10).lag(Lag::Wait).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let all: Vec<_> = (&mut patient).collect().await;
    assert_eq!(all, (0..5000).map(Ok).collect::<Vec<_>>());
    // One that is dropped while nothing is read lets everything go on.
    let stuck = peer.subscribe::<u64>(COUNT, ()).capacity(1).lag(Lag::Wait).await.unwrap();
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(stuck);
    assert_eq!(peer.call::<String>("echo", "x").await, Ok("x".to_owned()));
}

#[tokio::test]
async fn many_take_turns() {
    let router = feeding(|_| count(None));
    let mut wire = Wire::of(router, Limits::default());
    for id in 1..=4 {
        wire.send(&SUBSCRIBE.replace("\"id\":1", &format!("\"id\":{id}"))).await;
    }
    let mut seen = std::collections::HashMap::<String, u64>::new();
    for _ in 0..20_000 {
        let message = wire.next().await;
        if let Some(id) = message["params"]["subscription"].as_str() {
            *seen.entry(id.to_owned()).or_default() += 1;
        }
    }
    let (least, most) = (seen.values().min().unwrap(), seen.values().max().unwrap());
    assert!(seen.len() == 4 && most < &(2 * least), "{seen:?}");
}

#[tokio::test]
async fn streams_that_are_always_ready_leave_room_for_calls() {
    let peer = client(feeding(|_| stream::repeat(1))).await;
    let mut endless = peer.subscribe::<u64>(COUNT, ()).lag(Lag::DropOldest).await.unwrap();
    for _ in 0..100 {
        assert_eq!(peer.call::<String>("echo", "x").await, Ok("x".to_owned()));
        assert!(endless.next().await.is_some());
    }
}

/// A peer that reads all that comes, and as fast as it comes: there is always room for one item more.
#[test]
fn a_peer_that_reads_everything_is_heard() {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = sabir::listen("tcp://127.0.0.1:0", feeding(|_| stream::repeat(1))).await.unwrap();
            tell.send(server.url().to_string()).unwrap();
            server.run().await.unwrap();
        });
    });
    let url = told.recv().unwrap();
    let mut client = std::net::TcpStream::connect(url.split_once("://").unwrap().1).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut read = client.try_clone().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let (mut buffer, mut kept) = (vec![0; 1 << 20], 0);
        let answer = b"\"id\":\"call\"";
        while let Ok(count) = read.read(&mut buffer[kept..]) {
            let end = kept + count;
            if count == 0 || memchr::memmem::find(&buffer[..end], answer).is_some() {
                let _ = tell.send(count > 0);
            }
            // An answer is not found twice: less than one is kept.
            kept = end.min(answer.len() - 1);
            buffer.copy_within(end - kept..end, 0);
        }
    });
    for id in 0..200 {
        let subscribe = SUBSCRIBE.replace("\"id\":1", &format!("\"id\":{id}"));
        client.write_all(format!("{subscribe}\n").as_bytes()).unwrap();
    }
    for _ in 0..5 {
        client
            .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":\"call\",\"method\":\"echo\",\"params\":[\"x\"]}\n")
            .unwrap();
        assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok(true), "the call is not heard");
    }
}
