//! A subscription that is asked for again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use sabir::{
    Error, ErrorObject, Followed, Reconnect, Router, SubscriptionEnd, SubscriptionStyle, blocking,
    resubscribing, transport,
};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::support::client;

#[tokio::test(start_paused = true)]
async fn there_is_a_gap_between_two_lives() {
    let style = SubscriptionStyle::notified("watch", "seen", "unwatch");
    let lives = Arc::<AtomicUsize>::default();
    let begun = Arc::clone(&lives);
    let router = Router::new().try_subscription(style.clone(), move |_, ()| {
        let life = begun.fetch_add(1, Ordering::SeqCst);
        async move {
            if life == 1 {
                return Err(ErrorObject::new(1, "not yet"));
            }
            let end = (life == 0).then(|| Err(ErrorObject::new(2, "broken")));
            Ok(stream::iter([Ok(life)]).chain(stream::iter(end)))
        }
    });
    let peer = client(router).await;
    let followed = resubscribing(|| peer.subscribe::<usize>(style.clone(), ()));
    let seen: Vec<_> = followed.map(|next| next.map_err(|error| error.to_string())).collect().await;
    let gap = SubscriptionEnd::Error(ErrorObject::new(2, "broken"));
    let refused = Err("1: not yet".to_owned());
    assert_eq!(seen, [Ok(Followed::Item(0)), Ok(Followed::Gap(gap)), refused, Ok(Followed::Item(2))]);
}

/// Lives that are short, or do not even begin, are tried again less and less often, until one was long.
#[tokio::test(start_paused = true)]
async fn pauses_grow_until_a_subscription_has_lasted() {
    let style = SubscriptionStyle::notified("watch", "seen", "unwatch");
    let lives = Arc::<AtomicUsize>::default();
    let begun = Arc::clone(&lives);
    let router = Router::new().try_subscription(style.clone(), move |_, ()| {
        let life = begun.fetch_add(1, Ordering::SeqCst);
        let lasts = Duration::from_secs(if life == 10 { 5 } else { 0 });
        async move {
            if life % 2 == 1 {
                return Err(ErrorObject::new(1, "not yet"));
            }
            Ok(stream::once(async move {
                sleep(lasts).await;
                Err::<u64, _>(ErrorObject::new(2, "broken"))
            }))
        }
    });
    let peer = client(router).await;
    let mut followed = resubscribing(|| peer.subscribe::<u64>(style.clone(), ()));
    let mut pauses = Vec::new();
    followed.next().await;
    for _ in 1..13 {
        let began = Instant::now();
        let before = lives.load(Ordering::SeqCst);
        assert!(!matches!(followed.next().await, None | Some(Ok(Followed::Item(_)))));
        let lasted = if before == 10 { 5000 } else { 0 };
        pauses.push(began.elapsed().as_millis() - lasted);
    }
    // Timers are as exact as a millisecond.
    for pause in &mut pauses {
        *pause -= *pause % 10;
    }
    assert_eq!(pauses, [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 50, 100]);
}

/// The server is gone in the middle, and another one takes its place.
#[tokio::test]
async fn a_lost_connection_is_a_gap() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (accept, mut accepted) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        for life in 0u64.. {
            let (stream, _) = listener.accept().await.unwrap();
            let (read, write) = stream.into_split();
            let router = Router::new()
                .subscription(SubscriptionStyle::ethereum("newHeads"), move |_, ()| async move {
                    Ok(stream::iter([life]).chain(stream::pending()))
                });
            let _ = accept.send(tokio::spawn(sabir::serve(transport::streams(read, write), router)));
        }
    });
    let server = Reconnect::new(Router::new(), move || transport::tcp(address.clone()));
    let mut heads = resubscribing(|| async {
        let peer = server.peer().await?;
        Ok::<_, Error>(peer.subscribe::<u64>(SubscriptionStyle::ethereum("newHeads"), ()).await?)
    });
    for life in 0..3 {
        let head = heads.next().await.unwrap().unwrap();
        assert_eq!(head, Followed::Item(life));
        accepted.recv().await.unwrap().abort();
        let gap = heads.next().await.unwrap().unwrap();
        assert!(matches!(gap, Followed::Gap(SubscriptionEnd::Disconnected(_))), "{gap:?}");
    }
}

/// Pauses need no runtime.
#[test]
fn it_works_on_a_thread() {
    let (near, far) = blocking::memory().unwrap();
    std::thread::spawn(move || blocking::serve(far, Router::new()));
    let peer = blocking::connect(near, Router::new()).unwrap();
    let style = SubscriptionStyle::new("watch", "seen", "unwatch");
    let mut followed = resubscribing(|| peer.as_async().subscribe::<u64>(style.clone(), ()));
    for _ in 0..2 {
        assert!(matches!(blocking::wait(followed.next()), Some(Some(Err(_)))));
    }
}
