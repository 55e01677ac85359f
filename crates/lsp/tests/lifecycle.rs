//! From `initialize` to `exit`, message by message.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sabir::{CallError, Framing, Peer, Router, transport};
use sabir_lsp::lsp_types::notification::{DidChangeWorkspaceFolders, Initialized, Notification};
use sabir_lsp::lsp_types::request::{
    CodeActionRequest, ExecuteCommand, HoverRequest, Initialize, PrepareRenameRequest, Rename, Request,
    Shutdown,
};
use sabir_lsp::lsp_types::{
    ExecuteCommandOptions, InitializeResult, PositionEncodingKind, ServerCapabilities, TraceValue,
    WorkDoneProgressOptions, WorkspaceServerCapabilities,
};
use sabir_lsp::{Exit, ExitReason, LspServer, PositionEncoding};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

type Served = JoinHandle<Result<Exit, sabir::Error>>;

/// A method of our own.
enum Sleep {}

impl Request for Sleep {
    type Params = Vec<u64>;
    type Result = ();
    const METHOD: &'static str = "sleep";
}

fn server() -> LspServer {
    LspServer::new("test", "1").request::<Sleep>(|_, params| async move {
        tokio::time::sleep(Duration::from_millis(params[0])).await;
        Ok(())
    })
}

async fn start(server: LspServer) -> (Peer, Served) {
    let (ours, theirs) = transport::memory();
    let served = tokio::spawn(server.serve(theirs));
    let ours = ours.framing(Framing::Headers).dialect(sabir::LSP);
    (sabir::connect(ours, Router::new()).await.unwrap(), served)
}

async fn call(peer: &Peer, method: &'static str, params: Value) -> Result<Value, i64> {
    match peer.call(method, params).await {
        Ok(result) => Ok(result),
        Err(CallError::Error(error)) => Err(error.code.0),
        Err(other) => panic!("{method}: {other}"),
    }
}

fn nothing() -> Value {
    json!({ "processId": null, "capabilities": {} })
}

#[tokio::test(start_paused = true)]
async fn requests_are_refused_before_initialize_and_after_shutdown() {
    let (peer, served) = start(server()).await;
    for method in ["sleep", "shutdown", "unknown", "$/unknown"] {
        assert_eq!(call(&peer, method, Value::Null).await, Err(-32002), "{method}");
    }
    assert!(call(&peer, "initialize", nothing()).await.is_ok());
    assert_eq!(call(&peer, "initialize", nothing()).await, Err(-32600));
    assert_eq!(call(&peer, "sleep", json!([0])).await, Ok(Value::Null));
    assert_eq!(call(&peer, "sleep", json!(["a"])).await, Err(-32602));
    assert_eq!(call(&peer, "unknown", Value::Null).await, Err(-32601));
    assert_eq!(call(&peer, "$/unknown", Value::Null).await, Err(-32601));
    // Whoever has begun may finish.
    let slow = peer.call::<Value>("sleep", json!([1000]));
    let slow = tokio::spawn(slow);
    tokio::task::yield_now().await;
    assert_eq!(call(&peer, "shutdown", Value::Null).await, Ok(Value::Null));
    for method in ["sleep", "shutdown", "initialize", "unknown"] {
        assert_eq!(call(&peer, method, Value::Null).await, Err(-32600), "{method}");
    }
    assert_eq!(slow.await.unwrap().unwrap(), Value::Null);
    peer.notify("exit", ()).await.unwrap();
    let exit = served.await.unwrap().unwrap();
    assert_eq!(exit, Exit { was_shut_down: true, reason: ExitReason::Requested });
    assert_eq!(exit.code(), 0);
}

#[tokio::test]
async fn the_exit_code_is_one_without_a_shutdown() {
    let (peer, served) = start(server()).await;
    peer.notify("exit", ()).await.unwrap();
    assert_eq!(served.await.unwrap().unwrap().code(), 1);

    let (peer, served) = start(server()).await;
    call(&peer, "initialize", nothing()).await.unwrap();
    peer.shutdown(Duration::ZERO).await;
    let exit = served.await.unwrap().unwrap();
    assert_eq!(exit, Exit { was_shut_down: false, reason: ExitReason::Disconnected });
    assert_eq!(exit.code(), 1);
}

#[tokio::test]
async fn notifications_out_of_order_and_unknown_ones_are_ignored() {
    let (peer, served) = start(server()).await;
    let open = json!({"textDocument": {"uri": "file:///a", "languageId": "x", "version": 1, "text": "a"}});
    peer.notify("textDocument/didOpen", &open).await.unwrap();
    peer.notify("$/unknown", ()).await.unwrap();
    call(&peer, "initialize", nothing()).await.unwrap();
    peer.notify("initialized", json!({})).await.unwrap();
    peer.notify("$/unknown", json!({})).await.unwrap();
    peer.notify("unknown", json!({})).await.unwrap();
    assert_eq!(call(&peer, "sleep", json!([0])).await, Ok(Value::Null));
    // `shutdown` with params that others send.
    assert_eq!(call(&peer, "shutdown", json!({})).await, Ok(Value::Null));
    peer.notify("exit", json!({})).await.unwrap();
    assert_eq!(served.await.unwrap().unwrap().code(), 0);
}

#[tokio::test]
async fn a_refused_initialize_may_be_tried_again() {
    let refusing = server().request::<Initialize>(|_, params| async move {
        params.initialization_options.ok_or("options are missing")?;
        Ok(InitializeResult::default())
    });
    let (peer, _served) = start(refusing).await;
    assert_eq!(call(&peer, "initialize", json!({"capabilities": 7})).await, Err(-32602));
    assert_eq!(call(&peer, "initialize", nothing()).await, Err(-32603));
    assert_eq!(call(&peer, "sleep", json!([0])).await, Err(-32002));
    let with_options = json!({"processId": null, "capabilities": {}, "initializationOptions": {}});
    assert!(call(&peer, "initialize", with_options).await.is_ok());
    assert_eq!(call(&peer, "sleep", json!([0])).await, Ok(Value::Null));
}

/// A client that does not wait for the answer to `initialize` is not served before it.
#[tokio::test]
async fn requests_are_refused_while_initialize_runs() {
    let (go, gone) = tokio::sync::watch::channel(false);
    let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let slow = server().request::<Initialize>(move |ctx, _| {
        let (mut gone, begin) = (gone.clone(), begin.clone());
        async move {
            begin.send(ctx.client().trace())?;
            gone.wait_for(|go| *go).await?;
            Ok(InitializeResult::default())
        }
    });
    let (peer, _served) = start(slow).await;
    let params = json!({"processId": null, "capabilities": {}, "trace": "verbose"});
    let first = tokio::spawn(peer.call::<Value>("initialize", params));
    assert_eq!(begun.recv().await, Some(TraceValue::Verbose));
    assert_eq!(call(&peer, "sleep", json!([0])).await, Err(-32002));
    assert_eq!(call(&peer, "initialize", nothing()).await, Err(-32600));
    assert_eq!(call(&peer, "shutdown", Value::Null).await, Err(-32002));
    go.send(true).unwrap();
    assert!(first.await.unwrap().is_ok());
    assert_eq!(call(&peer, "sleep", json!([0])).await, Ok(Value::Null));
}

#[tokio::test]
async fn handlers_say_what_the_server_can_do() {
    let said = ServerCapabilities { definition_provider: None, ..ServerCapabilities::default() };
    let server = server().capabilities(said).request::<HoverRequest>(|_, _| async { Ok(None) });
    let (peer, _served) = start(server).await;
    let result = call(&peer, "initialize", nothing()).await.unwrap();
    assert_eq!(result["serverInfo"], json!({"name": "test", "version": "1"}));
    let capabilities = &result["capabilities"];
    assert_eq!(capabilities["hoverProvider"], true);
    assert_eq!(capabilities["definitionProvider"], Value::Null);
    assert_eq!(capabilities["textDocumentSync"]["change"], 2);
    assert_eq!(capabilities["positionEncoding"], "utf-16");
}

#[tokio::test]
async fn commands_are_declared_and_run_by_name() {
    let others = |server: LspServer| {
        server.request::<ExecuteCommand>(|_, params| async move { Ok(Some(json!(params.command))) })
    };
    let commands = || {
        server()
            .command("repeat", |_, (word, times): (String, usize)| async move { Ok(word.repeat(times)) })
            .command("nothing", |_, ()| async { Ok(()) })
    };
    let said = ServerCapabilities {
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: vec!["mine".to_owned(), "nothing".to_owned()],
            work_done_progress_options: WorkDoneProgressOptions { work_done_progress: Some(true) },
        }),
        ..ServerCapabilities::default()
    };
    let check = async |server: LspServer, declared: Value, unknown: Result<Value, i64>| {
        let (peer, _served) = start(server).await;
        let result = call(&peer, "initialize", nothing()).await.unwrap();
        assert_eq!(result["capabilities"]["executeCommandProvider"], declared);
        let run = async |params: Value| call(&peer, "workspace/executeCommand", params).await;
        assert_eq!(run(json!({"command": "mine"})).await, unknown);
        if declared["commands"].as_array().is_some_and(|commands| commands.contains(&json!("repeat"))) {
            assert_eq!(run(json!({"command": "repeat", "arguments": ["ab", 2]})).await, Ok(json!("abab")));
            assert_eq!(run(json!({"command": "repeat", "arguments": ["ab"]})).await, Err(-32602));
            assert_eq!(run(json!({"command": "repeat"})).await, Err(-32602));
            assert_eq!(run(json!({"command": "nothing"})).await, Ok(Value::Null));
            assert_eq!(run(json!({"command": "nothing", "arguments": []})).await, Ok(Value::Null));
        }
    };
    check(server(), Value::Null, Err(-32601)).await;
    check(commands(), json!({"commands": ["nothing", "repeat"]}), Err(-32602)).await;
    check(others(server()), json!({"commands": []}), Ok(json!("mine"))).await;
    let all = json!({"commands": ["mine", "nothing", "repeat"], "workDoneProgress": true});
    check(others(commands()).capabilities(said), all, Ok(json!("mine"))).await;
}

#[tokio::test]
async fn changes_of_folders_are_asked_for_where_they_are_handled() {
    let folders = || server().notification::<DidChangeWorkspaceFolders>(|_, _| async { Ok(()) });
    let check = async |server: LspServer, workspace: Value| {
        let (peer, _served) = start(server).await;
        let result = call(&peer, "initialize", nothing()).await.unwrap();
        assert_eq!(result["capabilities"]["workspace"], workspace);
    };
    let declared = json!({"workspaceFolders": {"supported": true, "changeNotifications": true}});
    check(server(), Value::Null).await;
    check(folders(), declared.clone()).await;
    let workspace = WorkspaceServerCapabilities::default();
    let said = ServerCapabilities { workspace: Some(workspace), ..ServerCapabilities::default() };
    check(folders().capabilities(said), declared).await;
}

/// Options of renames and of code actions go to those clients only that say that they know them.
#[tokio::test]
async fn options_are_for_clients_that_understand_them() {
    let check = async |document: Value, rename: Value, action: Value| {
        let server = server()
            .request::<Rename>(|_, _| async { Ok(None) })
            .request::<PrepareRenameRequest>(|_, _| async { Ok(None) })
            .request::<CodeActionRequest>(|_, _| async { Ok(None) });
        let (peer, _served) = start(server).await;
        let params = json!({"processId": null, "capabilities": {"textDocument": document}});
        let result = call(&peer, "initialize", params).await.unwrap();
        assert_eq!(result["capabilities"]["renameProvider"], rename, "{document}");
        assert_eq!(result["capabilities"]["codeActionProvider"], action, "{document}");
    };
    check(json!({}), json!(true), json!(true)).await;
    check(json!({"rename": {"prepareSupport": false}, "codeAction": {}}), json!(true), json!(true)).await;
    let literals = json!({"codeActionKind": {"valueSet": []}});
    check(
        json!({"rename": {"prepareSupport": true}, "codeAction": {"codeActionLiteralSupport": literals}}),
        json!({"prepareProvider": true}),
        json!({"resolveProvider": false}),
    )
    .await;
}

#[tokio::test]
async fn position_encodings_are_negotiated() {
    use PositionEncoding::{Utf8, Utf16, Utf32};
    let check = async |preferred: Vec<PositionEncoding>, offered: Value, wanted: &str| {
        let (peer, _served) = start(server().position_encodings(preferred)).await;
        let capabilities = json!({"general": {"positionEncodings": offered}});
        let result = call(&peer, "initialize", json!({"processId": null, "capabilities": capabilities}))
            .await
            .unwrap();
        assert_eq!(result["capabilities"]["positionEncoding"], wanted, "{offered}");
    };
    check(vec![Utf8], json!(["utf-16", "utf-8"]), "utf-8").await;
    check(vec![Utf16, Utf8], json!(["utf-16", "utf-8"]), "utf-16").await;
    check(vec![Utf32, Utf8], json!(["utf-8", "utf-32"]), "utf-32").await;
    check(vec![Utf8], json!(["utf-16"]), "utf-16").await;
    check(vec![Utf8], json!(["utf-7"]), "utf-16").await;
    assert_eq!(Utf8.kind(), PositionEncodingKind::UTF8);
}

#[tokio::test]
async fn handlers_of_the_lifecycle_run_in_it() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (on_initialized, on_shutdown) = (tell.clone(), tell);
    let server = server()
        .notification::<Initialized>(move |ctx, _| {
            let _ = on_initialized.send(ctx.initialize_params().client_info.clone().map(|info| info.name));
            async { Ok(()) }
        })
        .request::<Shutdown>(move |_, ()| {
            let _ = on_shutdown.send(None);
            async { Ok(()) }
        });
    let (peer, served) = start(server).await;
    let params = json!({"processId": null, "capabilities": {}, "clientInfo": {"name": "me"}});
    call(&peer, "initialize", params).await.unwrap();
    peer.notify(Initialized::METHOD, json!({})).await.unwrap();
    assert_eq!(told.recv().await.unwrap().as_deref(), Some("me"));
    call(&peer, "shutdown", Value::Null).await.unwrap();
    assert_eq!(told.recv().await, Some(None));
    peer.notify("exit", ()).await.unwrap();
    assert_eq!(served.await.unwrap().unwrap().code(), 0);
}

/// A process that does nothing, on every system: the next test starts it.
#[test]
#[ignore = "it waits to be killed"]
fn a_process_that_waits() {
    std::thread::sleep(Duration::from_secs(600));
}

/// The clock is virtual, the process is not.
#[tokio::test(start_paused = true)]
async fn the_server_ends_with_the_process_of_its_client() {
    let mut waiting = std::process::Command::new(std::env::current_exe().unwrap());
    let mut client = waiting.args(["--exact", "a_process_that_waits", "--ignored"]).spawn().unwrap();
    let (peer, served) = start(server()).await;
    let params = json!({"processId": client.id(), "capabilities": {}});
    call(&peer, "initialize", params).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(call(&peer, "sleep", json!([0])).await, Ok(Value::Null));
    client.kill().unwrap();
    client.wait().unwrap();
    let exit = served.await.unwrap().unwrap();
    assert_eq!(exit, Exit { was_shut_down: false, reason: ExitReason::ClientDied });

    // A process that is not there any more is the same.
    let (peer, served) = start(server()).await;
    let params = json!({"processId": client.id(), "capabilities": {}});
    call(&peer, "initialize", params).await.unwrap();
    assert_eq!(served.await.unwrap().unwrap().reason, ExitReason::ClientDied);

    let (peer, _served) = start(server().watch_client_process(false)).await;
    call(&peer, "initialize", json!({"processId": client.id(), "capabilities": {}})).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(call(&peer, "sleep", json!([0])).await, Ok(Value::Null));
}
