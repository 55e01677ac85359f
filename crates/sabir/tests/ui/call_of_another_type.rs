use sabir::{CallError, Method, Peer};

const ADD: Method<(i64, i64), i64> = Method::new("add");

async fn call(peer: Peer) -> Result<i64, CallError> {
    peer.call_method(ADD, ("1", "2")).await
}

fn main() {
    let _ = call;
}
