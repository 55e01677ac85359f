//! What a client can make a server keep is bounded, one thing at a time.

#![allow(clippy::unwrap_used)]

mod raw;

use std::time::Duration;

use raw::{Raw, modern, reason};
use sabir_mcp::{McpCtx, McpLimits, McpServer, Template, Tool};
use serde_json::{Value, json};

#[derive(serde::Deserialize)]
struct Path {
    path: String,
}

fn files() -> McpServer {
    McpServer::new("files", "1.0.0")
        .template(Template::new("file:///{+path}", "a file"), |_, Path { path }| async move { Ok(path) })
        .tool(Tool::new("change", "Changes the list"), |ctx: McpCtx, ()| async move {
            ctx.catalog().add_tool("new", |_, ()| async { Ok(1) });
            ctx.catalog().resource_changed("file:///0");
            Ok(())
        })
        .prompt("write", |_, ()| async { Ok("Write.") })
}

async fn subscribe(raw: &Raw, uri: String) -> Result<(), String> {
    raw.call("resources/subscribe", json!({"uri": uri})).await.map(drop).map_err(|error| reason(&error))
}

#[tokio::test]
async fn subscriptions_are_limited_in_number() {
    let raw = Raw::legacy(files(), json!({})).await;
    for number in 0..1024 {
        subscribe(&raw, format!("file:///{number}")).await.unwrap();
    }
    let refused = Err("the limit is reached: more than 1024 subscriptions".to_owned());
    assert_eq!(subscribe(&raw, "file:///more".into()).await, refused);
    // What is there already takes no more room, and what is given up makes some.
    assert_eq!(subscribe(&raw, "file:///0".into()).await, Ok(()));
    for uri in ["file:///never", "file:///7", "file:///7"] {
        raw.call("resources/unsubscribe", json!({"uri": uri})).await.unwrap();
    }
    assert_eq!(subscribe(&raw, "file:///more".into()).await, Ok(()));
    assert_eq!(subscribe(&raw, "file:///more2".into()).await, refused);
    // Another session has its own.
    assert_eq!(subscribe(&Raw::legacy(files(), json!({})).await, "file:///0".into()).await, Ok(()));
}

#[tokio::test]
async fn subscriptions_are_limited_in_bytes() {
    let raw = Raw::legacy(files(), json!({})).await;
    let long = |number: usize| format!("file:///{number:0>8192}");
    for number in 0..7 {
        subscribe(&raw, long(number)).await.unwrap();
    }
    let refused = "the limit is reached: the URIs of all subscriptions have more than 65536 bytes";
    assert_eq!(subscribe(&raw, long(8)).await, Err(refused.to_owned()));
    let giant = format!("file:///{}", "x".repeat(1 << 20));
    assert_eq!(subscribe(&raw, giant).await, Err(refused.to_owned()));
    let limits = McpLimits { subscriptions: 1, ..McpLimits::default() };
    let raw = Raw::legacy(files().limits(limits), json!({})).await;
    subscribe(&raw, long(0)).await.unwrap();
    assert!(subscribe(&raw, "file:///a".into()).await.is_err());
}

/// One change is told once, however often the client says that it is ready.
#[tokio::test(start_paused = true)]
async fn a_session_joins_once() {
    let raw = Raw::legacy(files(), json!({})).await;
    for _ in 0..1000 {
        raw.peer.notify("notifications/initialized", ()).await.unwrap();
    }
    subscribe(&raw, "file:///0".into()).await.unwrap();
    raw.call("tools/call", json!({"name": "change"})).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(
        *raw.heard.lock().unwrap(),
        ["notifications/tools/list_changed", "notifications/resources/updated"]
    );
}

#[tokio::test(start_paused = true)]
async fn open_streams_are_limited() {
    let raw = Raw::open(files()).await;
    let listen = |uris: Vec<String>| {
        let wanted = json!({"notifications": {"toolsListChanged": true, "resourceSubscriptions": uris}});
        let call = raw.peer.call::<Value>("subscriptions/listen", modern(wanted, json!({})));
        tokio::spawn(async move { call.await.map_err(|error| error.to_string()) })
    };
    let uris = |count: usize| (0..count).map(|number| format!("file:///{number}")).collect::<Vec<_>>();
    for (count, why) in [(1025, "more than 1024 subscriptions"), (10_000, "more than 1024 subscriptions")] {
        let refused = listen(uris(count)).await.unwrap().unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    let giant = listen(vec!["x".repeat(1 << 20)]).await.unwrap().unwrap_err();
    assert!(giant.contains("more than 65536 bytes"), "{giant}");

    let mut open: Vec<_> = (0..16).map(|_| listen(uris(64))).collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(raw.heard.lock().unwrap().len(), 16, "acknowledgements");
    let refused = listen(Vec::new()).await.unwrap().unwrap_err();
    assert!(refused.contains("more than 16 open streams"), "{refused}");
    // One that ends makes room for another.
    open.pop().unwrap().abort();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let again = listen(uris(64));
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(!again.is_finished());
}

#[tokio::test]
async fn what_a_client_says_of_itself_is_limited() {
    let raw = Raw::open(files()).await;
    let giant = json!({"experimental": {"x": vec![json!({}); 1 << 16]}});
    let asked = json!({"protocolVersion": "2025-11-25", "capabilities": giant});
    let error = raw.call("initialize", asked).await.unwrap_err();
    assert_eq!(reason(&error), "the params of `initialize` have more than 65536 bytes");
    // It may try again with less.
    let asked = json!({"protocolVersion": "2025-11-25", "capabilities": {"roots": {"listChanged": true}}});
    raw.call("initialize", asked).await.unwrap();
}

#[tokio::test]
async fn maps_from_a_client_are_limited() {
    let raw = Raw::open(files().complete_prompt("write", "a", |_, _| async { Ok(Vec::new()) })).await;
    let map = |count: usize| -> Value {
        (0..count).map(|number| (format!("k{number}"), json!("v"))).collect::<serde_json::Map<_, _>>().into()
    };
    let many = |params: &dyn Fn(Value) -> Value| [params(map(1024)), params(map(1025)), params(map(300_000))];
    let complete = |arguments| {
        let argument = json!({"name": "a", "value": ""});
        json!({"ref": {"type": "ref/prompt", "name": "write"}, "argument": argument, "context": {"arguments": arguments}})
    };
    for (method, params) in [
        ("tools/call", many(&|map| json!({"name": "change", "inputResponses": map}))),
        ("prompts/get", many(&|map| json!({"name": "write", "arguments": map}))),
        ("completion/complete", many(&complete)),
    ] {
        let [most, more, far_more] = params;
        assert!(raw.modern(method, most, json!({})).await.is_ok(), "{method}");
        for params in [more, far_more] {
            let error = raw.modern(method, params, json!({})).await.unwrap_err();
            assert!(reason(&error).contains("more than 1024 entries"), "{method}: {error:?}");
        }
    }
}

/// An answer to junk is small, whatever the junk is.
#[tokio::test]
async fn errors_repeat_little_of_what_came() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Count {
        to: u32,
    }
    let server = files()
        .prompt("count", |_, Count { to }| async move { Ok(format!("Count to {to}.")) })
        .template(Template::new("day:///{to}", "a day"), |_, Count { to }| async move { Ok(to.to_string()) })
        .tool("count", |_, Count { to }| async move { Ok(to) });
    let raw = Raw::open(server).await;
    let giant = "ü".repeat(1 << 20);
    for arguments in [json!({"to": giant}), json!({"to": {giant.clone(): 1}})] {
        let result =
            raw.modern("tools/call", json!({"name": "count", "arguments": arguments}), json!({})).await;
        let size = result.unwrap().to_string().len();
        assert!(size < 2000, "tools/call: {size} bytes");
    }
    for (method, params, meta) in [
        ("tools/call", json!({"name": giant}), json!({})),
        ("prompts/get", json!({"name": giant}), json!({})),
        ("resources/read", json!({"uri": giant}), json!({})),
        ("tools/list", json!({"cursor": giant}), json!({})),
        ("tools/list", json!({}), json!({"io.modelcontextprotocol/protocolVersion": giant})),
        ("tools/list", json!({}), json!({"io.modelcontextprotocol/logLevel": giant})),
        ("subscriptions/listen", json!({"notifications": {"toolsListChanged": giant}}), json!({})),
        ("prompts/get", json!({"name": "count", "arguments": {"to": giant}}), json!({})),
        ("resources/read", json!({"uri": format!("day:///{giant}")}), json!({})),
    ] {
        let error = raw.modern(method, params, meta).await.unwrap_err();
        let size = serde_json::to_string(&error).unwrap().len();
        assert!(size < 1000, "{method}: {size} bytes");
    }
}

/// A list is read no further than its limit: read whole, `["","",…]` would take ten times the text.
#[tokio::test]
async fn lists_from_a_client_are_limited() {
    let raw = Raw::open(files()).await;
    for (count, why) in [(65_536, "more than 1024 subscriptions"), (1_000_000, "more than 65536 entries")] {
        let wanted = json!({"notifications": {"resourceSubscriptions": vec![""; count]}});
        let error = raw.modern("subscriptions/listen", wanted, json!({})).await.unwrap_err();
        assert!(reason(&error).contains(why), "{count}: {error:?}");
    }
}
