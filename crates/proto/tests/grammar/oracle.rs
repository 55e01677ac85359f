//! What `decode` should say, worked out the slow way from `serde_json` and the dialect table.
//!
//! It collects everything that is wrong with a message and leaves the choice among the true reasons to
//! the decoder, so it does not have to know in which order things are checked.

use std::fmt;

use sabir_proto::{Dialect, Limits};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::number;
use super::verdict::{Entry, Verdict};

pub(crate) fn judge(text: &[u8], dialect: &Dialect, limits: &Limits) -> Verdict {
    let Ok(text) = std::str::from_utf8(text) else { return Verdict::NotJson };
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else { return Verdict::NotJson };
    let raw = raw.get();
    if depth(raw) > usize::from(limits.depth) {
        return Verdict::NotJson;
    }
    if kind(raw) != "array" {
        return Verdict::One(judge_one(raw, dialect));
    }
    let entries: Vec<&RawValue> = serde_json::from_str(raw).expect("an array of valid JSON");
    let refuse = |code, response, reason: String| {
        Verdict::One(Entry::Invalid { id: None, response, code, reasons: vec![reason] })
    };
    if entries.is_empty() {
        return refuse(-32600, false, "a batch must have at least one entry".to_owned());
    }
    let count = entries.len();
    let entries: Vec<Entry> = entries.into_iter().map(|entry| judge_one(entry.get(), dialect)).collect();
    let responses = entries.iter().all(Entry::is_response);
    if !dialect.batches {
        let reason = "batches are not part of this protocol: send one at a time";
        return refuse(-32600, responses, reason.to_owned());
    }
    if count > limits.batch_len {
        let reason = format!("a batch may have {} entries at most", limits.batch_len);
        return refuse(-32010, responses, reason);
    }
    Verdict::Batch(entries)
}

fn judge_one(raw: &str, dialect: &Dialect) -> Entry {
    if kind(raw) != "object" {
        let reason = format!("a message must be an object, found {}", kind(raw));
        return Entry::Invalid { id: None, response: false, code: -32600, reasons: vec![reason] };
    }
    let Members(members) = serde_json::from_str(raw).expect("an object of valid JSON");
    let mut message = Envelope { dialect, members, reasons: Vec::new() };
    message.check_members_and_version();
    let entry = match (message.get("method"), message.get("result"), message.get("error")) {
        (Some(method), ..) => message.call(method),
        (None, None, None) => {
            message.reasons.push("there is no `method`, `result` or `error`".to_owned());
            None
        }
        (None, result, error) => message.response(result, error),
    };
    match entry {
        Some(entry) if message.reasons.is_empty() => entry,
        _ => message.invalid(),
    }
}

struct Envelope<'a> {
    dialect: &'a Dialect,
    members: Vec<(Vec<u8>, &'a str)>,
    reasons: Vec<String>,
}

impl<'a> Envelope<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.members.iter().rev().find(|(n, _)| n == name.as_bytes()).map(|(_, value)| *value)
    }

    fn is_repeated(&self, name: &str) -> bool {
        self.members.iter().filter(|(n, _)| n == name.as_bytes()).count() > 1
    }

    fn wrong_kind(&mut self, member: &str, expected: &str, value: &str) {
        self.reasons.push(format!("`{member}` must be {expected}, found {}", kind(value)));
    }

    fn check_members_and_version(&mut self) {
        for name in ["jsonrpc", "id", "method", "params", "result", "error"] {
            if self.is_repeated(name) {
                self.reasons.push(format!("`{name}` occurs more than once"));
            }
        }
        if !self.dialect.version_required {
            return;
        }
        match self.get("jsonrpc") {
            None => self.reasons.push("`jsonrpc` is missing".to_owned()),
            Some(version) if kind(version) != "string" => {
                self.wrong_kind("jsonrpc", "the string \"2.0\"", version);
            }
            Some(version) => match string(version).as_deref() {
                Some("2.0") => {}
                Some(_) => self.reasons.push("`jsonrpc` must be \"2.0\"".to_owned()),
                None => self.reasons.push("`jsonrpc` holds a lone surrogate".to_owned()),
            },
        }
    }

    fn call(&mut self, method: &str) -> Option<Entry> {
        for answer in ["result", "error"] {
            if self.get(answer).is_some() {
                self.reasons.push(format!("`method` and `{answer}` cannot be combined"));
            }
        }
        let name = string(method);
        if kind(method) != "string" {
            self.wrong_kind("method", "a string", method);
        } else if name.is_none() {
            self.reasons.push("`method` holds a lone surrogate".to_owned());
        }
        let params = match self.get("params").map(|params| (params, kind(params))) {
            None => None,
            Some((params, "object")) => Some(params.to_owned()),
            Some((params, "array")) if self.dialect.array_params => Some(params.to_owned()),
            Some((_, "null")) if self.dialect.null_params => None,
            Some((params, _)) => {
                let expected = if self.dialect.array_params { "an array or an object" } else { "an object" };
                self.wrong_kind("params", expected, params);
                None
            }
        };
        let id = self.get("id");
        if let Some(id) = id {
            match kind(id) {
                "string" => {}
                "null" if self.dialect.null_ids => {}
                "number" if self.dialect.fractional_ids || !number::Value::of(id).is_fractional() => {}
                "number" => {
                    self.reasons.push("`id` must be an integer or a string, found a fraction".to_owned());
                }
                _ if self.dialect.null_ids => self.wrong_kind("id", "a string, a number or null", id),
                _ => self.wrong_kind("id", "a string or a number", id),
            }
        }
        let method = name?;
        Some(match id {
            Some(id) => Entry::Request { id: id.to_owned(), method, params },
            None => Entry::Notification { method, params },
        })
    }

    fn response(&mut self, result: Option<&str>, error: Option<&str>) -> Option<Entry> {
        let sloppy = self.dialect.lenient_responses;
        let (result, error) = match (result, error) {
            (Some(result), Some("null")) if sloppy => (Some(result), None),
            (Some("null"), Some(error)) if sloppy => (None, Some(error)),
            other => other,
        };
        if result.is_some() && error.is_some() {
            self.reasons.push("`result` and `error` cannot be combined".to_owned());
        }
        let error = error.and_then(|error| self.error(error));
        let id = match self.get("id") {
            Some(id) if matches!(kind(id), "string" | "number" | "null") => id.to_owned(),
            Some(id) => {
                self.wrong_kind("id", "a string, a number or null", id);
                return None;
            }
            None if result.is_none() && self.dialect.errors_without_id => "null".to_owned(),
            None => {
                self.reasons.push("`id` is missing".to_owned());
                return None;
            }
        };
        match (result, error) {
            (Some(result), _) => Some(Entry::Result { id, result: result.to_owned() }),
            (None, Some((code, message, data))) => Some(Entry::Error { id, code, message, data }),
            (None, None) => None,
        }
    }

    fn error(&mut self, error: &str) -> Option<(i64, String, Option<String>)> {
        if kind(error) != "object" {
            self.wrong_kind("error", "an object", error);
            return None;
        }
        let Members(members) = serde_json::from_str(error).expect("an object of valid JSON");
        let inside = Envelope { dialect: self.dialect, members, reasons: Vec::new() };
        if ["code", "message", "data"].iter().any(|name| inside.is_repeated(name)) {
            self.reasons.push("a member of `error` occurs twice".to_owned());
        }
        let (code, message) = (inside.get("code"), inside.get("message"));
        // `serde_json` takes `-0` for a float.
        let number = code.and_then(|code| code.parse::<i64>().ok());
        match code.map(kind) {
            None => self.reasons.push("`error.code` is missing".to_owned()),
            Some("number") if number.is_some() => {}
            Some("number") => self.reasons.push("`error.code` must be an integer of 64 bits".to_owned()),
            Some(found) => self.reasons.push(format!("`error.code` must be an integer, found {found}")),
        }
        match message.map(kind) {
            None => self.reasons.push("`error.message` is missing".to_owned()),
            Some("string") => {}
            Some(found) => self.reasons.push(format!("`error.message` must be a string, found {found}")),
        }
        // A message that is not text is still worth showing: its literal stands in for it.
        let message = message.map(|message| string(message).unwrap_or_else(|| message.to_owned()));
        Some((number?, message?, inside.get("data").map(str::to_owned)))
    }

    fn invalid(self) -> Entry {
        let id = self.get("id").filter(|_| !self.is_repeated("id"));
        Entry::Invalid {
            id: id.filter(|id| matches!(kind(id), "string" | "number" | "null")).map(str::to_owned),
            response: self.get("method").is_none()
                && (self.get("result").is_some() || self.get("error").is_some()),
            code: -32600,
            reasons: self.reasons,
        }
    }
}

/// How many brackets are open at most. `text` is valid JSON.
pub(crate) fn depth(text: &str) -> usize {
    let (mut open, mut most, mut in_string, mut escaped) = (0, 0, false, false);
    for c in text.bytes() {
        match c {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'[' | b'{' => {
                open += 1;
                most = most.max(open);
            }
            b']' | b'}' => open -= 1,
            _ => {}
        }
    }
    most
}

fn kind(raw: &str) -> &'static str {
    match raw.as_bytes()[0] {
        b'n' => "null",
        b't' | b'f' => "boolean",
        b'"' => "string",
        b'[' => "array",
        b'{' => "object",
        _ => "number",
    }
}

fn string(raw: &str) -> Option<String> {
    serde_json::from_str(raw).ok()
}

/// The members in order, repeated ones too, which a `serde_json::Value` would merge.
struct Members<'a>(Vec<(Vec<u8>, &'a str)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(name) = map.next_key_seed(Name)? {
                    members.push((name, map.next_value::<&RawValue>()?.get()));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

/// A name as bytes: the only way in which `serde_json` lets a lone surrogate through.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Vec<u8>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_byte_buf(self)
    }
}

impl Visitor<'_> for Name {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_owned())
    }

    fn visit_str<E>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(text.as_bytes().to_owned())
    }
}
