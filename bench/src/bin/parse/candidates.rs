//! The ways to decode a message that are compared. Each finds its kind, the text of its id, its method
//! and its payload.

use std::borrow::Cow;
use std::hint::black_box;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use simd_json::prelude::ValueAsScalar;

use sabir_proto::{Incoming, Limits, Message, PLAIN};

pub trait Candidate {
    fn name(&self) -> &'static str;
    /// Decodes `text` and hands what it found to the optimiser's blind spot.
    fn run(&mut self, text: &[u8]);
    /// The kind, id and method of each message in `text`, to see that all candidates do the same.
    fn seen(&mut self, text: &[u8]) -> Vec<Seen>;
}

#[derive(Debug, PartialEq)]
pub struct Seen {
    kind: Kind,
    id: Option<String>,
    method: String,
}

#[derive(Debug, PartialEq, Clone, Copy)]
enum Kind {
    Request,
    Notification,
    Result,
    Error,
}

impl Kind {
    fn of(method: bool, id: bool, result: bool, error: bool) -> Option<Kind> {
        match (method, id, result, error) {
            (true, true, false, false) => Some(Kind::Request),
            (true, false, false, false) => Some(Kind::Notification),
            (false, true, true, false) => Some(Kind::Result),
            (false, true, false, true) => Some(Kind::Error),
            _ => None,
        }
    }
}

pub fn all() -> Vec<Box<dyn Candidate>> {
    vec![
        Box::new(Baseline),
        Box::new(SerdeValue),
        Box::new(Sonic),
        Box::new(SimdJson::default()),
        Box::new(Jiter),
        Box::new(Ours::default()),
    ]
}

fn is_batch(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"[")
}

/// The usual way to do it well: borrowed members, the payload left as text.
#[derive(Deserialize)]
struct Envelope<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

impl Envelope<'_> {
    fn kind(&self) -> Option<Kind> {
        let kind =
            Kind::of(!self.method.is_empty(), self.id.is_some(), self.result.is_some(), self.error.is_some());
        kind.filter(|_| self.jsonrpc == "2.0")
    }

    fn seen(&self) -> Seen {
        black_box(self.params);
        let id = self.id.map(|id| id.get().to_owned());
        Seen { kind: self.kind().expect("a message"), id, method: self.method.clone().into_owned() }
    }
}

struct Baseline;

impl Baseline {
    fn one(text: &[u8]) -> Envelope<'_> {
        serde_json::from_str(simdutf8::basic::from_utf8(text).expect("UTF-8")).expect("valid")
    }

    fn batch(text: &[u8]) -> Vec<Envelope<'_>> {
        serde_json::from_str(simdutf8::basic::from_utf8(text).expect("UTF-8")).expect("valid")
    }
}

impl Candidate for Baseline {
    fn name(&self) -> &'static str {
        "baseline"
    }

    fn run(&mut self, text: &[u8]) {
        if is_batch(text) {
            let batch = Baseline::batch(text);
            batch.iter().for_each(|envelope| _ = black_box(envelope.kind()));
            black_box(&batch);
        } else {
            let envelope = Baseline::one(text);
            black_box((&envelope, envelope.kind()));
        }
    }

    fn seen(&mut self, text: &[u8]) -> Vec<Seen> {
        match is_batch(text) {
            true => Baseline::batch(text).iter().map(Envelope::seen).collect(),
            false => vec![Baseline::one(text).seen()],
        }
    }
}

/// A tree of everything.
struct SerdeValue;

impl SerdeValue {
    fn kind(message: &Value) -> Option<Kind> {
        let has = |name| message.get(name).is_some();
        Kind::of(has("method"), has("id"), has("result"), has("error"))
            .filter(|_| message.get("jsonrpc").and_then(Value::as_str) == Some("2.0"))
    }

    fn messages(value: &Value) -> &[Value] {
        match value {
            Value::Array(batch) => batch,
            one => std::slice::from_ref(one),
        }
    }
}

impl Candidate for SerdeValue {
    fn name(&self) -> &'static str {
        "serde Value"
    }

    fn run(&mut self, text: &[u8]) {
        let value: Value = serde_json::from_slice(text).expect("valid");
        SerdeValue::messages(&value).iter().for_each(|message| _ = black_box(SerdeValue::kind(message)));
        black_box(&value);
    }

    fn seen(&mut self, text: &[u8]) -> Vec<Seen> {
        let value: Value = serde_json::from_slice(text).expect("valid");
        let seen = |message: &Value| Seen {
            kind: SerdeValue::kind(message).expect("a message"),
            id: message.get("id").map(Value::to_string),
            method: message.get("method").and_then(Value::as_str).unwrap_or_default().to_owned(),
        };
        SerdeValue::messages(&value).iter().map(seen).collect()
    }
}

/// The baseline's struct with the lazy values of sonic-rs, which do not validate everything.
struct Sonic;

#[derive(Deserialize)]
struct LazyEnvelope<'a> {
    jsonrpc: &'a str,
    #[serde(borrow)]
    id: Option<sonic_rs::LazyValue<'a>>,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Option<sonic_rs::LazyValue<'a>>,
    #[serde(borrow)]
    result: Option<sonic_rs::LazyValue<'a>>,
    #[serde(borrow)]
    error: Option<sonic_rs::LazyValue<'a>>,
}

impl LazyEnvelope<'_> {
    fn kind(&self) -> Option<Kind> {
        let kind =
            Kind::of(!self.method.is_empty(), self.id.is_some(), self.result.is_some(), self.error.is_some());
        kind.filter(|_| self.jsonrpc == "2.0")
    }

    fn seen(&self) -> Seen {
        black_box(&self.params);
        let id = self.id.as_ref().map(|id| id.as_raw_str().to_owned());
        Seen { kind: self.kind().expect("a message"), id, method: self.method.clone().into_owned() }
    }
}

impl Candidate for Sonic {
    fn name(&self) -> &'static str {
        "sonic-rs lazy"
    }

    fn run(&mut self, text: &[u8]) {
        if is_batch(text) {
            let batch: Vec<LazyEnvelope<'_>> = sonic_rs::from_slice(text).expect("valid");
            batch.iter().for_each(|envelope| _ = black_box(envelope.kind()));
            black_box(&batch);
        } else {
            let envelope: LazyEnvelope<'_> = sonic_rs::from_slice(text).expect("valid");
            black_box((&envelope, envelope.kind()));
        }
    }

    fn seen(&mut self, text: &[u8]) -> Vec<Seen> {
        if is_batch(text) {
            let batch: Vec<LazyEnvelope<'_>> = sonic_rs::from_slice(text).expect("valid");
            batch.iter().map(LazyEnvelope::seen).collect()
        } else {
            vec![sonic_rs::from_slice::<LazyEnvelope<'_>>(text).expect("valid").seen()]
        }
    }
}

/// A tape, made in place: the text has to be copied first, and no raw payload is left.
#[derive(Default)]
struct SimdJson {
    copy: Vec<u8>,
    buffers: simd_json::Buffers,
}

impl SimdJson {
    fn tape(&mut self, text: &[u8]) -> simd_json::Tape<'_> {
        self.copy.clear();
        self.copy.extend_from_slice(text);
        simd_json::to_tape_with_buffers(&mut self.copy, &mut self.buffers).expect("valid")
    }

    fn each(tape: &simd_json::Tape<'_>, mut f: impl FnMut(simd_json::tape::Value<'_, '_>)) {
        let value = tape.as_value();
        match value.as_array() {
            Some(batch) => batch.iter().for_each(f),
            None => f(value),
        }
    }

    fn kind(message: simd_json::tape::Value<'_, '_>) -> Option<Kind> {
        let has = |name: &str| message.get(name).is_some();
        let version = message.get("jsonrpc")?;
        Kind::of(has("method"), has("id"), has("result"), has("error"))
            .filter(|_| version.as_str() == Some("2.0"))
    }
}

impl Candidate for SimdJson {
    fn name(&self) -> &'static str {
        "simd-json tape"
    }

    fn run(&mut self, text: &[u8]) {
        let tape = self.tape(text);
        SimdJson::each(&tape, |message| _ = black_box(SimdJson::kind(message)));
        black_box(&tape);
    }

    fn seen(&mut self, text: &[u8]) -> Vec<Seen> {
        let tape = self.tape(text);
        let mut seen = Vec::new();
        SimdJson::each(&tape, |message| {
            let id = message.get("id").map(|id| match id.as_str() {
                Some(string) => format!("\"{string}\""),
                None => id.as_u64().expect("an id").to_string(),
            });
            let method = message.get("method").map_or(String::new(), |m| m.as_str().unwrap_or("").to_owned());
            seen.push(Seen { kind: SimdJson::kind(message).expect("a message"), id, method });
        });
        seen
    }
}

/// An iterator over the text, driven by hand; it checks no UTF-8 in what it skips.
struct Jiter;

#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    method: Option<&'a [u8]>,
    params: Option<&'a [u8]>,
    result: Option<&'a [u8]>,
    error: Option<&'a [u8]>,
}

impl<'a> Members<'a> {
    fn read(jiter: &mut jiter::Jiter<'a>) -> jiter::JiterResult<Self> {
        let mut members = Members::default();
        let mut next = jiter.next_object_bytes()?;
        while let Some(name) = next {
            let slot = match name {
                b"jsonrpc" => &mut members.jsonrpc,
                b"id" => &mut members.id,
                b"params" => &mut members.params,
                b"result" => &mut members.result,
                b"error" => &mut members.error,
                b"method" => &mut members.method,
                _ => {
                    jiter.next_skip()?;
                    next = jiter.next_key_bytes()?;
                    continue;
                }
            };
            let peek = jiter.peek()?;
            let start = jiter.current_index();
            jiter.known_skip(peek)?;
            *slot = Some(jiter.slice_to_current(start));
            next = jiter.next_key_bytes()?;
        }
        Ok(members)
    }

    fn kind(&self) -> Option<Kind> {
        let kind =
            Kind::of(self.method.is_some(), self.id.is_some(), self.result.is_some(), self.error.is_some());
        kind.filter(|_| self.jsonrpc == Some(b"\"2.0\""))
    }
}

impl Jiter {
    fn each(text: &[u8], mut f: impl FnMut(&Members<'_>)) -> jiter::JiterResult<()> {
        simdutf8::basic::from_utf8(text).expect("UTF-8");
        let mut jiter = jiter::Jiter::new(text);
        if is_batch(text) {
            let mut next = jiter.next_array()?;
            while next.is_some() {
                f(&Members::read(&mut jiter)?);
                next = jiter.array_step()?;
            }
        } else {
            f(&Members::read(&mut jiter)?);
        }
        jiter.finish()
    }
}

impl Candidate for Jiter {
    fn name(&self) -> &'static str {
        "jiter"
    }

    fn run(&mut self, text: &[u8]) {
        Jiter::each(text, |members| _ = black_box((members, members.kind()))).expect("valid");
    }

    fn seen(&mut self, text: &[u8]) -> Vec<Seen> {
        let mut seen = Vec::new();
        Jiter::each(text, |members| {
            black_box(members.params);
            seen.push(Seen {
                kind: members.kind().expect("a message"),
                id: members.id.map(|id| String::from_utf8_lossy(id).into_owned()),
                method: String::from_utf8_lossy(members.method.unwrap_or_default()).replace('"', ""),
            });
        })
        .expect("valid");
        seen
    }
}

#[derive(Default)]
pub struct Ours {
    limits: Limits,
}

impl Ours {
    fn seen(message: &Message<'_>) -> Seen {
        let (kind, id, method) = match message {
            Message::Request(request) => (Kind::Request, Some(&request.id), request.method.as_ref()),
            Message::Notification(notification) => (Kind::Notification, None, notification.method.as_ref()),
            Message::Response(response) => {
                (if response.outcome.is_ok() { Kind::Result } else { Kind::Error }, Some(&response.id), "")
            }
        };
        Seen { kind, id: id.map(|id| id.text().to_owned()), method: method.to_owned() }
    }
}

impl Candidate for Ours {
    fn name(&self) -> &'static str {
        "ours"
    }

    fn run(&mut self, text: &[u8]) {
        let incoming = sabir_proto::decode(text, &PLAIN, &self.limits);
        black_box(&incoming);
    }

    fn seen(&mut self, text: &[u8]) -> Vec<Seen> {
        match sabir_proto::decode(text, &PLAIN, &self.limits).expect("valid") {
            Incoming::One(one) => vec![Ours::seen(&one.expect("a message"))],
            Incoming::Batch(batch) => {
                batch.iter().map(|one| Ours::seen(one.as_ref().expect("a message"))).collect()
            }
        }
    }
}
