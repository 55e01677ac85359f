//! Commands by name: what `workspace/executeCommand` runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use lsp_types::request::{ExecuteCommand, Request};
use lsp_types::{ExecuteCommandParams, LSPAny};
use sabir::{ErrorCode, ErrorObject, RawJson, Router};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::LspCtx;
use crate::handler::{BoxFuture, Hook, LspHandler};
use crate::params;

/// A handler of a command, with its types forgotten. It is given the arguments.
type Command = Arc<dyn Fn(LspCtx, &RawJson<'_>) -> sabir::Result<BoxFuture<RawJson<'static>>> + Send + Sync>;

pub(super) type Commands = BTreeMap<String, Command>;

pub(super) fn command<P, T>(handler: impl LspHandler<LspCtx, P, T>) -> Command
where
    P: DeserializeOwned + 'static,
    T: Serialize + 'static,
{
    Arc::new(move |ctx: LspCtx, arguments: &RawJson<'_>| {
        Ok(written(handler(ctx, params::read(Some(arguments))?)))
    })
}

/// The result of a handler as JSON.
fn written<T: Serialize + 'static>(
    handler: impl Future<Output = sabir::Result<T>> + Send + 'static,
) -> BoxFuture<RawJson<'static>> {
    Box::pin(async move { Ok(RawJson::from_value(&handler.await?)?) })
}

/// Runs commands. Those without a name go to `others`.
pub(super) fn route(
    router: Router,
    commands: Commands,
    others: Option<Hook<LspCtx, ExecuteCommandParams, Option<LSPAny>>>,
) -> Router {
    if commands.is_empty() && others.is_none() {
        return router;
    }
    router.method_borrowed(ExecuteCommand::METHOD, move |rpc, raw| {
        let ctx = LspCtx::new(rpc, raw)?;
        ctx.connection().admit()?;
        let params: ExecuteCommandParams = params::read(raw)?;
        if let Some(command) = commands.get(&params.command) {
            return match raw.and_then(|raw| raw.get("arguments")) {
                Some(arguments) => command(ctx, &arguments),
                None => command(ctx, &RawJson::from_value(&[(); 0])?),
            };
        }
        let Some(others) = &others else { return Err(unknown(&params.command)) };
        Ok(written(others(ctx, params)))
    })
}

fn unknown(command: &str) -> ErrorObject {
    ErrorObject::because(ErrorCode::INVALID_PARAMS, format!("`{command}` is not a command of this server"))
}
