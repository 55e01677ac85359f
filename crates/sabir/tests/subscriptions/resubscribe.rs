//! A subscription that is asked for again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use sabir::{ErrorObject, Followed, Router, SubscriptionEnd, SubscriptionStyle, resubscribing};

use crate::support::client;

#[tokio::test]
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
