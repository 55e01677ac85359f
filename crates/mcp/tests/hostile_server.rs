//! A client whose server means harm: lists without an end, questions without number, answers of the wrong shape.

#![expect(clippy::unwrap_used, reason = "a test may")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use sabir::{Router, transport};
use sabir_mcp::{ElicitResult, McpClient, McpSession};
use serde_json::{Value, json};

/// A server of the modern era with one more method, which answers with what the function says to the number of the call.
fn server(
    method: &'static str,
    answer: impl Fn(usize) -> Value + Send + Sync + 'static,
) -> (Router, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let router = Router::new()
        .method("server/discover", |_, _: Value| async {
            Ok(json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}))
        })
        .method(method, move |_, _: Value| std::future::ready(Ok(answer(counted.fetch_add(1, SeqCst)))));
    (router, calls)
}

async fn connected(client: McpClient, router: Router) -> McpSession {
    let (ours, theirs) = transport::memory();
    tokio::spawn(sabir::serve(theirs, router));
    client.connect(ours).await.unwrap()
}

fn client() -> McpClient {
    McpClient::new("tester", "1.0.0")
}

#[tokio::test]
async fn lists_that_do_not_end_are_given_up() {
    let page =
        |next: String, tools: usize| json!({"tools": vec![json!({"name": ""}); tools], "nextCursor": next});
    let (same, calls) = server("tools/list", move |_| page("a".into(), 1));
    let error = connected(client(), same).await.tools().await.unwrap_err().to_string();
    assert!(error.contains("same cursor twice"), "{error}");
    assert_eq!(calls.load(SeqCst), 2);

    let (circle, calls) = server("tools/list", move |number| page(format!("{}", number % 100), 1));
    let error = connected(client(), circle).await.tools().await.unwrap_err().to_string();
    assert!(error.contains("same cursor twice"), "{error}");
    assert_eq!(calls.load(SeqCst), 101);

    let (endless, _) = server("tools/list", move |number| page(number.to_string(), 20_000));
    let error = connected(client(), endless).await.tools().await.unwrap_err().to_string();
    assert!(error.contains("more than 100000 entries"), "{error}");

    let (large, _) = server("tools/list", move |number| page(number.to_string(), 200_000));
    let error = connected(client(), large).await.tools().await.unwrap_err().to_string();
    assert!(error.contains("more than 100000 entries"), "{error}");

    let (pages, calls) = server("prompts/list", |number| json!({"prompts": [], "nextCursor": number}));
    let error = connected(client(), pages).await.prompts().await.unwrap_err().to_string();
    assert!(error.contains("more than 10000 pages"), "{error}");
    assert_eq!(calls.load(SeqCst), 10_000);
}

#[tokio::test]
async fn questions_are_limited() {
    let asked = Arc::new(AtomicUsize::new(0));
    let answering = || {
        let asked = Arc::clone(&asked);
        client().on_elicit(move |_| {
            asked.fetch_add(1, SeqCst);
            std::future::ready(Ok(ElicitResult::decline()))
        })
    };
    let questions = |count: usize| {
        let question =
            json!({"method": "elicitation/create", "params": {"message": "?", "requestedSchema": {}}});
        let requests: serde_json::Map<_, _> =
            (0..count).map(|number| (number.to_string(), question.clone())).collect();
        json!({"resultType": "input_required", "inputRequests": requests})
    };
    let (flood, calls) = server("tools/call", move |_| questions(65));
    let error = connected(answering(), flood).await.call("any", ()).await.unwrap_err().to_string();
    assert!(error.contains("more than 64 entries"), "{error}");
    assert_eq!((calls.load(SeqCst), asked.load(SeqCst)), (1, 0));

    let (rounds, calls) = server("tools/call", move |_| questions(1));
    let error = connected(answering(), rounds).await.call("any", ()).await.unwrap_err().to_string();
    assert!(error.contains("asked back 32 times"), "{error}");
    assert_eq!((calls.load(SeqCst), asked.load(SeqCst)), (32, 32));
}

/// The client's user was never to be asked, whatever the server says.
#[tokio::test]
async fn what_the_client_does_not_offer_is_not_answered() {
    for method in ["elicitation/create", "sampling/createMessage", "roots/list", "tools/call", ""] {
        let question = json!({"method": method, "params": {"message": "?", "requestedSchema": {}}});
        let (server, calls) = server(
            "tools/call",
            move |_| json!({"resultType": "input_required", "inputRequests": {"a": question}}),
        );
        let error = connected(client(), server).await.call("any", ()).await.unwrap_err().to_string();
        assert!(error.contains("Method not found"), "{method}: {error}");
        assert_eq!(calls.load(SeqCst), 1);
    }
}

#[tokio::test]
async fn results_of_the_wrong_shape_are_errors_and_short() {
    let giant = "x".repeat(1 << 20);
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let deep: Value = serde_json::from_str(&deep).unwrap();
    for result in [
        json!(null),
        json!([]),
        json!("x"),
        json!({"content": giant}),
        json!({"content": [{"type": giant}]}),
        json!({"content": [{"type": "text"}]}),
        json!({"content": deep}),
        json!({"resultType": giant}),
        json!({"resultType": "input_required", "inputRequests": giant}),
        json!({"resultType": "input_required", "inputRequests": {"a": {"method": 1}}}),
    ] {
        let text = result.to_string();
        let (server, _) = server("tools/call", move |_| result.clone());
        let outcome = connected(client(), server).await.call("any", ()).await;
        let error = outcome.unwrap_err().to_string();
        assert!(error.len() < 2000, "{} bytes for {}", error.len(), &text[..text.len().min(100)]);
    }
}

/// What is not an answer, or is one to nobody's question, neither ends the connection nor is it taken for one.
#[tokio::test]
async fn messages_that_nobody_asked_for_are_passed_over() {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let (read, mut write) = tokio::io::split(theirs);
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let Some(id) = message.get("id") else { continue };
            for junk in [
                json!({"jsonrpc": "2.0", "id": 999_999, "result": {}}),
                json!({"jsonrpc": "2.0", "id": "no such call", "result": {}}),
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1e9, "progress": 1}}),
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
                json!({"jsonrpc": "2.0", "method": "no/such/notification"}),
            ] {
                write.write_all(format!("{junk}\nnot JSON at all\n").as_bytes()).await.unwrap();
            }
            let result = match message["method"].as_str() {
                Some("server/discover") => json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}),
                _ => json!({"content": [{"type": "text", "text": "fine"}]}),
            };
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
            write.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        }
    });
    let (read, write) = tokio::io::split(ours);
    let session = client().connect(transport::streams(read, write)).await.unwrap();
    for _ in 0..100 {
        let result = session.call("any", ()).timeout(Duration::from_secs(30)).await.unwrap();
        assert_eq!(result.text(), "fine");
    }
}

/// Progress that comes faster than it is read is thinned out, and the result still comes.
#[tokio::test]
async fn a_flood_of_progress_ends_with_the_result() {
    let flood = Router::new()
        .method("server/discover", |_, _: Value| async {
            Ok(json!({"supportedVersions": ["2026-07-28"], "capabilities": {}}))
        })
        .method("tools/call", |ctx: sabir::Ctx, _: Value| async move {
            for number in 0..20_000 {
                let odd =
                    [json!(number), json!({"progress": "much"}), json!({"progress": number, "total": null})];
                ctx.progress(&odd[number % 3]).await;
            }
            Ok(json!({"content": []}))
        });
    let session = connected(client(), flood).await;
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    let call = session.call("any", ()).on_progress(move |_| {
        counted.fetch_add(1, SeqCst);
    });
    call.await.unwrap();
    assert!(seen.load(SeqCst) > 0);
}

#[tokio::test]
async fn a_server_that_names_many_revisions_is_refused_in_few_words() {
    let versions = vec![json!("x".repeat(1000)); 1000];
    let router = Router::new().method("server/discover", move |_, _: Value| {
        std::future::ready(Ok(json!({"supportedVersions": versions, "capabilities": {}})))
    });
    let (ours, theirs) = transport::memory();
    tokio::spawn(sabir::serve(theirs, router));
    let error = client().connect(ours).await.unwrap_err().to_string();
    assert!(error.contains("which this client does not") && error.len() < 1000, "{} bytes", error.len());
}
