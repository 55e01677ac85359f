//! Methods of a service that return streams.

use futures_util::stream;
use sabir::{ErrorObject, Router, Stream, SubscriptionEnd, transport};
use serde_json::json;

use crate::support::all;

/// Tells the time.
#[sabir::service(prefix = "clock.", rename_all = "camelCase")]
trait Clock {
    /// Counts.
    fn ticks(&self, from: u64, #[rpc(default = 3)] to: u64) -> impl Stream<Item = u64>;

    /// Breaks.
    #[rpc(name = "broken")]
    fn breaks(&self) -> impl Stream<Item = sabir::Result<String>>;

    async fn now(&self) -> sabir::Result<u64>;
}

struct Toy;

impl Clock for Toy {
    fn ticks(&self, from: u64, to: u64) -> impl Stream<Item = u64> {
        stream::iter(from..to)
    }

    fn breaks(&self) -> impl Stream<Item = sabir::Result<String>> {
        stream::iter([Ok("once".to_owned()), Err(ErrorObject::new(5, "broken"))])
    }

    async fn now(&self) -> sabir::Result<u64> {
        Ok(0)
    }
}

#[tokio::test]
async fn a_service_has_streams() {
    let (near, far) = transport::memory();
    tokio::spawn(sabir::serve(far, std::sync::Arc::new(Toy).into_router()));
    let clock = ClockClient::new(sabir::connect(near, Router::new()).await.unwrap());
    let mut ticks = clock.ticks(1, 4).await.unwrap();
    assert_eq!(all(&mut ticks).await, [Ok(1), Ok(2), Ok(3)]);
    assert_eq!(ticks.end(), Some(SubscriptionEnd::Finished(None)));
    let mut broken = clock.breaks().await.unwrap();
    assert_eq!(all(&mut broken).await, [Ok("once".to_owned())]);
    assert_eq!(broken.end(), Some(SubscriptionEnd::Error(ErrorObject::new(5, "broken"))));
    assert_eq!(clock.now().await, Ok(0));
}

#[test]
fn its_description_has_them() {
    let document = Toy.into_router().openrpc();
    let names: Vec<_> = document.methods.iter().map(|method| method.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "clock.now",
            "clock.subscribeBroken",
            "clock.subscribeTicks",
            "clock.unsubscribeBroken",
            "clock.unsubscribeTicks"
        ]
    );
    let ticks = serde_json::to_value(&document.methods[2]).unwrap();
    let item = &ticks["x-subscription"]["item"];
    assert_eq!((&item["type"], &ticks["result"]["schema"]["type"]), (&json!("integer"), &json!("string")));
    assert_eq!(ticks["x-subscription"]["notification"], "clock.ticks");
    assert_eq!(ticks["x-subscription"]["unsubscribe"], "clock.unsubscribeTicks");
    assert_eq!(ticks["params"][0]["name"], "from");
}
