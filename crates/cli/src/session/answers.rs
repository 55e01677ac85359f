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
use crate::values::text_of;

/// How long a server waits for its folders before a person is asked. Many ask when a session begins, and answer calls all the
/// same.
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
    /// One question at a time.
    turn: tokio::sync::Mutex<()>,
    asking: AtomicBool,
    /// The folders that a person has named: they stay the same.
    roots: Mutex<Option<RawJson<'static>>>,
    /// The person types something else.
    busy: AtomicBool,
    /// The session is ending: nobody is asked any more.
    closing: AtomicBool,
    /// Either of these has begun.
    taken: tokio::sync::Notify,
    /// What the session speaks: a peer may ask what that protocol has, and nothing else.
    speaks: Mutex<Option<Protocol>>,
    /// The last question that was refused.
    refused: Mutex<Option<String>>,
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

    /// Whether a question can be answered.
    pub(crate) fn offers(&self, method: &str) -> bool {
        self.0.given.contains_key(method) || self.0.terminal.is_some()
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
            elicitation: offered("elicitation/create"),
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
        if busy {
            self.0.taken.notify_waiters();
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
        if method == "roots/list" && self.can_ask() && !self.0.busy.load(Ordering::Relaxed) {
            let _ = tokio::time::timeout(BEFORE_ROOTS, self.0.taken.notified()).await;
        }
        let answer = match &self.0.terminal {
            Some(printer) if ask::can_ask(speaks, method) && !self.0.busy.load(Ordering::Relaxed) => {
                let _turn = self.0.turn.lock().await;
                match self.roots(method) {
                    Some(roots) => Some(roots),
                    None => self.ask(method, params, printer).await,
                }
            }
            _ => None,
        };
        answer.ok_or_else(|| {
            *self.0.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(method.to_owned());
            ErrorObject::standard(ErrorCode::METHOD_NOT_FOUND)
        })
    }
}

impl Answers {
    async fn ask(
        &self,
        method: &str,
        params: Option<&RawJson<'static>>,
        printer: &Printer,
    ) -> Option<RawJson<'static>> {
        self.0.asking.store(true, Ordering::Relaxed);
        let answer = ask::ask(method, params, printer).await;
        self.0.asking.store(false, Ordering::Relaxed);
        if method == "roots/list" {
            self.0.roots.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&answer);
        }
        answer
    }

    /// The folders, if they were asked for before.
    fn roots(&self, method: &str) -> Option<RawJson<'static>> {
        let roots = self.0.roots.lock().unwrap_or_else(PoisonError::into_inner);
        roots.clone().filter(|_| method == "roots/list")
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
