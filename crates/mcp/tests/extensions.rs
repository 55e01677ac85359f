//! An extension that a user of the crate writes: a method, a type of results, a field of `subscriptions/listen`, and what
//! both sides declare.

#![allow(clippy::unwrap_used)]

use sabir::{CallError, ErrorCode, RawJson, Router};
use sabir_mcp::{
    Extension, Interests, ListenField, McpClient, McpCtx, McpResult, McpRevision, McpServer, Meta, Tool,
    TypedResult, code,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

const DESK: &str = "com.example/desk";

#[derive(Deserialize)]
struct Ticket {
    ticket: u32,
}

async fn redeem(ctx: McpCtx, Ticket { ticket }: Ticket) -> McpResult<Value> {
    let language = ctx.extension(DESK).and_then(|settings| settings.get("language").cloned());
    Ok(
        json!({"content": [{"type": "text", "text": format!("ticket {ticket}, {}", language.unwrap_or_default())}]}),
    )
}

/// Asked at a desk, one gets a ticket, and comes back with it.
fn server() -> McpServer {
    let desk = Extension::new(DESK)
        .setting("open", true)
        .mutual()
        .method("desk/redeem", redeem)
        .method("desk/refuse", |_, ()| async { Err::<Value, _>("closed".into()) })
        .listen("desks", |_, desks| async move {
            let desks: Vec<String> = desks.parse()?;
            let known: Vec<_> = desks.into_iter().filter(|desk| desk == "north").collect();
            let (send, notifications) = mpsc::channel(1);
            for number in 1..=2 {
                let told = RawJson::from_value(&json!({"number": number}))?;
                let send = send.clone();
                tokio::spawn(async move { send.send(("notifications/desk".into(), told)).await });
            }
            Ok(ListenField { acknowledged: json!(known), notifications })
        });
    McpServer::new("desks", "1.0.0").extension(desk).tool(
        Tool::new("ask", "Asks"),
        |ctx: McpCtx, ()| async move {
            ctx.require_extension(DESK)?;
            Err::<String, _>(TypedResult::new("com.example/ticket", &json!({"ticket": 7}))?.into())
        },
    )
}

fn client() -> McpClient {
    let language = Meta::from_iter([("language".to_owned(), json!("en"))]);
    McpClient::new("visitor", "1.0.0").extension(DESK, language).on_result_type(
        "com.example/ticket",
        |session, result| async move {
            let ticket = RawJson::from_value(&json!({"ticket": result.get("ticket").unwrap()})).unwrap();
            session.request("desk/redeem", Some(ticket)).await
        },
    )
}

#[tokio::test]
async fn an_extension_is_declared_by_both_sides_in_both_eras() {
    for revision in [McpRevision::V2025_11_25, McpRevision::V2026_07_28] {
        let session = client().revision(revision).connect(server().in_memory()).await.unwrap();
        let declared = session.capabilities().extensions.clone().unwrap();
        assert_eq!(declared[DESK], json!({"open": true}), "{revision}");
        let ticket = Some(RawJson::new(r#"{"ticket": 3}"#).unwrap().into_owned());
        let redeemed = session.request("desk/redeem", ticket).await.unwrap();
        assert!(redeemed.as_str().contains("ticket 3, \\\"en\\\""), "{revision}: {redeemed}");
        let refused = session.request("desk/refuse", None).await.unwrap_err();
        assert!(matches!(&refused, CallError::Error(error) if error.message == "closed"), "{refused:?}");
    }
}

#[tokio::test]
async fn a_result_of_another_type_is_resolved_for_the_caller() {
    let session = client().connect(server().in_memory()).await.unwrap();
    assert_eq!(session.call("ask", ()).await.unwrap().text(), "ticket 7, \"en\"");
    // Before 2026-07-28 results have no types: that is said, and no empty success.
    let session = client().revision(McpRevision::V2025_11_25).connect(server().in_memory()).await.unwrap();
    let Err(CallError::Error(error)) = session.call("ask", ()).await else { panic!() };
    assert!(error.data.unwrap().as_str().contains("`com.example/ticket` cannot be told in 2025-11-25"));
    // One that nobody resolves is an error.
    let unresolving = McpClient::new("visitor", "1.0.0").extension(DESK, Meta::new());
    let session = unresolving.connect(server().in_memory()).await.unwrap();
    let error = session.call("ask", ()).await.unwrap_err();
    assert!(
        matches!(&error, CallError::Decode(reason) if reason.contains("com.example/ticket")),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_client_that_does_not_declare_it_is_refused() {
    for (revision, want) in [
        (McpRevision::V2025_11_25, ErrorCode::METHOD_NOT_FOUND),
        (McpRevision::V2026_07_28, code::MISSING_CAPABILITY),
    ] {
        let client = McpClient::new("stranger", "1.0.0").revision(revision);
        let session = client.connect(server().in_memory()).await.unwrap();
        let ticket = Some(RawJson::new(r#"{"ticket": 3}"#).unwrap().into_owned());
        let Err(CallError::Error(error)) = session.request("desk/redeem", ticket).await else { panic!() };
        assert_eq!(error.code, want, "{revision}");
        if revision.is_modern() {
            let required = error.data.unwrap();
            assert_eq!(
                required.as_str(),
                r#"{"requiredCapabilities":{"extensions":{"com.example/desk":{}}}}"#
            );
            let Err(CallError::Error(error)) = session.call("ask", ()).await else { panic!() };
            assert_eq!(error.code, want);
            let extensions = Meta::from_iter([("desks".to_owned(), json!(["north"]))]);
            let interests = Interests { extensions, ..Interests::default() };
            let Err(CallError::Error(error)) = session.listen(&interests).await else { panic!() };
            assert_eq!(error.code, want);
        }
    }
}

#[tokio::test]
async fn a_field_of_listen_is_acknowledged_and_told() {
    let (send, mut told) = mpsc::unbounded_channel();
    let acknowledged = send.clone();
    let client = client()
        .on_notification("notifications/subscriptions/acknowledged", move |params| {
            acknowledged.send(params.get("notifications").unwrap().into_owned()).unwrap();
        })
        .on_notification("notifications/desk", move |params| {
            assert!(params.get("_meta").unwrap().get("io.modelcontextprotocol/subscriptionId").is_some());
            send.send(params.get("number").unwrap().into_owned()).unwrap();
        });
    let session = client.connect(server().in_memory()).await.unwrap();
    let extensions = Meta::from_iter([("desks".to_owned(), json!(["north", "south"]))]);
    let interests = Interests { tools_list_changed: true, extensions, ..Interests::default() };
    let listening = tokio::spawn({
        let session = session.clone();
        async move { session.listen(&interests).await }
    });
    let mut heard = Vec::new();
    while heard.len() < 3 {
        heard.push(told.recv().await.unwrap().to_string());
    }
    let acknowledged: Value = serde_json::from_str(&heard[0]).unwrap();
    assert_eq!(acknowledged, json!({"desks": ["north"], "toolsListChanged": true}));
    heard[1..].sort();
    assert_eq!(heard[1..], ["1", "2"]);
    listening.abort();
}

/// A request of the server that is not of the protocol itself; in the modern era it is a question in a result.
#[tokio::test]
async fn a_client_answers_requests_that_an_extension_adds() {
    let server = || {
        McpServer::new("desks", "1.0.0").tool(
            Tool::new("time", "Asks the client"),
            |ctx: McpCtx, ()| async move {
                let time: u32 = ctx.rpc().peer().call("clock/read", json!({"zone": "UTC"})).await?;
                Ok(time)
            },
        )
    };
    let plain = || McpClient::new("visitor", "1.0.0").revision(McpRevision::V2025_11_25);
    let with_clock = |client: McpClient| {
        client.extension("com.example/clock", Meta::new()).on_request("clock/read", |params| async move {
            assert_eq!(params.as_str(), r#"{"zone":"UTC"}"#);
            Ok(RawJson::from_value(&7)?)
        })
    };
    let session = with_clock(plain()).connect(server().in_memory()).await.unwrap();
    assert_eq!(session.call("time", ()).await.unwrap().text(), "7");
    let session = plain().connect(server().in_memory()).await.unwrap();
    assert!(session.call("time", ()).await.unwrap().is_error);

    let router = Router::new().method_raw("tools/call", |_, params| {
        let answered = params.and_then(|params| params.get("inputResponses").map(|answers| answers.to_string()));
        let result = match answered.as_deref() {
            None => json!({"resultType": "input_required", "inputRequests": {"time": {"method": "clock/read", "params": {"zone": "UTC"}}}}),
            Some(answers) => json!({"resultType": "complete", "content": [{"type": "text", "text": answers}]}),
        };
        std::future::ready(RawJson::from_value(&result).map_err(Into::into))
    });
    let (ours, theirs) = sabir::transport::memory();
    tokio::spawn(sabir::serve(theirs.dialect(sabir::MCP), router));
    let peer = sabir::connect(ours.dialect(sabir::MCP), Router::new()).await.unwrap();
    let session = with_clock(McpClient::new("visitor", "1.0.0")).assume(
        McpRevision::V2026_07_28,
        peer,
        Default::default(),
    );
    assert_eq!(session.call("time", ()).await.unwrap().text(), r#"{"time":7}"#);
}
