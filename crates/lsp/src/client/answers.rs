//! What a client answers by itself.

use lsp_types::ConfigurationParams;
use sabir::{Ctx, ErrorCode, ErrorObject, RawJson, Router};
use serde_json::{Value, json};

use super::{Config, LspSession};
use crate::params;

pub(super) fn routes() -> Router {
    let mut router = Router::new()
        .method_borrowed("workspace/configuration", |rpc, raw| {
            let asked: ConfigurationParams = params::read(raw)?;
            let settings = &rpc.state::<Config>().settings;
            let values: Vec<Value> =
                asked.items.iter().map(|item| section(settings, item.section.as_deref())).collect();
            Ok(async move { Ok(values) })
        })
        .method_borrowed("workspace/workspaceFolders", |rpc: Ctx, _| {
            let folders = rpc.state::<Config>().folders.clone();
            Ok(async move { Ok((!folders.is_empty()).then_some(folders)) })
        })
        .method_borrowed("window/showDocument", |_, _| Ok(async { Ok(json!({ "success": false })) }))
        .method_borrowed("workspace/applyEdit", |_, _| {
            let failure_reason = "this client does not edit documents";
            Ok(async move { Ok(json!({ "applied": false, "failureReason": failure_reason })) })
        });
    for method in OBSERVED {
        router = router.method_borrowed(*method, |rpc, raw| {
            LspSession::of(rpc.peer()).observe(method, raw)?;
            Ok(async { Ok(()) })
        });
    }
    for method in ACKNOWLEDGED.iter().chain(&["window/showMessageRequest"]) {
        router = router.method_borrowed(*method, |_, _| Ok(async { Ok(()) }));
    }
    router.fallback(|rpc, _, _| async move {
        if rpc.is_request() {
            return Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND));
        }
        Ok(RawJson::from_value(&())?)
    })
}

/// What the state of the session depends on: see [`LspSession::observe`].
const OBSERVED: &[&str] =
    &["client/registerCapability", "client/unregisterCapability", "textDocument/publishDiagnostics"];

/// Requests by which a server announces something, and waits until that is known: the answer is null.
pub const ACKNOWLEDGED: &[&str] = &[
    "window/workDoneProgress/create",
    "workspace/semanticTokens/refresh",
    "workspace/codeLens/refresh",
    "workspace/inlayHint/refresh",
    "workspace/inlineValue/refresh",
    "workspace/diagnostic/refresh",
    "workspace/foldingRange/refresh",
];

/// The settings at a path of names with dots between them.
fn section(settings: &Value, section: Option<&str>) -> Value {
    let names = section.into_iter().flat_map(|section| section.split('.'));
    let found = names.into_iter().try_fold(settings, |settings, name| settings.get(name));
    found.cloned().unwrap_or_default()
}
