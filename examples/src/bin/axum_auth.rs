//! JSON-RPC in an axum application: bearer tokens, an identity in the handlers, and a typed client.
//!
//! Run with `cargo run -q -p sabir-examples --bin axum_auth 127.0.0.1:8080`, then
//! `sabir call http://127.0.0.1:8080/rpc -H 'Authorization: Bearer ada-secret' account.deposit 5`.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Mutex, PoisonError};

use axum::routing::get;
use sabir::{Ctx, Denied, Http, HttpService, Router, transport};
use tokio::net::TcpListener;

/// The name that a token stands for, as handlers see it.
#[derive(PartialEq)]
struct User(String);

#[sabir::service(prefix = "account.")]
trait Account {
    /// Adds to the balance of whoever calls, and returns it.
    async fn deposit(&self, ctx: Ctx, amount: u64) -> sabir::Result<u64>;
}

#[derive(Default)]
struct Bank {
    balances: Mutex<HashMap<String, u64>>,
}

impl Account for Bank {
    async fn deposit(&self, ctx: Ctx, amount: u64) -> sabir::Result<u64> {
        let User(name) = ctx.identity().ok_or_else(|| sabir::ErrorObject::new(1, "who are you?"))?;
        let mut balances = self.balances.lock().unwrap_or_else(PoisonError::into_inner);
        let balance = balances.entry(name.clone()).or_default();
        *balance = balance.saturating_add(amount);
        Ok(*balance)
    }
}

fn app() -> axum::Router {
    let http = Http::new().auth(|request| {
        let header = request.headers.get("authorization").and_then(|value| value.to_str().ok());
        match header.and_then(|value| value.strip_prefix("Bearer ")) {
            Some("ada-secret") => Ok(User("ada".to_owned())),
            Some("bob-secret") => Ok(User("bob".to_owned())),
            _ => Err(Denied::unauthorized("Bearer")),
        }
    });
    let rpc = HttpService::new(Bank::default().into_router(), http);
    axum::Router::new().route("/", get(|| async { "JSON-RPC is at /rpc\n" })).route_service("/rpc", rpc)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(address) = std::env::args().nth(1) {
        return Ok(axum::serve(TcpListener::bind(address).await?, app()).await?);
    }
    // Without an address it calls itself, and ends.
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/rpc", listener.local_addr()?);
    tokio::spawn(axum::serve(listener, app()).into_future());
    let connect = async |token: &str| {
        sabir::connect(transport::url(&url).bearer(token), Router::new()).await.map(AccountClient::new)
    };
    let (ada, bob) = (connect("ada-secret").await?, connect("bob-secret").await?);
    ada.deposit(5).await?;
    eprintln!("ada has {}, bob has {}", ada.deposit(7).await?, bob.deposit(1).await?);
    let refused = connect("wrong").await?.deposit(1).await;
    eprintln!("a wrong token: {}", refused.err().ok_or("it was let in")?);
    Ok(())
}
