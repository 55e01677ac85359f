use sabir::{CallError, Peer};

async fn ping(peer: Peer) -> Result<(), CallError> {
    peer.call("ping", ()).await?;
    Ok(())
}

fn main() {
    let _ = ping;
}
