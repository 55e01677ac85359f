//! Answers to what a server asks: from the command line, or from the person at the terminal.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sabir::{ErrorCode, ErrorObject, JsonKind, RawJson};
use sabir_mcp::{ClientCapabilities, Meta};
use serde_json::{Value, json};

use super::{Protocol, ask, lsp};
use crate::exit::Failure;
use crate::print::Printer;
use crate::suggest;
use crate::values::text_of;

/// How long a server waits for its folders before a person is asked. Many ask when a session begins, and answer calls all the
/// same. One that reports progress meanwhile does not wait for them.
const BEFORE_ROOTS: Duration = Duration::from_millis(500);

/// Answers questions. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// The answers that were given for a method, each for one question, the last one for all that follow.
    given: HashMap<String, Given>,
    /// A person can be asked.
    terminal: Option<Printer>,
    /// What a task asks is answered by another command.
    later: bool,
    /// One question at a time.
    turn: tokio::sync::Mutex<()>,
    asking: AtomicBool,
    /// The question is which folders the server may use.
    asking_folders: AtomicBool,
    /// The folders that a person has named: they stay the same.
    roots: Mutex<Option<RawJson<'static>>>,
    /// The person types something else.
    busy: AtomicBool,
    /// The session is ending: nobody is asked any more.
    closing: AtomicBool,
    /// A call has made progress since the server asked for its folders.
    progressed: AtomicBool,
    /// One of these has changed.
    changed: tokio::sync::Notify,
    /// What the session speaks: a peer may ask what that protocol has, and nothing else.
    speaks: Mutex<Option<Protocol>>,
    /// The last question that was refused.
    refused: Mutex<Option<String>>,
    /// The task that is waited for.
    task: Mutex<Option<String>>,
    /// It was heard of.
    heard: AtomicBool,
}

#[derive(Debug, Default)]
struct Given {
    answers: Vec<RawJson<'static>>,
    next: AtomicUsize,
}

impl Answers {
    /// From `--answer METHOD=JSON`, `METHOD=@FILE`; and with `terminal`, from the person who sits there.
    pub(crate) fn new(given: &[String], terminal: Option<&Printer>) -> Result<Answers, Failure> {
        let mut answers: HashMap<String, Given> = HashMap::new();
        for text in given {
            let (method, json) = read(text)?;
            answers.entry(method).or_default().answers.push(json);
        }
        Ok(Answers(Arc::new(Inner { given: answers, terminal: terminal.cloned(), ..Inner::default() })))
    }

    /// For a command that leaves a task to the server: what that asks is answered by a later one.
    pub(crate) fn answered_later(given: &[String], terminal: Option<&Printer>) -> Result<Answers, Failure> {
        let Answers(inner) = Answers::new(given, terminal)?;
        Ok(Answers(Arc::new(Inner { later: true, ..Arc::into_inner(inner).unwrap_or_default() })))
    }

    /// Whether a question can be answered.
    pub(crate) fn offers(&self, method: &str) -> bool {
        self.0.given.contains_key(method) || self.0.terminal.is_some()
    }

    /// An answer that was given for something like this question, and for no other.
    pub(crate) fn misspelt(&self, question: &str) -> Option<&str> {
        suggest::nearest(question, self.0.given.keys().map(String::as_str)).filter(|given| *given != question)
    }

    /// Whether no question at all can be answered.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.given.is_empty() && self.0.terminal.is_none()
    }

    /// Whether there is a person to ask.
    pub(crate) fn can_ask(&self) -> bool {
        self.0.terminal.is_some()
    }

    /// What an MCP server is told that it may ask.
    pub(crate) fn capabilities(&self) -> ClientCapabilities {
        let offered = |method| self.offers(method).then(Meta::new);
        ClientCapabilities {
            roots: offered("roots/list"),
            sampling: offered("sampling/createMessage"),
            elicitation: offered("elicitation/create").or_else(|| self.0.later.then(Meta::new)),
            ..ClientCapabilities::default()
        }
    }

    /// Whether a person is thinking: no time runs meanwhile.
    pub(crate) fn is_asking(&self) -> bool {
        self.0.asking.load(Ordering::Relaxed)
    }

    /// The person types something else, and cannot be asked; or can be again.
    pub(crate) fn set_busy(&self, busy: bool) {
        self.0.busy.store(busy, Ordering::Relaxed);
        self.0.progressed.store(false, Ordering::Relaxed);
        self.0.changed.notify_waiters();
    }

    /// Whether a task that is waited for was heard of since this was asked last: a server that tells how far it is does not
    /// hang.
    pub(crate) fn was_heard(&self) -> bool {
        self.0.heard.swap(false, Ordering::Relaxed)
    }

    /// The task that is waited for.
    pub(crate) fn task(&self) -> Option<String> {
        self.0.task.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_task(&self, id: Option<&str>) {
        self.0.heard.store(true, Ordering::Relaxed);
        *self.0.task.lock().unwrap_or_else(PoisonError::into_inner) = id.map(str::to_owned);
    }

    /// A call has made progress.
    pub(super) fn progressed(&self) {
        self.0.progressed.store(true, Ordering::Relaxed);
        self.0.changed.notify_waiters();
    }

    /// A call has ended: it did not wait for folders. The terminal is free for its result.
    pub(super) async fn called(&self) {
        self.progressed();
        while self.0.asking_folders.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
    }

    /// The session is ending: what is asked from now on is refused, and that is not worth a word.
    pub(super) fn close(&self) {
        self.0.closing.store(true, Ordering::Relaxed);
        self.set_busy(true);
    }

    pub(super) fn is_closing(&self) -> bool {
        self.0.closing.load(Ordering::Relaxed)
    }

    /// The last question that was refused.
    pub(crate) fn refused(&self) -> Option<String> {
        self.0.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the session speaks, as far as it is known.
    pub(super) fn set_protocol(&self, protocol: Option<Protocol>) {
        *self.0.speaks.lock().unwrap_or_else(PoisonError::into_inner) = protocol;
    }

    pub(super) fn protocol(&self) -> Option<Protocol> {
        *self.0.speaks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn answer(
        &self,
        method: &str,
        params: Option<&RawJson<'static>>,
    ) -> sabir::Result<RawJson<'static>> {
        if let Some(given) = self.0.given.get(method) {
            let next = given.next.fetch_add(1, Ordering::Relaxed).min(given.answers.len() - 1);
            return Ok(completed(method, params, &given.answers[next]));
        }
        if method == "ping" {
            return Ok(RawJson::from_value(&json!({}))?);
        }
        let speaks = self.protocol();
        if speaks == Some(Protocol::Lsp)
            && let Some(answer) = lsp::own_answer(method)
        {
            return Ok(answer);
        }
        let answer = match &self.0.terminal {
            Some(printer) if ask::can_ask(speaks, method) => match method {
                "roots/list" => self.folders(params, printer).await,
                _ if self.0.busy.load(Ordering::Relaxed) => None,
                _ => {
                    let _turn = self.0.turn.lock().await;
                    self.ask(method, params, printer).await.ok().flatten()
                }
            },
            _ => None,
        };
        answer.ok_or_else(|| {
            self.set_refused(Some(method));
            ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND)
        })
    }
}

impl Answers {
    /// `Err` if the question is pointless by now.
    async fn ask(
        &self,
        method: &str,
        params: Option<&RawJson<'static>>,
        printer: &Printer,
    ) -> Result<Option<RawJson<'static>>, Pointless> {
        let _asking = Asking::new(&self.0.asking);
        tokio::select! {
            biased;
            answer = ask::ask(method, params, printer) => Ok(answer),
            () = self.pointless(method) => Err(Pointless),
        }
    }

    /// Waits until nobody can be asked, or the server shows that it does not wait for its folders.
    async fn pointless(&self, method: &str) {
        loop {
            let changed = self.0.changed.notified();
            let is_moving = method == "roots/list" && self.0.progressed.load(Ordering::Relaxed);
            if is_moving || self.0.busy.load(Ordering::Relaxed) {
                return;
            }
            changed.await;
        }
    }

    /// Asks for the folders, once, and only while the server waits for them.
    async fn folders(
        &self,
        params: Option<&RawJson<'static>>,
        printer: &Printer,
    ) -> Option<RawJson<'static>> {
        const METHOD: &str = "roots/list";
        // They may be why a call fails that does not wait for them.
        self.set_refused(Some(METHOD));
        self.0.progressed.store(false, Ordering::Relaxed);
        while !self.is_closing() {
            if let Some(roots) = self.roots() {
                self.set_refused(None);
                return Some(roots);
            }
            let changed = self.0.changed.notified();
            if self.0.busy.load(Ordering::Relaxed) || self.0.progressed.load(Ordering::Relaxed) {
                changed.await;
                continue;
            }
            if tokio::time::timeout(BEFORE_ROOTS, changed).await.is_ok() {
                continue;
            }
            let _turn = self.0.turn.lock().await;
            // Somebody else may have asked meanwhile.
            if self.roots().is_some() {
                continue;
            }
            let _folders = Asking::new(&self.0.asking_folders);
            let Ok(roots) = self.ask(METHOD, params, printer).await else { continue };
            *self.0.roots.lock().unwrap_or_else(PoisonError::into_inner) = Some(roots?);
        }
        // Nobody has named one, and nobody will.
        RawJson::from_value(&json!({"roots": []})).ok()
    }

    /// The folders, if they were asked for before.
    fn roots(&self) -> Option<RawJson<'static>> {
        self.0.roots.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_refused(&self, method: Option<&str>) {
        *self.0.refused.lock().unwrap_or_else(PoisonError::into_inner) = method.map(str::to_owned);
    }
}

/// An answer would change nothing.
struct Pointless;

/// A person is asked while this lives.
struct Asking<'a>(&'a AtomicBool);

impl<'a> Asking<'a> {
    fn new(flag: &'a AtomicBool) -> Self {
        flag.store(true, Ordering::Relaxed);
        Asking(flag)
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// What is left out because it is always the same, or in the question: an elicitation is accepted with the content, a text is
/// what the model says or the title of an action, and of an object of settings those are taken that are asked for.
fn completed(method: &str, params: Option<&RawJson<'static>>, given: &RawJson<'static>) -> RawJson<'static> {
    let whole = match (method, given.kind()) {
        ("elicitation/create", JsonKind::Object) if given.get("action").is_none() => {
            given.parse::<Value>().ok().map(|content| json!({"action": "accept", "content": content}))
        }
        ("elicitation/create", JsonKind::String) => {
            given.parse::<Value>().ok().map(|action| json!({"action": action}))
        }
        ("sampling/createMessage", JsonKind::String) => {
            given.parse::<Value>().ok().map(|text| sampled(&text))
        }
        ("window/showMessageRequest", JsonKind::String) => Some(lsp::action(params, given)),
        ("workspace/configuration", JsonKind::Object) => Some(lsp::settings(params, given)),
        ("roots/list", JsonKind::Array) => given.parse::<Value>().ok().map(|roots| json!({"roots": roots})),
        _ => None,
    };
    whole.and_then(|whole| RawJson::from_value(&whole).ok()).unwrap_or_else(|| given.clone())
}

/// What a model would have said.
pub(super) fn sampled(text: &Value) -> Value {
    json!({
        "role": "assistant",
        "content": {"type": "text", "text": text},
        "model": "sabir",
        "stopReason": "endTurn",
    })
}

/// Whether what is not JSON is an answer: what a model says, the word that declines a form, the title of an action.
fn is_text(method: &str, text: &str) -> bool {
    match method {
        "sampling/createMessage" => !text.trim_start().starts_with(['{', '[', '"']),
        "elicitation/create" => matches!(text, "decline" | "cancel"),
        "window/showMessageRequest" => !text.trim_start().starts_with(['{', '"']),
        _ => false,
    }
}

/// `METHOD=JSON` or `METHOD=@FILE`.
fn read(text: &str) -> Result<(String, RawJson<'static>), Failure> {
    let wrong = |what: String| {
        Failure::usage(what)
            .hint("write it as --answer elicitation/create='{\"name\":\"Ada\"}' or --answer METHOD=@FILE")
    };
    let Some((method, value)) = text.split_once('=').filter(|(method, _)| !method.is_empty()) else {
        return Err(wrong(format!("`{text}` is not an answer: it names no method")));
    };
    let json = match value.strip_prefix('@') {
        Some(path) => text_of(Path::new(path))?,
        None => value.to_owned(),
    };
    let json = match RawJson::new(json.as_str()) {
        Ok(json) => json.into_owned(),
        Err(_) if is_text(method, &json) => RawJson::from_value(&json).map_err(Failure::usage)?,
        Err(error) => return Err(wrong(format!("the answer to `{method}` is not JSON: {error}"))),
    };
    Ok((method.to_owned(), json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_are_given_in_turn_and_completed() {
        let given = [
            r#"elicitation/create={"name":"Ada"}"#,
            "elicitation/create=decline",
            "sampling/createMessage=hi there",
            r#"roots/list=[{"uri":"file:///tmp"}]"#,
            r#"workspace/configuration=[null]"#,
            r#"workspace/configuration={"a":1,"b":{"c":[2]}}"#,
            "window/showMessageRequest=Not now",
        ];
        let answers = Answers::new(&given.map(str::to_owned), None).expect("answers");
        answers.set_protocol(Some(Protocol::Lsp));
        for (method, want) in [
            ("elicitation/create", Some(r#"{"action":"accept","content":{"name":"Ada"}}"#)),
            ("elicitation/create", Some(r#"{"action":"decline"}"#)),
            ("elicitation/create", Some(r#"{"action":"decline"}"#)),
            ("roots/list", Some(r#"{"roots":[{"uri":"file:///tmp"}]}"#)),
            ("workspace/configuration", Some("[null]")),
            ("workspace/configuration", Some(r#"[1,[2],null,{"a":1,"b":{"c":[2]}}]"#)),
            ("window/showMessageRequest", Some(r#"{"title":"Not now","then":7}"#)),
            ("ping", Some("{}")),
            ("client/registerCapability", Some("null")),
            ("window/showDocument", None),
        ] {
            let params = RawJson::from_value(&json!({
                "items": [{"section": "a"}, {"section": "b.c"}, {"section": "a.b"}, {}],
                "actions": [{"title": "Now"}, {"title": "Not now", "then": 7}],
            }));
            let params = params.expect("params");
            let got = answers.answer(method, Some(&params)).await.ok().map(|answer| answer.to_string());
            assert_eq!(got.as_deref(), want, "{method}");
        }
        assert_eq!(answers.refused().as_deref(), Some("window/showDocument"));
        // The working directory is for language servers alone.
        for (protocol, want) in
            [(Some(Protocol::Lsp), true), (Some(Protocol::Mcp(None)), false), (None, false)]
        {
            answers.set_protocol(protocol);
            for method in ["workspace/workspaceFolders", "client/registerCapability"] {
                assert_eq!(answers.answer(method, None).await.is_ok(), want, "{protocol:?} {method}");
            }
        }
        for wrong in ["x", "=1", "a=b", "elicitation/create=Ada", r#"sampling/createMessage={"role""#] {
            assert!(Answers::new(&[wrong.to_owned()], None).is_err(), "{wrong}");
        }
    }
}
