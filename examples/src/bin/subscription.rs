//! A subscription: the client asks once, and the server sends items until the client has enough.
//!
//! Run with `cargo run -q -p sabir-examples --bin subscription`. Both sides run in this process.

use std::error::Error;
use std::time::Duration;

use futures_util::{Stream, stream};
use sabir::{Ctx, Router, SubscriptionStyle, transport};

const TICKS: SubscriptionStyle = SubscriptionStyle::new("subscribe_ticks", "tick", "unsubscribe_ticks");

async fn ticks(_: Ctx, every_ms: u64) -> sabir::Result<impl Stream<Item = u64> + Send + 'static> {
    Ok(stream::unfold(1, move |count| async move {
        tokio::time::sleep(Duration::from_millis(every_ms)).await;
        Some((count, count + 1))
    }))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (ours, theirs) = transport::memory();
    tokio::spawn(sabir::serve(theirs, Router::new().subscription(TICKS, ticks)));

    let peer = sabir::connect(ours, Router::new()).await?;
    let mut ticks = peer.subscribe::<u64>(TICKS, 10).await?;
    for _ in 0..3 {
        eprintln!("tick {}", ticks.next().await.ok_or("the server has gone")??);
    }
    // Dropping it would do, too: this waits for the answer.
    eprintln!("stopped: {}", ticks.unsubscribe().await);
    Ok(())
}
