//! From the bytes of one message to its shape, its id and its parts, in one pass.
//!
//! The whole text is validated before anything is handed out: nothing of a batch is done if its last byte
//! is wrong.

use std::borrow::Cow;

use crate::dialect::Dialect;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::limits::Limits;
use crate::message::{ErrorPart, Fault, Invalid, Member, Message, Notification, Request, Response};
use crate::raw::{self, JsonKind, RawJson};
use crate::scan::{self, Fail, MAX_DEPTH, ParseError, Scan, Syntax, peek};

/// One message, or a batch of them in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming<'a> {
    /// Not a batch, or one that is refused as a whole.
    One(Entry<'a>),
    /// A batch with at least one entry.
    Batch(Vec<Entry<'a>>),
}

/// A message, or why it is none.
pub type Entry<'a> = Result<Message<'a>, Invalid<'a>>;

/// Decodes the bytes of one message.
///
/// ```
/// use sabir_proto::{Incoming, Limits, Message, PLAIN, decode};
///
/// let text = br#"{"jsonrpc":"2.0","id":"x","method":"add","params":[1,2]}"#;
/// let Ok(Incoming::One(Ok(Message::Request(request)))) = decode(text, &PLAIN, &Limits::default()) else {
///     panic!("this is a request");
/// };
/// assert_eq!(request.method, "add");
/// assert_eq!(request.id.text(), "\"x\"");
/// assert_eq!(request.params.unwrap().as_str(), "[1,2]");
/// ```
pub fn decode<'a>(text: &'a [u8], dialect: &Dialect, limits: &Limits) -> Result<Incoming<'a>, ParseError> {
    let mut batch = Vec::new();
    Ok(match decode_into(text, dialect, limits, &mut batch)? {
        Some(entry) => Incoming::One(entry),
        None => Incoming::Batch(batch),
    })
}

/// The same with a vector to reuse: `None` means that the entries of a batch are in `batch`.
#[inline]
pub(crate) fn decode_into<'a>(
    text: &'a [u8],
    dialect: &Dialect,
    limits: &Limits,
    batch: &mut Vec<Entry<'a>>,
) -> Result<Option<Entry<'a>>, ParseError> {
    let text = raw::utf8(text)?;
    let reader = Reader { text, b: text.as_bytes(), dialect, max_depth: limits.depth.min(MAX_DEPTH) };
    let (c, i) = peek(reader.b, 0);
    let read = match c {
        b'[' => reader.batch(i, limits.batch_len, batch),
        _ => reader.single(c, i).map(Some),
    };
    read.map_err(|fail| fail.explain(reader.b))
}

struct Reader<'a, 'd> {
    text: &'a str,
    b: &'a [u8],
    dialect: &'d Dialect,
    max_depth: u8,
}

/// What the object holds of the envelope's members: their JSON text.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    /// `method` is a string without escapes, so the text between the quotes is its value.
    method_plain: bool,
    params: Option<&'a str>,
    result: Option<&'a str>,
    error: Option<&'a str>,
    duplicate: Option<Member>,
}

impl<'a> Reader<'a, '_> {
    fn single(&self, c: u8, i: usize) -> Scan<Entry<'a>> {
        let (entry, end) = self.message(c, i, 0)?;
        scan::end_of_text(self.b, end)?;
        Ok(entry)
    }

    /// The batch that opens at `open`. Past the limit, entries are validated and not kept.
    fn batch(&self, open: usize, limit: usize, entries: &mut Vec<Entry<'a>>) -> Scan<Option<Entry<'a>>> {
        let refuse = |fault, response| Ok(Some(Err(Invalid { id: None, fault, response })));
        if self.max_depth == 0 {
            return Err(Fail::at(open, Syntax::TooDeep));
        }
        let (mut c, mut i) = peek(self.b, open + 1);
        if c == b']' {
            scan::end_of_text(self.b, i + 1)?;
            return refuse(Fault::EmptyBatch, false);
        }
        entries.clear();
        entries.reserve((self.b.len() / 64).min(limit));
        let (mut dropped, mut calls) = (false, false);
        loop {
            let (entry, end) = self.message(c, i, 1)?;
            calls |= !matches!(&entry, Ok(Message::Response(_)) | Err(Invalid { response: true, .. }));
            if entries.len() < limit {
                entries.push(entry);
            } else {
                dropped = true;
            }
            (c, i) = peek(self.b, end);
            match c {
                b',' => (c, i) = peek(self.b, i + 1),
                b']' => break,
                _ => return Err(Fail::at(i, Syntax::ExpectedCommaOrEnd)),
            }
        }
        scan::end_of_text(self.b, i + 1)?;
        if !self.dialect.batches {
            return refuse(Fault::BatchForbidden, !calls);
        }
        if dropped {
            return refuse(Fault::BatchTooLong { limit }, !calls);
        }
        Ok(None)
    }

    /// One message whose first byte `c` stands at `i`, inside `depth` open containers. Returns it and the
    /// index past it.
    #[inline(always)]
    fn message(&self, c: u8, i: usize, depth: u8) -> Scan<(Entry<'a>, usize)> {
        const USUAL: &str = r#"{"jsonrpc":"2.0","#;
        let b = self.b;
        if c != b'{' {
            let end = scan::value(b, c, i, depth, self.max_depth)?;
            let fault = Fault::NotAnObject(JsonKind::of(&self.text[i..end]));
            return Ok((Err(Invalid { id: None, fault, response: false }), end));
        }
        if depth >= self.max_depth {
            return Err(Fail::at(i, Syntax::TooDeep));
        }
        let mut members = Members::default();
        let (mut c, mut i) = if b[i..].starts_with(USUAL.as_bytes()) {
            members.jsonrpc = Some(&USUAL[11..16]);
            peek(b, i + USUAL.len())
        } else {
            let (c, i) = peek(b, i + 1);
            if c == b'}' {
                return Ok((self.classify(&members), i + 1));
            }
            (c, i)
        };
        loop {
            let end = self.member(&mut members, c, i, depth + 1)?;
            (c, i) = peek(b, end);
            match c {
                b',' => (c, i) = peek(b, i + 1),
                b'}' => break,
                _ => return Err(Fail::at(i, Syntax::ExpectedCommaOrEnd)),
            }
        }
        Ok((self.classify(&members), i + 1))
    }

    /// One member whose name starts at `i`. Returns the index past its value.
    #[inline(always)]
    fn member(&self, members: &mut Members<'a>, c: u8, i: usize, depth: u8) -> Scan<usize> {
        let b = self.b;
        let rest = &b[i.min(b.len())..];
        // The names as everybody spells them, told apart by their first letter.
        let (slot, past) = match rest.get(1) {
            Some(b'i') if rest.starts_with(b"\"id\":") => (Member::Id, i + 5),
            Some(b'm') if rest.starts_with(b"\"method\":") => {
                let (c, start) = peek(b, i + 9);
                if c == b'"' && members.method.is_none() {
                    let string = scan::string(b, start + 1)?;
                    members.method = Some(&self.text[start..string.end]);
                    members.method_plain = !string.escaped;
                    return Ok(string.end);
                }
                (Member::Method, i + 9)
            }
            Some(b'p') if rest.starts_with(b"\"params\":") => (Member::Params, i + 9),
            Some(b'r') if rest.starts_with(b"\"result\":") => (Member::Result, i + 9),
            _ => return self.rare_member(members, c, i, depth),
        };
        let (c, start) = peek(b, past);
        let end = scan::value(b, c, start, depth, self.max_depth)?;
        members.set(slot, &self.text[start..end]);
        Ok(end)
    }

    /// A member that is not of the envelope, or is spelt in an unusual way.
    #[inline(never)]
    fn rare_member(&self, members: &mut Members<'a>, c: u8, i: usize, depth: u8) -> Scan<usize> {
        let past = scan::name(self.b, c, i)?;
        let name_end = i + 1 + memchr::memrchr(b'"', &self.b[i + 1..past]).unwrap_or(0) + 1;
        let name = &self.text[i..name_end];
        let (c, start) = peek(self.b, past);
        let end = scan::value(self.b, c, start, depth, self.max_depth)?;
        if let Some(slot) = Member::named(name) {
            members.set(slot, &self.text[start..end]);
        }
        Ok(end)
    }

    /// What the members add up to.
    #[inline(always)]
    fn classify(&self, m: &Members<'a>) -> Entry<'a> {
        if let (Some(r#""2.0""#), Some(method), true, None, None, None) =
            (m.jsonrpc, m.method, m.method_plain, m.result, m.error, m.duplicate)
        {
            let structured = match m.params.map(|params| params.as_bytes()[0]) {
                None | Some(b'{') => true,
                Some(first) => first == b'[' && self.dialect.array_params,
            };
            if structured {
                let method = Cow::Borrowed(&method[1..method.len() - 1]);
                let params = m.params.map(RawJson::trusted);
                match m.id {
                    None => return Ok(Message::Notification(Notification { method, params })),
                    Some(id) if usual_id(id) => {
                        let id = Id::trusted(id);
                        return Ok(Message::Request(Request { id, method, params }));
                    }
                    Some(_) => {}
                }
            }
        }
        self.classify_unusual(m)
    }

    /// Everything but a plain request or notification: responses, dialects' liberties and errors.
    #[inline(never)]
    fn classify_unusual(&self, m: &Members<'a>) -> Entry<'a> {
        self.build(m).map_err(|fault| Invalid {
            id: m.id.filter(|_| m.duplicate != Some(Member::Id)).and_then(readable_id),
            fault,
            response: m.method.is_none() && (m.result.is_some() || m.error.is_some()),
        })
    }

    fn build(&self, m: &Members<'a>) -> Result<Message<'a>, Fault> {
        if let Some(member) = m.duplicate {
            return Err(Fault::Duplicate(member));
        }
        self.check_version(m.jsonrpc)?;
        match m.method {
            Some(method) => self.call(m, method),
            None if m.result.is_none() && m.error.is_none() => Err(Fault::Shapeless),
            None => self.response(m),
        }
    }

    fn check_version(&self, jsonrpc: Option<&str>) -> Result<(), Fault> {
        match jsonrpc {
            _ if !self.dialect.version_required => Ok(()),
            None => Err(Fault::Missing(Member::Jsonrpc)),
            Some(text) => {
                let text = string_of(Member::Jsonrpc, "the string \"2.0\"", text)?;
                if text == "2.0" { Ok(()) } else { Err(Fault::WrongVersion) }
            }
        }
    }

    fn call(&self, m: &Members<'a>, method: &'a str) -> Result<Message<'a>, Fault> {
        let method = string_of(Member::Method, "a string", method)?;
        if let Some(other) = m.result.map(|_| Member::Result).or(m.error.map(|_| Member::Error)) {
            return Err(Fault::MethodWith(other));
        }
        let params = self.params(m.params)?;
        let Some(id) = m.id else {
            return Ok(Message::Notification(Notification { method, params }));
        };
        let expected =
            if self.dialect.null_ids { "a string, a number or null" } else { "a string or a number" };
        let id = readable_id(id)
            .filter(|id| self.dialect.null_ids || !id.is_null())
            .ok_or(Fault::WrongKind { member: Member::Id, expected, found: JsonKind::of(id) })?;
        if !self.dialect.fractional_ids && id.is_fractional() {
            return Err(Fault::FractionalId);
        }
        Ok(Message::Request(Request { id, method, params }))
    }

    fn params(&self, params: Option<&'a str>) -> Result<Option<RawJson<'a>>, Fault> {
        let Some(text) = params else { return Ok(None) };
        match JsonKind::of(text) {
            JsonKind::Object => Ok(Some(RawJson::trusted(text))),
            JsonKind::Array if self.dialect.array_params => Ok(Some(RawJson::trusted(text))),
            JsonKind::Null if self.dialect.null_params => Ok(None),
            found => {
                let expected = if self.dialect.array_params { "an array or an object" } else { "an object" };
                Err(Fault::WrongKind { member: Member::Params, expected, found })
            }
        }
    }

    fn response(&self, m: &Members<'a>) -> Result<Message<'a>, Fault> {
        let outcome = match (m.result, m.error) {
            (Some(result), Some("null")) if self.dialect.sloppy_responses => Ok(RawJson::trusted(result)),
            (Some("null"), Some(error)) if self.dialect.sloppy_responses => Err(error_of(error)?),
            (Some(_), Some(_)) => return Err(Fault::ResultAndError),
            (Some(result), None) => Ok(RawJson::trusted(result)),
            (None, error) => Err(error_of(error.unwrap_or("null"))?),
        };
        let id = match m.id {
            None if outcome.is_err() && self.dialect.errors_without_id => Id::NULL,
            None => return Err(Fault::Missing(Member::Id)),
            Some(text) => readable_id(text).ok_or(Fault::WrongKind {
                member: Member::Id,
                expected: "a string, a number or null",
                found: JsonKind::of(text),
            })?,
        };
        Ok(Message::Response(Response { id, outcome }))
    }
}

impl<'a> Members<'a> {
    #[inline(always)]
    fn set(&mut self, member: Member, text: &'a str) {
        let slot = match member {
            Member::Jsonrpc => &mut self.jsonrpc,
            Member::Id => &mut self.id,
            Member::Method => &mut self.method,
            Member::Params => &mut self.params,
            Member::Result => &mut self.result,
            Member::Error => &mut self.error,
        };
        // Of several, `id` is the one to know of: an id that came twice must not be answered to.
        if slot.replace(text).is_some() && (self.duplicate.is_none() || member == Member::Id) {
            self.duplicate = Some(member);
        }
    }
}

impl Member {
    /// The member that a quoted name stands for.
    fn named(quoted: &str) -> Option<Member> {
        Some(match raw::string_value(quoted)?.as_ref() {
            "jsonrpc" => Member::Jsonrpc,
            "id" => Member::Id,
            "method" => Member::Method,
            "params" => Member::Params,
            "result" => Member::Result,
            "error" => Member::Error,
            _ => return None,
        })
    }
}

/// A string or an integer: what every dialect takes.
#[inline(always)]
fn usual_id(text: &str) -> bool {
    match text.as_bytes() {
        [b'"', ..] => true,
        [b'-', digits @ ..] | digits => digits.iter().all(u8::is_ascii_digit),
    }
}

fn readable_id(text: &str) -> Option<Id<'_>> {
    Id::from_json(RawJson::trusted(text))
}

fn string_of<'a>(member: Member, expected: &'static str, text: &'a str) -> Result<Cow<'a, str>, Fault> {
    match JsonKind::of(text) {
        JsonKind::String => raw::string_value(text).ok_or(Fault::LoneSurrogate(member)),
        found => Err(Fault::WrongKind { member, expected, found }),
    }
}

fn error_of(text: &str) -> Result<ErrorObject<'_>, Fault> {
    match JsonKind::of(text) {
        JsonKind::Object => ErrorObject::read(text).map_err(|fault| Fault::InError(ErrorPart(fault))),
        found => Err(Fault::WrongKind { member: Member::Error, expected: "an object", found }),
    }
}
