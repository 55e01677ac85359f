//! The probes that are sent to a live peer, and the answers that they require. Only methods that cannot exist are
//! called, and the lists of MCP, which have no side effects.

use sabir_model::rules::{
    LIVE002, LIVE003, LIVE004, LIVE005, LIVE006, LIVE007, LIVE009, Profile, Revision, Rule,
};
use sabir_proto::{Entry, Id, Incoming, LENIENT, Limits, Message, RawJson, Response, decode};

/// The id of the first request.
pub(super) const START: &str = "\"sabir-start\"";

/// A message to send, and what must come back.
pub(super) struct Probe {
    pub(super) text: String,
    wants: Wants,
}

/// What must come back.
enum Wants {
    /// An answer with this id and the code for an unknown method.
    UnknownMethod(Id<'static>),
    /// An answer with this id, whatever it says.
    Echo(Id<'static>),
    /// An error with this code, and the id null or none.
    Refusal(i64, &'static Rule),
    /// One array with answers to these ids.
    Array(Vec<Id<'static>>),
    Nothing(&'static Rule),
}

/// A violation: the rule, what is wrong, and the index of the reply that shows it.
pub(super) type Verdict = Option<(&'static Rule, String, Option<usize>)>;

/// Builds probes for a profile.
#[derive(Clone)]
pub(super) struct ProbeBuilder {
    pub(super) profile: Profile,
    /// A method that cannot exist.
    pub(super) method: String,
    /// What it is called with.
    pub(super) params: Option<RawJson<'static>>,
}

impl ProbeBuilder {
    /// A call of the method that cannot exist; a notification without an id.
    pub(super) fn call(&self, id: Option<&str>) -> String {
        self.call_of(&self.method, id)
    }

    fn call_of(&self, method: &str, id: Option<&str>) -> String {
        let id = id.map_or(String::new(), |id| format!(r#","id":{id}"#));
        let params = match self.profile {
            Profile::Mcp(Some(revision @ Revision::V2026_07_28)) => format!(
                concat!(
                    r#","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{}","#,
                    r#""io.modelcontextprotocol/clientCapabilities":{{}}}}}}"#
                ),
                revision
            ),
            _ => self.params.as_ref().map_or_else(String::new, |params| format!(r#","params":{params}"#)),
        };
        format!(r#"{{"jsonrpc":"2.0"{id},"method":"{method}"{params}}}"#)
    }

    /// The lists that an MCP server declares by its capabilities: an id and a request for each.
    pub(super) fn lists(&self, capabilities: &RawJson<'_>) -> Vec<(String, String)> {
        const LISTS: [(&str, &str); 4] = [
            ("tools", "tools/list"),
            ("prompts", "prompts/list"),
            ("resources", "resources/list"),
            ("resources", "resources/templates/list"),
        ];
        let declared = LISTS.iter().filter(|(capability, _)| capabilities.get(capability).is_some());
        declared
            .map(|(_, method)| {
                let id = format!("\"sabir-{method}\"");
                (id.clone(), self.call_of(method, Some(&id)))
            })
            .collect()
    }

    /// The request whose answer has the capabilities, in revisions without sessions.
    pub(super) fn discovery(&self) -> Option<String> {
        let modern = self.profile == Profile::Mcp(Some(Revision::V2026_07_28));
        modern.then(|| self.call_of("server/discover", Some(START)))
    }

    /// The messages that open a session, if the protocol has sessions: a request, and a notification after its answer.
    pub(super) fn opening(&self) -> Option<(String, String)> {
        let revision = match self.profile {
            Profile::Lsp => {
                let params = r#"{"processId":null,"rootUri":null,"capabilities":{}}"#;
                return Some((initialize(params), notification("initialized", ",\"params\":{}")));
            }
            Profile::Mcp(Some(Revision::V2026_07_28)) => return None,
            Profile::Mcp(revision) => revision.unwrap_or(Revision::NEWEST_LEGACY),
            _ => return None,
        };
        let params = format!(
            r#"{{"protocolVersion":"{}","capabilities":{{}},"clientInfo":{{"name":"sabir","version":"{}"}}}}"#,
            revision.as_str(),
            env!("CARGO_PKG_VERSION")
        );
        Some((initialize(&params), notification("notifications/initialized", "")))
    }

    /// The messages that close a session.
    pub(super) fn closing(&self) -> Vec<String> {
        match self.profile {
            Profile::Lsp => {
                vec![
                    r#"{"jsonrpc":"2.0","id":"sabir-end","method":"shutdown"}"#.to_owned(),
                    notification("exit", ""),
                ]
            }
            _ => Vec::new(),
        }
    }

    /// Valid messages first, then invalid ones.
    pub(super) fn probes(&self) -> Vec<Probe> {
        let call = |id: &str, wants: fn(Id<'static>) -> Wants| {
            RawJson::new(id.to_owned())
                .ok()
                .and_then(Id::from_json)
                .map(|known| Probe { text: self.call(Some(id)), wants: wants(known) })
        };
        let plain = !matches!(self.profile, Profile::Mcp(_) | Profile::Lsp);
        let mut ids = vec!["0", "\"sabir\"", "2147483647", "\"\\u00e9\\n\""];
        if plain {
            ids.extend(["9007199254740993", "1.5", "-1", "\"\""]);
        }
        let mut probes = vec![call("1", Wants::UnknownMethod)];
        probes.extend(ids.into_iter().map(|id| call(id, Wants::Echo)));
        let mut probes: Vec<Probe> = probes.into_iter().flatten().collect();
        let mut add = |text: String, wants| probes.push(Probe { text, wants });
        add(self.call(None), Wants::Nothing(&LIVE009));
        add(r#"{"jsonrpc":"2.0","method":1,"params":"sabir"}"#.to_owned(), Wants::Refusal(-32600, &LIVE004));
        if plain {
            let two = [Id::from("sabir-a"), Id::from("sabir-b")];
            let calls = [self.call(Some(two[0].text())), self.call(None), self.call(Some(two[1].text()))];
            add(format!("[{}]", calls.join(",")), Wants::Array(two.to_vec()));
            add(format!("[{}]", self.call(None)), Wants::Nothing(&LIVE006));
            add("[]".to_owned(), Wants::Refusal(-32600, &LIVE005));
        }
        add(
            r#"{"jsonrpc":"2.0","method":"sabir", "params": bar]"#.to_owned(),
            Wants::Refusal(-32700, &LIVE003),
        );
        probes
    }
}

fn initialize(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{START},"method":"initialize","params":{params}}}"#)
}

fn notification(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"{params}}}"#)
}

impl Probe {
    /// Whether the required answer has come.
    pub(super) fn is_met(&self, replies: &[Vec<u8>]) -> bool {
        !matches!(self.wants, Wants::Nothing(_)) && !replies.is_empty()
    }

    /// Whether an answer is required.
    pub(super) fn wants_answer(&self) -> bool {
        !matches!(self.wants, Wants::Nothing(_))
    }

    /// Whether the probe is not a valid message.
    pub(super) fn is_invalid(&self) -> bool {
        matches!(self.wants, Wants::Refusal(..))
    }

    /// Checks the replies.
    pub(super) fn verdict(&self, replies: &[Vec<u8>]) -> Verdict {
        match &self.wants {
            Wants::UnknownMethod(id) => unknown_method(id, replies),
            Wants::Echo(id) => echo(id, replies),
            Wants::Refusal(code, rule) => refusal(*code, rule, replies),
            Wants::Array(ids) => array(ids, replies),
            Wants::Nothing(rule) => match replies.is_empty() {
                true => None,
                false => Some((rule, "this answers a message without an id".to_owned(), Some(0))),
            },
        }
    }
}

/// The id of a message that is meant as an answer, also if the rest of it breaks the protocol.
pub(super) fn answered_id(text: &[u8]) -> Option<Id<'static>> {
    let message = RawJson::from_bytes(text).ok()?;
    match message.get("method") {
        None => Id::from_json(message.get("id")?.into_owned()),
        Some(_) => None,
    }
}

fn response(reply: &[u8]) -> Option<Response<'_>> {
    match decode(reply, &LENIENT, &Limits::default()) {
        Ok(Incoming::One(Ok(Message::Response(response)))) => Some(response),
        _ => None,
    }
}

fn unknown_method(id: &Id<'_>, replies: &[Vec<u8>]) -> Verdict {
    if let Some(violation) = echo(id, replies) {
        return Some(violation);
    }
    let answer = replies.first().and_then(|reply| response(reply))?;
    let what = match &answer.outcome {
        Err(error) if error.code.0 == -32601 => return None,
        Err(error) => format!("the answer has the code {}", error.code),
        Ok(_) => "the answer has a result".to_owned(),
    };
    Some((&LIVE002, format!("a call of a method that does not exist: {what}"), Some(0)))
}

fn echo(id: &Id<'_>, replies: &[Vec<u8>]) -> Verdict {
    match replies.first() {
        None => Some((&LIVE007, format!("a request with the id {id} is not answered"), None)),
        Some(reply) => {
            let came = answered_id(reply);
            (came.as_ref() != Some(id)).then(|| {
                let came = came.map_or("no id".to_owned(), |came| came.to_string());
                (&LIVE007, format!("the id {id} was sent, and the answer has {came}"), Some(0))
            })
        }
    }
}

fn refusal(code: i64, rule: &'static Rule, replies: &[Vec<u8>]) -> Verdict {
    let Some(reply) = replies.first() else {
        return Some((rule, format!("no answer: the error {code} is required"), None));
    };
    let what = match response(reply).map(|answer| (answer.outcome.map_err(|error| error.code.0), answer.id)) {
        Some((Err(came), id)) if came == code && id.is_null() => return None,
        Some((Err(came), _)) if came == code => "the id is not null".to_owned(),
        Some((Err(came), _)) => format!("the code is {came}, not {code}"),
        Some((Ok(_), _)) => "the answer has a result".to_owned(),
        None if answered_id(reply).is_some() => "the answer breaks the protocol".to_owned(),
        None => "this is not a single response".to_owned(),
    };
    Some((rule, what, Some(0)))
}

fn array(ids: &[Id<'static>], replies: &[Vec<u8>]) -> Verdict {
    let Some(reply) = replies.first() else {
        return Some((&LIVE006, "a batch with two requests is not answered".to_owned(), None));
    };
    let entries = match decode(reply, &LENIENT, &Limits::default()) {
        Ok(Incoming::Batch(entries)) => entries,
        _ => return Some((&LIVE006, "the answer to a batch is not an array".to_owned(), Some(0))),
    };
    let came = |entry: &Entry<'_>| match entry {
        Ok(Message::Response(response)) => Some(response.id.clone().into_owned()),
        _ => None,
    };
    let mut came: Vec<Option<Id<'static>>> = entries.iter().map(came).collect();
    came.sort();
    let mut wanted: Vec<Option<Id<'static>>> = ids.iter().cloned().map(Some).collect();
    wanted.sort();
    (came != wanted).then(|| {
        (&LIVE006, format!("{} entries answer two requests and a notification", came.len()), Some(0))
    })
}
