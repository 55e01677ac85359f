//! The methods that every server has.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Exit, Initialized, Notification,
    SetTrace, WorkDoneProgressCancel,
};
use lsp_types::request::{ExecuteCommand, Initialize, Request, Shutdown};
use lsp_types::{InitializeParams, InitializeResult, NumberOrString};
use sabir::{ErrorCode, ErrorObject, Peer, RawJson, Router};

use super::connection::Ending;
use super::{Config, LspCtx, LspServer, commands, initialize};
use crate::handler::Hook;
use crate::{client_process, params};

/// Handlers of methods that the server has itself, with their types forgotten.
pub(super) type Hooks = HashMap<&'static str, Box<dyn Any + Send + Sync>>;

const BUILT_IN: &[&str] = &[
    Initialize::METHOD,
    Initialized::METHOD,
    Shutdown::METHOD,
    ExecuteCommand::METHOD,
    Exit::METHOD,
    DidOpenTextDocument::METHOD,
    DidChangeTextDocument::METHOD,
    DidCloseTextDocument::METHOD,
    SetTrace::METHOD,
    WorkDoneProgressCancel::METHOD,
];

pub(super) fn is_built_in(method: &str) -> bool {
    BUILT_IN.contains(&method)
}

impl LspServer {
    pub(super) fn routes(self, ending: &Arc<Ending>) -> Router {
        let LspServer { mut config, router, mut hooks, commands, watches_client } = self;
        config.commands = commands.keys().cloned().collect();
        let config = Arc::new(config);
        let router = commands::route(router, commands, take(&mut hooks, ExecuteCommand::METHOD));
        let router = initialize(router, &mut hooks, config, watches_client.then(|| Arc::clone(ending)));
        let router = shutdown(router, &mut hooks, Arc::clone(ending));
        let router = exit(router, &mut hooks, Arc::clone(ending));
        let router = notification::<Initialized>(router, &mut hooks, |_, _| Ok(()));
        let router = notification::<DidOpenTextDocument>(router, &mut hooks, |ctx, params| {
            ctx.documents().open(params)
        });
        let router = notification::<DidChangeTextDocument>(router, &mut hooks, |ctx, params| {
            ctx.documents().change(params)
        });
        let router = notification::<DidCloseTextDocument>(router, &mut hooks, |ctx, params| {
            ctx.documents().close(params)
        });
        let router = notification::<SetTrace>(router, &mut hooks, |ctx, params| {
            ctx.connection().set_trace(params.value);
            Ok(())
        });
        let router = notification::<WorkDoneProgressCancel>(router, &mut hooks, |ctx, params| {
            if let NumberOrString::String(token) = &params.token {
                ctx.connection().cancel_work(token);
            }
            Ok(())
        });
        router.fallback(|rpc, method, raw| async move { unknown(&LspCtx::new(rpc, raw.as_ref())?, &method) })
    }
}

/// Whatever no handler takes.
fn unknown(ctx: &LspCtx, method: &str) -> sabir::Result<RawJson<'static>> {
    ctx.connection().admit()?;
    // Those that depend on how a side is made may be ignored, but not if an answer is wanted.
    if method.starts_with("$/") && !ctx.rpc().is_request() {
        return Ok(RawJson::from_value(&())?);
    }
    Err(ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND))
}

/// The handler that was added for a method, if any.
fn take<P: 'static, T: 'static>(hooks: &mut Hooks, method: &'static str) -> Option<Hook<LspCtx, P, T>> {
    let hook = hooks.remove(method)?;
    let hook =
        hook.downcast().unwrap_or_else(|_| panic!("`{method}` has the types that `lsp_types` gives it"));
    Some(*hook)
}

/// A notification that changes the state of the connection before its handler runs.
fn notification<N: Notification>(
    router: Router,
    hooks: &mut Hooks,
    change: fn(&LspCtx, &N::Params) -> sabir::Result<()>,
) -> Router {
    let hook = take::<N::Params, ()>(hooks, N::METHOD);
    router.method_borrowed(N::METHOD, move |rpc, raw| {
        let ctx = LspCtx::new(rpc, raw)?;
        ctx.connection().admit()?;
        let params = params::read(raw)?;
        change(&ctx, &params)?;
        let handler = hook.as_ref().map(|hook| hook(ctx, params));
        Ok(async move {
            match handler {
                Some(handler) => handler.await,
                None => Ok(()),
            }
        })
    })
}

fn initialize(
    router: Router,
    hooks: &mut Hooks,
    config: Arc<Config>,
    watched: Option<Arc<Ending>>,
) -> Router {
    let hook = take::<InitializeParams, InitializeResult>(hooks, Initialize::METHOD);
    router.method_borrowed(Initialize::METHOD, move |rpc, raw| {
        let ctx = LspCtx::new(rpc, raw)?;
        let handshake = ctx.connection().begin()?;
        let params: Arc<InitializeParams> = Arc::new(params::read(raw)?);
        ctx.connection().set_client(Arc::clone(&params));
        let handler = hook.as_ref().map(|hook| hook(ctx.clone(), (*params).clone()));
        let (config, watched) = (Arc::clone(&config), watched.clone());
        Ok(async move {
            let said = match handler {
                Some(handler) => handler.await?,
                None => InitializeResult { capabilities: config.capabilities.clone(), ..Default::default() },
            };
            let (result, encoding) = initialize::agree(&config, &params.capabilities, said);
            ctx.documents().set_up(encoding, config.limits);
            if let (Some(ending), Some(id)) = (watched, params.process_id) {
                watch_client(ctx.rpc().peer().clone(), id, ending);
            }
            handshake.finish();
            Ok(result)
        })
    })
}

/// Ends the connection when the client's process has ended. Without a runtime there is nothing that could wait for it.
fn watch_client(peer: Peer, id: u32, ending: Arc<Ending>) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    runtime.spawn(async move {
        tokio::select! {
            () = client_process::ended(id) => {
                ending.client_died.store(true, Ordering::Release);
                peer.shutdown(Duration::ZERO).await;
            }
            _ = peer.closed() => {}
        }
    });
}

fn shutdown(router: Router, hooks: &mut Hooks, ending: Arc<Ending>) -> Router {
    let hook = take::<(), ()>(hooks, Shutdown::METHOD);
    router.method_borrowed(Shutdown::METHOD, move |rpc, raw| {
        let ctx = LspCtx::new(rpc, raw)?;
        ctx.connection().admit()?;
        params::read::<()>(raw)?;
        ctx.connection().shut_down();
        ending.was_shut_down.store(true, Ordering::Release);
        let handler = hook.as_ref().map(|hook| hook(ctx, ()));
        Ok(async move {
            match handler {
                Some(handler) => handler.await,
                None => Ok(()),
            }
        })
    })
}

/// The only message that is taken at any time.
fn exit(router: Router, hooks: &mut Hooks, ending: Arc<Ending>) -> Router {
    let hook = take::<(), ()>(hooks, Exit::METHOD);
    router.method_borrowed(Exit::METHOD, move |rpc, raw| {
        let ctx = LspCtx::new(rpc, raw)?;
        ending.was_requested.store(true, Ordering::Release);
        let peer = ctx.rpc().peer().clone();
        let handler = hook.as_ref().map(|hook| hook(ctx, ()));
        Ok(async move {
            let outcome = match handler {
                Some(handler) => handler.await,
                None => Ok(()),
            };
            peer.shutdown(Duration::ZERO).await;
            outcome
        })
    })
}
