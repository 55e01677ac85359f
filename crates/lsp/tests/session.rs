//! A client and a server of this crate, through a whole session.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sabir::{CallError, ErrorCode, Limits, Report, transport};
use sabir_lsp::lsp_types::notification::{
    DidChangeTextDocument, DidOpenTextDocument, Initialized, LogMessage, LogTrace, Notification, SetTrace,
    ShowMessage,
};
use sabir_lsp::lsp_types::request::{
    ApplyWorkspaceEdit, Completion, DocumentDiagnosticRequest, References, Request, SemanticTokensRefresh,
    ShowDocument, ShowMessageRequest,
};
use sabir_lsp::lsp_types::{
    ApplyWorkspaceEditResponse, CompletionParams, CompletionResponse, ConfigurationItem, Diagnostic,
    DocumentDiagnosticReport, DocumentDiagnosticReportResult, FullDocumentDiagnosticReport, Location,
    MessageActionItem, MessageType, Position, Range, ReferenceContext, ReferenceParams, Registration,
    RelatedFullDocumentDiagnosticReport, SetTraceParams, ShowDocumentParams, ShowDocumentResult,
    TextDocumentIdentifier, TextDocumentPositionParams, TraceValue, Unregistration, Uri,
    WorkDoneProgressBegin, WorkspaceEdit,
};
use sabir_lsp::{
    DocumentLimits, LspClient, LspCtx, LspServer, LspSession, PositionEncoding, code, server_cancelled,
};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

/// Methods of our own: what a test wants to do inside of a handler.
macro_rules! methods {
    ($($name:ident: $method:literal),*) => {
        $(enum $name {}
        impl Request for $name {
            type Params = Value;
            type Result = Value;
            const METHOD: &'static str = $method;
        })*
    };
}

methods!(Do: "test/do", Text: "test/text", Stale: "test/stale", Ask: "test/ask");

fn uri() -> Uri {
    "file:///a.txt".parse().unwrap()
}

async fn connect(server: LspServer, client: LspClient) -> LspSession {
    let (ours, theirs) = transport::memory();
    tokio::spawn(server.serve(theirs));
    client.connect(ours).await.unwrap()
}

fn server() -> LspServer {
    LspServer::new("test", "1").request::<Text>(|ctx, _| async move {
        let document = ctx.document(&uri())?;
        Ok(json!([document.version(), document.text(), document.language_id()]))
    })
}

fn client() -> LspClient {
    LspClient::new("test client", "1")
}

fn references() -> ReferenceParams {
    ReferenceParams {
        text_document_position: TextDocumentPositionParams::new(
            TextDocumentIdentifier::new(uri()),
            Position::new(0, 0),
        ),
        work_done_progress_params: Default::default(),
        partial_result_params: Default::default(),
        context: ReferenceContext { include_declaration: true },
    }
}

fn code_of<T: std::fmt::Debug>(answer: Result<T, CallError>) -> ErrorCode {
    match answer {
        Err(CallError::Error(error)) => error.code,
        other => panic!("an error was expected: {other:?}"),
    }
}

#[tokio::test]
async fn documents_follow_the_client_in_every_encoding() {
    use PositionEncoding::{Utf8, Utf16, Utf32};
    for encoding in [Utf8, Utf16, Utf32] {
        let session = connect(server().position_encodings([encoding]), client()).await;
        assert_eq!(session.position_encoding(), encoding);
        assert_eq!(code_of(session.request::<Text>(json!({})).await), ErrorCode::INVALID_PARAMS);
        session.open(uri(), "text", "a🐎b\r\nc\r").await.unwrap();
        for (version, text) in (2..).zip(["a🐎🐏b\r\nc\r", "a🐏b\r\nc\r\n", "ř\rc", "", "𝄞\n\n𝄞"])
        {
            session.change(&uri(), text).await.unwrap();
            let answer = session.request::<Text>(json!({})).await.unwrap();
            assert_eq!(answer, json!([version, text, "text"]), "{encoding:?}");
        }
        session.close(&uri()).await.unwrap();
        assert_eq!(code_of(session.request::<Text>(json!({})).await), ErrorCode::INVALID_PARAMS);
        session.shutdown().await.unwrap();
    }
}

/// The rule that servers with a pool of tasks break: a request sees every change that was sent before it.
#[tokio::test]
async fn a_request_sees_all_changes_before_it() {
    let server = server().notification::<DidChangeTextDocument>(|_, _| async {
        tokio::task::yield_now().await;
        Ok(())
    });
    let session = connect(server, client()).await;
    session.open(uri(), "text", "0").await.unwrap();
    let mut calls = Vec::new();
    for n in 1..500 {
        session.change(&uri(), &n.to_string()).await.unwrap();
        calls.push((n, tokio::spawn(session.request::<Text>(json!({})))));
        tokio::task::yield_now().await;
    }
    for (n, call) in calls {
        assert_eq!(call.await.unwrap().unwrap(), json!([n + 1, n.to_string(), "text"]));
    }
}

async fn publish(ctx: LspCtx, uri: Uri) -> sabir::Result<()> {
    let document = ctx.document(&uri)?;
    let whole = document.range(0..document.text().len());
    let diagnostics = vec![Diagnostic::new_simple(whole, document.text().to_owned())];
    Ok(ctx.client().publish_diagnostics(uri, diagnostics, Some(document.version())).await?)
}

#[tokio::test]
async fn diagnostics_are_waited_for_or_asked_for() {
    let pushing = server()
        .notification::<DidOpenTextDocument>(|ctx, opened| publish(ctx, opened.text_document.uri))
        .notification::<DidChangeTextDocument>(|ctx, changed| publish(ctx, changed.text_document.uri));
    let cancelled = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let pulled = server().request::<DocumentDiagnosticRequest>(move |ctx, params| {
        let first = !cancelled.swap(true, std::sync::atomic::Ordering::Relaxed);
        async move {
            if first {
                return Err(server_cancelled(true));
            }
            let document = ctx.document(&params.text_document.uri)?;
            let items = vec![Diagnostic::new_simple(Range::default(), document.text().to_owned())];
            let report = FullDocumentDiagnosticReport { result_id: None, items };
            Ok(DocumentDiagnosticReportResult::Report(DocumentDiagnosticReport::Full(
                RelatedFullDocumentDiagnosticReport {
                    related_documents: None,
                    full_document_diagnostic_report: report,
                },
            )))
        }
    });
    for server in [pushing, pulled] {
        let session = connect(server, client()).await;
        session.open(uri(), "text", "first").await.unwrap();
        assert_eq!(session.diagnostics(&uri()).await.unwrap()[0].message, "first");
        session.change(&uri(), "second").await.unwrap();
        assert_eq!(session.diagnostics(&uri()).await.unwrap()[0].message, "second");
        session.shutdown().await.unwrap();
        assert!(matches!(
            session.published_diagnostics(&"x:y".parse().unwrap()).await,
            Err(CallError::Closed(_))
        ));
    }
}

#[tokio::test]
async fn results_come_in_parts_if_the_client_wants_them() {
    let server = server().request::<References>(|ctx, _| async move {
        let mut found = ctx.partial_results();
        for line in 0..1000 {
            let at = Position::new(line, 0);
            found.push(Location::new(uri(), Range::new(at, at))).await?;
        }
        Ok(Some(found.finish().await?))
    });
    let session = connect(server, client()).await;
    let whole = session.request::<References>(references()).await.unwrap().unwrap();
    assert_eq!(whole.len(), 1000);

    let mut call = session.request_in_parts::<References, Vec<Location>>(references());
    let mut parts = Vec::new();
    while let Some(part) = call.next().await {
        parts.push(part.unwrap());
    }
    assert_eq!(call.response().await.unwrap(), Some(Vec::new()));
    assert_eq!(parts[0].len(), 1);
    assert_eq!(parts.concat(), whole);

    // A server that sends no parts, and one that fails after some.
    let mut call = session.request_in_parts::<Text, Value>(json!({}));
    assert!(call.next().await.is_none());
    assert_eq!(code_of(call.response().await), ErrorCode::INVALID_PARAMS);
}

#[tokio::test]
async fn a_result_that_is_not_a_list_is_sent_in_parts() {
    let server = server().request::<Do>(|ctx, _| async move {
        let mut sent = ctx.send_partial_result(&json!({"data": [1]})).await?;
        sent &= ctx.send_partial_result(&json!({"data": [2]})).await?;
        Ok(json!({ "sent": sent }))
    });
    let session = connect(server, client()).await;
    assert_eq!(session.request::<Do>(json!({})).await.unwrap(), json!({"sent": false}));
    let mut call = session.request_in_parts::<Do, Value>(json!({}));
    let mut parts = Vec::new();
    while let Some(part) = call.next().await {
        parts.push(part.unwrap());
    }
    assert_eq!(parts, [json!({"data": [1]}), json!({"data": [2]})]);
    assert_eq!(call.response().await.unwrap(), json!({"sent": true}));
}

/// The response does not wait for handlers of notifications, and neither do the parts that came before it. They are kept
/// also where no other notification has room behind the handler.
#[tokio::test]
async fn parts_are_not_lost_behind_a_slow_handler() {
    let server = server().request::<References>(|ctx, _| async move {
        for _ in 0..100 {
            ctx.client().log_message(MessageType::INFO, "searching").await?;
        }
        let mut found = ctx.partial_results();
        for line in 0..10 {
            let at = Position::new(line, 0);
            found.push(Location::new(uri(), Range::new(at, at))).await?;
        }
        Ok(Some(found.finish().await?))
    });
    let (begin, begun) = oneshot::channel::<()>();
    let waits = Mutex::new(Some(begun));
    let client = client().notification::<LogMessage>(move |_, _| {
        let begun = waits.lock().unwrap().take();
        async move {
            if let Some(begun) = begun {
                let _ = begun.await;
            }
            Ok(())
        }
    });
    let dropped = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&dropped);
    let (ours, theirs) = transport::memory();
    tokio::spawn(server.serve(theirs));
    let limits = Limits { queued_bytes: 1024, ..Limits::default() };
    let ours = ours.limits(limits).on_report(move |report| {
        if matches!(report, Report::Dropped { .. }) {
            counted.fetch_add(1, Ordering::Relaxed);
        }
    });
    let session = client.connect(ours).await.unwrap();
    let mut call = session.request_in_parts::<References, Vec<Location>>(references());
    let mut parts = Vec::new();
    while let Some(part) = call.next().await {
        parts.extend(part.unwrap());
    }
    let response = call.response().await.unwrap();
    begin.send(()).unwrap();
    parts.extend(response.unwrap());
    assert_eq!(parts.len(), 10);
    assert_ne!(dropped.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn work_is_told_of_and_cancelled() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let server = server().request::<Do>(|ctx, _| async move {
        let begin = WorkDoneProgressBegin { title: "Work".to_owned(), ..Default::default() };
        let work = ctx.begin_work(begin.clone()).await;
        work.report("half", Some(50)).await;
        work.end("done").await;
        drop(ctx.begin_work(begin.clone()).await);
        let cancelled = ctx.client().begin_work(begin).await;
        cancelled.cancelled().await;
        Ok(Value::Null)
    });
    let client = client().notification::<Progress>(move |session, params| {
        let _ = tell.send((session, params));
        async { Ok(()) }
    });
    let session = connect(server, client).await;
    let running = tokio::spawn(session.request::<Do>(json!({})));
    let mut seen = Vec::new();
    for _ in 0..6 {
        let (_, params) = told.recv().await.unwrap();
        seen.push((
            params["token"].clone(),
            params["value"]["kind"].clone(),
            params["value"]["message"].clone(),
        ));
    }
    let kinds: Vec<_> =
        seen.iter().map(|(_, kind, message)| (kind.as_str().unwrap(), message.as_str())).collect();
    let wanted = [
        ("begin", None),
        ("report", Some("half")),
        ("end", Some("done")),
        ("begin", None),
        ("end", None),
        ("begin", None),
    ];
    assert_eq!(kinds, wanted);
    assert_ne!(seen[0].0, seen[3].0);
    session.peer().notify("window/workDoneProgress/cancel", json!({"token": seen[5].0})).await.unwrap();
    running.await.unwrap().unwrap();

    // The progress of a request is at its own token.
    let running = tokio::spawn(session.request::<Do>(json!({"workDoneToken": "mine"})));
    assert!(told.recv().await.unwrap().1["value"]["kind"] == "end");
    assert_eq!(told.recv().await.unwrap().1["token"], "mine");
    running.abort();
}

/// `$/progress` with any value.
enum Progress {}

impl Notification for Progress {
    type Params = Value;
    const METHOD: &'static str = "$/progress";
}

#[tokio::test]
async fn a_session_is_opened_on_a_connection_that_is_there() {
    let (near, far) = transport::memory();
    tokio::spawn(
        server()
            .request::<Do>(|ctx: LspCtx, _| async move { Ok(json!(ctx.client_capabilities())) })
            .serve(far),
    );
    let transport = near.framing(sabir::Framing::Headers).dialect(sabir::LSP);
    let peer = sabir::connect(transport, sabir::Router::new()).await.unwrap();
    let client =
        client().capability("/workspace/configuration", json!(false)).capability("/experimental/a", json!(1));
    let session = client.initialize(&peer).await.unwrap();
    let said = session.request::<Do>(json!({})).await.unwrap();
    assert_eq!(said.pointer("/workspace/configuration"), Some(&json!(false)));
    assert_eq!(said.pointer("/workspace/workspaceFolders"), Some(&json!(true)));
    assert_eq!(said.pointer("/experimental"), Some(&json!({"a": 1})));
    session.shutdown().await.unwrap();
}

#[tokio::test]
async fn the_client_answers_what_servers_ask() {
    let server = server().request::<Do>(|ctx, _| async move {
        let client = ctx.client();
        let item = |section: &str| ConfigurationItem { scope_uri: None, section: Some(section.to_owned()) };
        let settings = client.configuration(vec![item("a.b"), item("a"), item("c.d")]).await?;
        let folders = client.workspace_folders().await?;
        client.request::<SemanticTokensRefresh>(()).await?;
        let edited = client.apply_edit(WorkspaceEdit::default()).await?;
        let unknown: Result<(), _> = client.peer().call("unknown", ()).await;
        let unknown = unknown.err().map(|error| error.to_string());
        Ok(json!([settings, folders, edited.applied, unknown]))
    });
    let folder: Uri = "file:///src".parse().unwrap();
    let client = client()
        .settings(json!({"a": {"b": 1}}))
        .folder_uri(folder, "src")
        .request::<ApplyWorkspaceEdit>(|_, _| async {
            Ok(ApplyWorkspaceEditResponse { applied: true, failure_reason: None, failed_change: None })
        });
    let session = connect(server, client).await;
    let answer = session.request::<Do>(json!({})).await.unwrap();
    let folders = json!([{"uri": "file:///src", "name": "src"}]);
    let unknown = "-32601: Method not found";
    assert_eq!(answer, json!([[1, {"b": 1}, null], folders, true, unknown]));
}

#[tokio::test]
async fn the_user_is_shown_messages_and_documents() {
    let showing = || {
        server().request::<Do>(|ctx, _| async move {
            let client = ctx.client();
            client.show_message(MessageType::WARNING, "look").await?;
            let actions = ["yes", "no"]
                .map(|title| MessageActionItem { title: title.into(), properties: Default::default() });
            let chosen = client.show_message_request(MessageType::INFO, "sure?", actions.into()).await?;
            let shown =
                ShowDocumentParams { uri: uri(), external: None, take_focus: Some(true), selection: None };
            let shown = client.show_document(shown).await?;
            Ok(json!([chosen.map(|action| action.title), shown.success]))
        })
    };
    // A client without a user answers for itself.
    let session = connect(showing(), client()).await;
    assert_eq!(session.request::<Do>(json!({})).await.unwrap(), json!([null, false]));

    let (tell, mut told) = mpsc::unbounded_channel();
    let client = client()
        .notification::<ShowMessage>(move |_, params| {
            tell.send(params).unwrap();
            async { Ok(()) }
        })
        .request::<ShowMessageRequest>(
            |_, params| async move { Ok(params.actions.unwrap_or_default().pop()) },
        )
        .request::<ShowDocument>(|_, params| async move {
            Ok(ShowDocumentResult { success: params.uri == uri() && params.take_focus == Some(true) })
        });
    let session = connect(showing(), client).await;
    assert_eq!(session.request::<Do>(json!({})).await.unwrap(), json!(["no", true]));
    let params = told.recv().await.unwrap();
    assert_eq!((params.typ, params.message.as_str()), (MessageType::WARNING, "look"));
}

#[tokio::test]
async fn capabilities_are_registered_and_taken_back() {
    let registration = |id: &str| Registration {
        id: id.to_owned(),
        method: "workspace/didChangeWatchedFiles".to_owned(),
        register_options: None,
    };
    let server = server().request::<Do>(move |ctx, id| async move {
        let id = id["id"].as_str().unwrap_or_default().to_owned();
        let method = "workspace/didChangeWatchedFiles".to_owned();
        ctx.client().unregister(vec![Unregistration { id, method }]).await?;
        Ok(Value::Null)
    });
    let server = server.request::<Ask>(|ctx, params| async move {
        match ctx.client().peer().call::<Value>("client/registerCapability", params).await {
            Err(CallError::Error(error)) => Ok(json!(error.code.to_string())),
            other => Ok(json!(format!("{other:?}"))),
        }
    });
    let server = server.notification::<Initialized>(move |ctx, _| async move {
        Ok(ctx.client().register(vec![registration("1"), registration("2")]).await?)
    });
    let session = connect(server, client()).await;
    session.request::<Do>(json!({"id": "1"})).await.unwrap();
    let left: Vec<String> = session.registrations().into_iter().map(|registration| registration.id).collect();
    assert_eq!(left, ["2"]);
    let options = json!("x".repeat(2 << 20));
    let too_much = json!({"registrations": [{"id": "3", "method": "m", "registerOptions": options}]});
    assert_eq!(session.request::<Ask>(too_much).await.unwrap(), "-32009");
    assert_eq!(session.registrations().len(), 1);
}

#[tokio::test]
async fn cancelled_and_stale_requests_end_with_their_codes() {
    let (began, mut ids) = mpsc::unbounded_channel();
    let server = server()
        .request::<Do>(move |ctx, _| {
            let began = began.clone();
            async move {
                began.send(ctx.rpc().id().await.map(|id| id.text().to_owned()))?;
                std::future::pending().await
            }
        })
        .request::<Stale>(|ctx, _| async move {
            let document = ctx.document(&uri())?;
            ctx.check_current(&document)?;
            let changed = ctx.state::<tokio::sync::Notify>();
            changed.notified().await;
            ctx.check_current(&document)?;
            Ok(Value::Null)
        })
        .notification::<DidChangeTextDocument>(|ctx, _| async move {
            ctx.state::<tokio::sync::Notify>().notify_one();
            Ok(())
        })
        .state(tokio::sync::Notify::new());
    let session = connect(server, client()).await;
    session.open(uri(), "text", "a").await.unwrap();
    let stale = tokio::spawn(session.request::<Stale>(json!({})));
    session.request::<Text>(json!({})).await.unwrap();
    session.change(&uri(), "b").await.unwrap();
    assert_eq!(code_of(stale.await.unwrap()), code::CONTENT_MODIFIED);

    let (answered, mut answers) = mpsc::unbounded_channel();
    // On the wire: our own client does not wait for the answer of what it has cancelled.
    let raw = session.peer().call_raw("test/do", None).on_reply(move |answer| {
        let _ = answered.send(answer.clone().err());
    });
    let raw = tokio::spawn(raw);
    let id: u64 = ids.recv().await.flatten().unwrap().parse().unwrap();
    session.peer().notify("$/cancelRequest", json!({"id": id})).await.unwrap();
    let answer = tokio::time::timeout(Duration::from_secs(20), answers.recv()).await;
    let Ok(Some(Some(CallError::Error(error)))) = answer else { panic!("{answer:?}") };
    assert_eq!(error.code, ErrorCode::REQUEST_CANCELLED);
    drop(raw);
}

#[tokio::test]
async fn traces_are_logged_as_the_client_wants() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let server = server().request::<Do>(|ctx, _| async move {
        ctx.client().log_trace("did it", || Some("in detail".to_owned())).await?;
        Ok(Value::Null)
    });
    let client = client().notification::<LogTrace>(move |_, params| {
        let _ = tell.send((params.message, params.verbose));
        async { Ok(()) }
    });
    let session = connect(server, client).await;
    for value in [TraceValue::Off, TraceValue::Messages, TraceValue::Verbose] {
        session.notify::<SetTrace>(SetTraceParams { value }).await.unwrap();
        session.request::<Do>(json!({})).await.unwrap();
    }
    assert_eq!(told.recv().await.unwrap(), ("did it".to_owned(), None));
    assert_eq!(told.recv().await.unwrap(), ("did it".to_owned(), Some("in detail".to_owned())));
}

#[tokio::test]
async fn a_handler_may_block_a_thread() {
    let server = server().request_blocking::<Completion>(|ctx, params: CompletionParams| {
        let document = ctx.document(&params.text_document_position.text_document.uri)?;
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(document.text(), "a");
        Ok(Some(CompletionResponse::Array(Vec::new())))
    });
    let session = connect(server, client()).await;
    session.open(uri(), "text", "a").await.unwrap();
    let params = json!({"textDocument": {"uri": uri()}, "position": {"line": 0, "character": 0}});
    let answer: Value = session.peer().call(Completion::METHOD, params).await.unwrap();
    assert_eq!(answer, json!([]));
}

#[tokio::test]
async fn what_a_client_may_have_open_is_limited() {
    let limits = DocumentLimits { count: 2, bytes: 4096 };
    let session = connect(server().document_limits(limits), client()).await;
    let text = async || session.request::<Text>(json!({})).await.map(|answer| answer[1].clone());
    let other = |name: &str| -> Uri { format!("file:///{name}").parse().unwrap() };
    session.open(other("b"), "text", "").await.unwrap();
    session.open(other("c"), "text", "").await.unwrap();
    session.open(uri(), "text", "a").await.unwrap();
    assert_eq!(code_of(text().await), ErrorCode::INVALID_PARAMS);
    session.close(&other("b")).await.unwrap();
    session.open(uri(), "text", "a").await.unwrap();
    assert_eq!(text().await.unwrap(), "a");
    // Where lines begin takes room, too.
    session.change(&uri(), &"\n".repeat(2000)).await.unwrap();
    assert_eq!(code_of(text().await), ErrorCode::INVALID_PARAMS);
    session.change(&uri(), "b").await.unwrap();
    assert_eq!(code_of(text().await), ErrorCode::INVALID_PARAMS);
    session.open(uri(), "text", "b").await.unwrap();
    assert_eq!(text().await.unwrap(), "b");
}
