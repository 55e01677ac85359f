//! Something to subscribe to.

use std::time::Duration;

use futures_util::{Stream, stream};
use sabir::{Ctx, Router, SubscriptionStyle, describe};
use schemars::JsonSchema;
use serde::Deserialize;

const TICKS: SubscriptionStyle = SubscriptionStyle::new("subscribe_ticks", "ticks", "unsubscribe_ticks");

pub(super) fn add_to(router: Router) -> Router {
    router
        .subscription(TICKS, ticks)
        .describe(
            describe("subscribe_ticks")
                .doc("Counts in notifications `ticks`.\n\nIts result is the id of the subscription.")
                .params::<Ticks>()
                .subscription::<u64>(&TICKS),
        )
        .describe(
            describe("unsubscribe_ticks")
                .doc("Ends a subscription, and returns whether there was one.")
                .names(&["id"])
                .params::<(String,)>()
                .result::<bool>(),
        )
}

#[derive(Deserialize, JsonSchema)]
#[serde(expecting = "`n` and `ms`")]
struct Ticks {
    /// How many there are.
    n: u64,
    /// Milliseconds between them.
    ms: u64,
}

async fn ticks(_: Ctx, Ticks { n, ms }: Ticks) -> sabir::Result<impl Stream<Item = u64> + Send + 'static> {
    Ok(stream::unfold(0, move |i| async move {
        if i > 0 && i < n && ms > 0 {
            tokio::time::sleep(Duration::from_millis(ms)).await;
        }
        (i < n).then_some((i, i + 1))
    }))
}
