//! A `requestState` goes on with the call that it was given out for, and with no other.

#![allow(clippy::unwrap_used)]

mod raw;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use raw::{Raw, reason};
use sabir_mcp::{McpCtx, McpServer, Tool};
use serde_json::{Value, json};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Payment {
    to: String,
    amount: u64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sure {
    sure: bool,
}

const KEY: [u8; 32] = [9; 32];

/// A tool that is told by its first round what it has to remember, and a clock that the test moves.
fn bank(name: &str, now: &Arc<AtomicU64>) -> McpServer {
    let now = Arc::clone(now);
    let pay = |ctx: McpCtx, payment: Payment| async move {
        let approved = ctx.remembered::<bool>().unwrap_or_default();
        ctx.remember(&true)?;
        let Some(Sure { sure }) = ctx.elicit("sure", "Really?").await? else { return Ok("no".to_owned()) };
        Ok(format!("{} to {}: {sure} {approved}", payment.amount, payment.to))
    };
    McpServer::new(name, "1.0.0")
        .secret(KEY)
        .clock(move || UNIX_EPOCH + Duration::from_secs(now.load(Ordering::Relaxed)))
        .identify(|rpc| Some(rpc.meta()?.get("user")?.as_str().as_bytes().to_vec()))
        .tool(Tool::new("pay", "Pays"), pay)
        .tool(Tool::new("refund", "Pays back"), pay)
        .prompt("pay", |ctx: McpCtx, _: Payment| async move {
            ctx.elicit::<Sure>("sure", "Really?").await?;
            Ok("Pay.")
        })
}

/// Calls with a state and the user's answer.
async fn go_on(
    raw: &Raw,
    method: &'static str,
    name: &str,
    arguments: Value,
    user: &str,
    state: &str,
) -> String {
    let params = json!({
        "name": name,
        "arguments": arguments,
        "requestState": state,
        "inputResponses": {"sure": {"action": "accept", "content": {"sure": true}}},
    });
    match raw.modern(method, params, json!({"user": user})).await {
        Ok(result) => result["content"][0]["text"].as_str().unwrap_or("a result").to_owned(),
        Err(error) => format!("{} {}", error.code.0, reason(&error)),
    }
}

#[tokio::test]
async fn a_state_goes_on_with_its_own_call_only() {
    let now = Arc::new(AtomicU64::new(1_000_000));
    let raw = Raw::open(bank("bank", &now)).await;
    let ten = json!({"to": "bob", "amount": 10});
    let first = json!({"name": "pay", "arguments": ten});
    let asked = raw.modern("tools/call", first, json!({"user": "alice"})).await.unwrap();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let state = asked["requestState"].as_str().unwrap();

    let forged = "-32602 `requestState` is not what this server gave out for this call";
    let expired = "-32602 `requestState` has expired: call again without it";
    let good = "10 to bob: true true";
    let call = "tools/call";
    assert_eq!(go_on(&raw, call, "pay", ten.clone(), "alice", state).await, good);
    // Spelt anew, it is the same call.
    let anew: Value = serde_json::from_str(r#"{"amount": 10.0e0, "to": "\u0062ob"}"#).unwrap();
    assert_ne!(go_on(&raw, call, "pay", anew, "alice", state).await, forged);

    for (method, name, arguments, user) in [
        (call, "pay", json!({"to": "bob", "amount": 1_000_000}), "alice"),
        (call, "pay", json!({"to": "mallory", "amount": 10}), "alice"),
        (call, "pay", json!({"to": "bob", "amount": 10, "more": 1}), "alice"),
        (call, "pay", json!({"to": "bob", "amount": "10"}), "alice"),
        (call, "pay", ten.clone(), "mallory"),
        (call, "refund", ten.clone(), "alice"),
    ] {
        assert_eq!(
            go_on(&raw, method, name, arguments.clone(), user, state).await,
            forged,
            "{name} {arguments} {user}"
        );
    }
    let prompt = json!({"to": "bob", "amount": "10"});
    assert_eq!(go_on(&raw, "prompts/get", "pay", prompt, "alice", state).await, forged);

    // Cut off or changed anywhere.
    for end in [0, 1, state.len() / 2, state.len() - 1] {
        assert_eq!(
            go_on(&raw, call, "pay", ten.clone(), "alice", &state[..end]).await,
            forged,
            "cut at {end}"
        );
    }
    for at in (0..state.len()).step_by(7) {
        let other = if &state[at..=at] == "A" { "B" } else { "A" };
        let changed = format!("{}{other}{}", &state[..at], &state[at + 1..]);
        assert_eq!(go_on(&raw, call, "pay", ten.clone(), "alice", &changed).await, forged, "changed at {at}");
    }

    // A server with the same key takes it only if it is of the same audience.
    let other = Raw::open(bank("shop", &now)).await;
    assert_eq!(go_on(&other, call, "pay", ten.clone(), "alice", state).await, forged);
    let twin = Raw::open(bank("shop", &now).audience("bank")).await;
    assert_eq!(go_on(&twin, call, "pay", ten.clone(), "alice", state).await, good);
    let stranger = Raw::open(bank("bank", &now).secret([1; 32])).await;
    assert_eq!(go_on(&stranger, call, "pay", ten.clone(), "alice", state).await, forged);

    now.fetch_add(15 * 60 - 1, Ordering::Relaxed);
    assert_eq!(go_on(&raw, call, "pay", ten.clone(), "alice", state).await, good);
    now.fetch_add(1, Ordering::Relaxed);
    assert_eq!(go_on(&raw, call, "pay", ten.clone(), "alice", state).await, expired);
}

/// Arguments beyond what is kept as text are bound as well.
#[tokio::test]
async fn long_arguments_are_bound_too() {
    let now = Arc::new(AtomicU64::new(1));
    let raw = Raw::open(bank("bank", &now).state_lifetime(Duration::from_secs(5))).await;
    let long = |end: &str| json!({"to": format!("{}{end}", "x".repeat(10_000)), "amount": 1});
    let first = json!({"name": "pay", "arguments": long("a")});
    let asked = raw.modern("tools/call", first, json!({"user": "alice"})).await.unwrap();
    let state = asked["requestState"].as_str().unwrap();
    assert!(go_on(&raw, "tools/call", "pay", long("a"), "alice", state).await.ends_with("true true"));
    assert!(
        go_on(&raw, "tools/call", "pay", long("b"), "alice", state).await.contains("not what this server")
    );
    now.store(6, Ordering::Relaxed);
    assert!(go_on(&raw, "tools/call", "pay", long("a"), "alice", state).await.contains("expired"));
}
