//! Handlers that call back, thousands deep and thousands at once: where others stop for ever.

#![allow(clippy::unwrap_used)]

use sabir::transport;
use sabir_lsp::lsp_types::notification::{DidOpenTextDocument, Initialized};
use sabir_lsp::lsp_types::request::{Request, WorkspaceConfiguration};
use sabir_lsp::lsp_types::{ConfigurationItem, ConfigurationParams};
use sabir_lsp::{LspClient, LspServer, LspSession};

const MANY: u32 = 5000;

/// Counts down, one side after the other.
enum Down {}

impl Request for Down {
    type Params = [u32; 1];
    type Result = u32;
    const METHOD: &'static str = "down";
}

fn server() -> LspServer {
    LspServer::new("test", "1")
        .request::<Down>(|ctx, [left]| async move {
            if left == 0 { Ok(0) } else { Ok(1 + ctx.client().request::<Down>([left - 1]).await?) }
        })
        .request::<WorkspaceConfiguration>(|ctx, asked| async move {
            Ok(ctx.client().request::<WorkspaceConfiguration>(asked).await?)
        })
}

fn client() -> LspClient {
    LspClient::new("test", "1").request::<Down>(|session, [left]| async move {
        if left == 0 { Ok(0) } else { Ok(1 + session.request::<Down>([left - 1]).await?) }
    })
}

async fn connect(server: LspServer) -> LspSession {
    let (ours, theirs) = transport::memory();
    tokio::spawn(server.serve(theirs));
    client().connect(ours).await.unwrap()
}

#[tokio::test]
async fn five_thousand_nested_call_backs_are_answered() {
    let session = connect(server()).await;
    assert_eq!(session.request::<Down>([2 * MANY]).await.unwrap(), 2 * MANY);
    session.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_thousand_requests_at_once_call_back() {
    let session = connect(server()).await;
    let items = |n: u32| vec![ConfigurationItem { scope_uri: None, section: Some(n.to_string()) }; 2];
    let call =
        |n| tokio::spawn(session.request::<WorkspaceConfiguration>(ConfigurationParams { items: items(n) }));
    let calls: Vec<_> = (0..MANY).map(call).collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().len(), 2);
    }
    session.shutdown().await.unwrap();
}

/// A handler of a notification holds up what comes behind it, but not the answer that it waits for.
#[tokio::test]
async fn handlers_of_notifications_call_back_too() {
    let ask = |ctx: sabir_lsp::LspCtx| async move {
        ctx.client().configuration(Vec::new()).await?;
        ctx.client().register(Vec::new()).await?;
        Ok(())
    };
    let server = server()
        .notification::<Initialized>(move |ctx, _| ask(ctx))
        .notification::<DidOpenTextDocument>(move |ctx, _| ask(ctx));
    let session = connect(server).await;
    for n in 0..MANY / 5 {
        session.open(format!("file:///{n}").parse().unwrap(), "text", "").await.unwrap();
    }
    assert_eq!(session.request::<Down>([10]).await.unwrap(), 10);
    session.shutdown().await.unwrap();
}
