//! Rules of the Language Server Protocol 3.17.

use std::collections::HashMap;

use sabir_proto::{Id, Notification, RawJson, Request, Response};

use crate::json_path::{member, text_at};
use crate::rules::engine::calls::{Call, Side};
use crate::rules::engine::finding::quoted;
use crate::rules::engine::session::CheckContext;
use crate::rules::table::*;

/// Progress tokens that are remembered; at the bound all are forgotten.
const TOKENS: usize = 4096;
/// Bytes of a token. Longer ones are not followed.
const LONGEST: usize = 256;

/// Requests that only the server sends.
const OF_SERVER: [&str; 20] = [
    "client/registerCapability",
    "client/unregisterCapability",
    "window/showDocument",
    "window/showMessageRequest",
    "window/workDoneProgress/create",
    "workspace/applyEdit",
    "workspace/codeLens/refresh",
    "workspace/configuration",
    "workspace/diagnostic/refresh",
    "workspace/foldingRange/refresh",
    "workspace/inlayHint/refresh",
    "workspace/inlineValue/refresh",
    "workspace/semanticTokens/refresh",
    "workspace/workspaceFolders",
    "window/showMessage",
    "window/logMessage",
    "telemetry/event",
    "textDocument/publishDiagnostics",
    "$/logTrace",
    "workspace/textDocumentContent/refresh",
];

/// The first parts of names that only the client sends, unless they are the server's.
const OF_CLIENT: [&str; 18] = [
    "initialize",
    "initialized",
    "shutdown",
    "exit",
    "$/setTrace",
    "textDocument/",
    "notebookDocument/",
    "callHierarchy/",
    "typeHierarchy/",
    "completionItem/",
    "codeAction/",
    "codeLens/",
    "documentLink/",
    "inlayHint/",
    "workspaceSymbol/",
    "workspace/did",
    "workspace/will",
    "window/workDoneProgress/cancel",
];

/// Who sends a method, if only one side does.
pub(crate) fn sender(method: &str) -> Option<Side> {
    if OF_SERVER.contains(&method) {
        return Some(Side::Server);
    }
    let of_client = |name: &&'static str| match name.ends_with('/') || name.starts_with("workspace/") {
        true => method.starts_with(*name),
        false => method == *name,
    };
    let others = ["workspace/symbol", "workspace/executeCommand", "workspace/diagnostic"];
    (OF_CLIENT.iter().any(of_client) || others.contains(&method)).then_some(Side::Client)
}

/// One LSP session.
#[derive(Default)]
pub(crate) struct Lsp {
    /// The line of `initialize`.
    initialize: Option<u64>,
    /// The line of `shutdown`.
    shutdown: Option<u64>,
    tokens: HashMap<Id<'static>, Progress>,
    /// Requests that wait for parts of their result: token by id.
    partial: HashMap<(Side, Id<'static>), Id<'static>>,
    forgot: bool,
    /// Records are missing: `initialize` may be among them.
    gap: bool,
}

/// What came by a token.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Progress {
    #[default]
    Nothing,
    Begun,
    Ended,
    /// Parts of a result.
    Parts(bool),
}

impl Lsp {
    /// Records are missing: tokens may have begun or ended in them. What the client has sent stays sent.
    pub(crate) fn missed(&mut self) {
        let Lsp { initialize, shutdown, .. } = *self;
        *self = Lsp { initialize, shutdown, forgot: true, gap: true, ..Lsp::default() };
    }

    /// Whether the request came too early.
    pub(crate) fn request(&mut self, context: &mut CheckContext<'_>, request: &Request<'_>) -> bool {
        let method = &*request.method;
        self.call(context, method);
        let params = request.params.as_ref().map_or("null", RawJson::as_str);
        match method {
            "initialize" => {
                if let Some(line) = self.initialize {
                    context.add(&LSP002, method, "`initialize` was sent before");
                    context.report.related(&LSP002, line, "it was sent here");
                }
                self.initialize.get_or_insert(context.line());
            }
            "shutdown" => self.shutdown = Some(context.line()),
            "window/workDoneProgress/create" => self.token(member(params, &["token"]), Progress::Nothing),
            _ => {}
        }
        self.token(member(params, &["workDoneToken"]), Progress::Nothing);
        if let Some(token) = member(params, &["partialResultToken"]) {
            self.token(Some(token), Progress::Parts(false));
            if let Some(token) = id(token)
                && self.partial.len() < TOKENS
            {
                self.partial.insert((context.from, request.id.clone().into_owned()), token);
            }
        }
        context.from == Side::Client && self.initialize.is_none() && !self.gap
    }

    pub(crate) fn notification(&mut self, context: &mut CheckContext<'_>, notification: &Notification<'_>) {
        let method = &*notification.method;
        self.call(context, method);
        let params = notification.params.as_ref().map_or("null", RawJson::as_str);
        match method {
            "$/cancelRequest" => {
                let line = context.line();
                if let Some(id) = member(params, &["id"]).and_then(id)
                    && let Some(call) = context.calls.get(context.from, &id)
                {
                    call.cancelled = Some(line);
                }
            }
            "$/progress" => self.progress(context, params),
            _ => {}
        }
    }

    pub(crate) fn response(
        &mut self,
        context: &mut CheckContext<'_>,
        response: &Response<'_>,
        asked: Option<&Call>,
    ) {
        let Some(call) = asked.filter(|call| !call.invalid) else { return };
        let code = response.outcome.as_ref().err().map(|error| error.code.0);
        let entry = context.entry;
        if call.mark.set && code != Some(-32002) {
            context.add(&LSP001, entry, format!("{} came before `initialize`", quoted(&call.method)));
            context.report.related(&LSP001, call.line, "the request is here");
        }
        if call.method.starts_with("$/") && code != Some(-32601) {
            context.add(&LSP007, entry, format!("{} is not a request of the protocol", quoted(&call.method)));
            context.report.related(&LSP007, call.line, "the request is here");
        }
        if self.partial.is_empty() {
            return;
        }
        let token = self.partial.remove(&(call.side, call.id.clone()));
        let parts = token.and_then(|token| self.tokens.remove(&token));
        if let (Some(Progress::Parts(true)), Ok(result)) = (parts, &response.outcome)
            && !matches!(result.as_str(), "null" | "[]")
            && member(result.as_str(), &["items"]) != Some("[]")
        {
            let part = context.part(&["result"]);
            context.add(&LSP009, part, "parts of this result were sent before");
        }
    }

    /// Direction, and what may follow `shutdown`.
    fn call(&mut self, context: &mut CheckContext<'_>, method: &str) {
        if sender(method).is_some_and(|side| side != context.from) {
            context.add(
                &LSP005,
                method,
                format!("{} must not be sent by the {}", quoted(method), context.from.name()),
            );
        }
        if let Some(line) = self.shutdown
            && context.from == Side::Client
            && !matches!(method, "exit" | "$/cancelRequest")
        {
            context.add(&LSP003, method, format!("{} is sent after `shutdown`", quoted(method)));
            context.report.related(&LSP003, line, "`shutdown` is here");
        }
    }

    fn token(&mut self, text: Option<&str>, progress: Progress) {
        let Some(text) = text else { return };
        let Some(token) = id(text) else {
            self.forgot |= text.len() > LONGEST;
            return;
        };
        if self.tokens.len() >= TOKENS {
            self.tokens.clear();
            self.forgot = true;
        }
        self.tokens.insert(token, progress);
    }

    fn progress(&mut self, context: &mut CheckContext<'_>, params: &str) {
        let Some(text) = member(params, &["token"]) else { return };
        let Some(state) = id(text).and_then(|token| self.tokens.get_mut(&token)) else {
            if !self.forgot {
                context.add(&LSP008, text, format!("no one created the token {}", quoted(text)));
            }
            return;
        };
        if let Progress::Parts(came) = state {
            *came = true;
            return;
        }
        let what = text_at(params, &["value", "kind"]);
        let wrong = match (what.as_deref(), *state) {
            (Some("begin"), Progress::Nothing) => {
                *state = Progress::Begun;
                None
            }
            (Some("report"), Progress::Begun) => None,
            (Some("end"), Progress::Begun) => {
                *state = Progress::Ended;
                None
            }
            (Some("begin"), _) => Some("`begin` is sent twice"),
            (_, Progress::Nothing) => Some("nothing was sent by this token before, so it must be `begin`"),
            _ => Some("the progress has ended already"),
        };
        if let Some(wrong) = wrong {
            let part = context.part(&["params", "value", "kind"]);
            context.add(&LSP008, part, wrong);
        }
    }
}

fn id(text: &str) -> Option<Id<'static>> {
    if text.len() > LONGEST {
        return None;
    }
    RawJson::new(text).ok().and_then(Id::from_json).map(Id::into_owned)
}
