//! From the bytes of one message to its shape, its id and its parts, in one pass.
//!
//! The whole text is validated before anything is handed out: nothing of a batch is done if its last byte
//! is wrong.

use std::borrow::Cow;

use crate::dialect::Dialect;
use crate::json::find::chunk;
use crate::json::raw::{self, JsonKind, RawJson};
use crate::json::scan::{self, Fail, MAX_DEPTH, ParseError, Scan, Syntax, at, peek};
use crate::json::string::JsonStr;
use crate::limits::Limits;
use crate::message::error::ErrorObject;
use crate::message::id::Id;
use crate::message::{ErrorPart, Fault, Invalid, Member, Message, Notification, Request, Response};

/// Bytes of a small entry of a batch, to guess how many there are.
const SMALL_ENTRY: usize = 48;

/// One message, or a batch of them in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Incoming<'a> {
    /// Not a batch, or one that is refused as a whole.
    One(Entry<'a>),
    /// A batch with at least one entry.
    Batch(Vec<Entry<'a>>),
}

/// A message, or why it is not one.
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
    if !is_batch(text) {
        return decode_single(text, dialect, limits).map(Incoming::One);
    }
    let mut entries = Vec::new();
    Ok(match decode_batch(text, dialect, limits, &mut entries)? {
        Ok(_) => Incoming::Batch(entries),
        Err(refused) => Incoming::One(refused),
    })
}

/// Whether it is a batch, if it is a message at all.
#[inline(always)]
pub(crate) fn is_batch(text: &[u8]) -> bool {
    peek(text, 0).0 == b'['
}

/// Decodes a message that is not a batch.
#[inline]
pub(crate) fn decode_single<'a>(
    text: &'a [u8],
    dialect: &Dialect,
    limits: &Limits,
) -> Result<Entry<'a>, ParseError> {
    let reader = Reader::new(text, dialect, limits)?;
    let (c, i) = peek(reader.text.as_bytes(), 0);
    let mut members = Members::default();
    reader.single(&mut members, c, i)?;
    Ok(reader.classify(&members))
}

/// Decodes a batch into its entries. Its text, or the entry that it counts as if it is refused as a whole.
pub(crate) fn decode_batch<'a>(
    text: &'a [u8],
    dialect: &Dialect,
    limits: &Limits,
    entries: &mut Vec<Entry<'a>>,
) -> Result<Result<&'a str, Entry<'a>>, ParseError> {
    let reader = Reader::new(text, dialect, limits)?;
    let (_, open) = peek(reader.text.as_bytes(), 0);
    let refused = reader.batch(open, limits.batch_len, entries)?;
    Ok(refused.map_or(Ok(reader.text), Err))
}

struct Reader<'a, 'd> {
    text: &'a str,
    dialect: &'d Dialect,
    max_depth: u8,
}

/// What the object holds of the envelope's members: their JSON text.
#[derive(Default)]
struct Members<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    /// `method` is not JSON text but the method itself: it came as a string without escapes.
    method_plain: bool,
    params: Option<&'a str>,
    result: Option<&'a str>,
    error: Option<&'a str>,
    duplicate: Option<Member>,
    /// It is not an object, but of this kind.
    other: Option<JsonKind>,
}

/// Scanning fills [`Members`]; only when all of it is valid are they made a message, in the place where the
/// caller wants it. A message is large, and moving it about costs as much as scanning a small one.
impl<'a, 'd> Reader<'a, 'd> {
    #[inline(always)]
    fn new(text: &'a [u8], dialect: &'d Dialect, limits: &Limits) -> Result<Self, ParseError> {
        let text = raw::utf8(text)?;
        Ok(Reader { text, dialect, max_depth: limits.depth.min(MAX_DEPTH) })
    }

    /// The message that is the whole text.
    #[inline(always)]
    fn single(&self, members: &mut Members<'a>, c: u8, i: usize) -> Result<(), ParseError> {
        self.message(members, c, i, 0)
            .and_then(|end| scan::end_of_text(self.text.as_bytes(), end))
            .map_err(|fail| fail.explain(self.text.as_bytes()))
    }

    /// The batch that opens at `open`: its entries, or why it is refused as a whole.
    #[inline(never)]
    fn batch(
        &self,
        open: usize,
        limit: usize,
        entries: &mut Vec<Entry<'a>>,
    ) -> Result<Option<Entry<'a>>, ParseError> {
        entries.clear();
        let fault = self.entries(open, limit, entries).map_err(|fail| fail.explain(self.text.as_bytes()))?;
        Ok(fault.map(|(fault, response)| Err(Invalid { id: None, fault, response })))
    }

    /// The entries of a batch. Past the limit they are validated and not kept. Returns why the batch is
    /// refused, if it is, and whether it looks like nothing but responses.
    fn entries(
        &self,
        open: usize,
        limit: usize,
        entries: &mut Vec<Entry<'a>>,
    ) -> Scan<Option<(Fault, bool)>> {
        if self.max_depth == 0 {
            return Err(Fail::at(open, Syntax::TooDeep));
        }
        let (mut c, mut i) = peek(self.text.as_bytes(), open + 1);
        if c == b']' {
            scan::end_of_text(self.text.as_bytes(), i + 1)?;
            return Ok(Some((Fault::EmptyBatch, false)));
        }
        entries.reserve((self.text.len() / SMALL_ENTRY).min(limit));
        let (mut dropped, mut calls) = (false, false);
        loop {
            let mut members = Members::default();
            let end = self.message(&mut members, c, i, 1)?;
            let entry = self.classify(&members);
            calls |= !matches!(&entry, Ok(Message::Response(_)) | Err(Invalid { response: true, .. }));
            if entries.len() < limit {
                entries.push(entry);
            } else {
                dropped = true;
            }
            (c, i) = peek(self.text.as_bytes(), end);
            match c {
                b',' => (c, i) = peek(self.text.as_bytes(), i + 1),
                b']' => break,
                _ => return Err(Fail::at(i, Syntax::ExpectedCommaOrEnd)),
            }
        }
        scan::end_of_text(self.text.as_bytes(), i + 1)?;
        Ok(match () {
            () if !self.dialect.batches => Some((Fault::BatchForbidden, !calls)),
            () if dropped => Some((Fault::BatchTooLong { limit }, !calls)),
            () => None,
        })
    }

    /// One message whose first byte `c` stands at `i`, inside `depth` open containers. Returns the index
    /// past it.
    #[inline(always)]
    fn message(&self, members: &mut Members<'a>, c: u8, i: usize, depth: u8) -> Scan<usize> {
        const USUAL: &str = r#"{"jsonrpc":"2.0","#;
        let b = self.text.as_bytes();
        if c != b'{' {
            return self.no_object(members, c, i, depth);
        }
        if depth >= self.max_depth {
            return Err(Fail::at(i, Syntax::TooDeep));
        }
        let (mut c, mut i) = if chunk::<17>(b, i).is_some_and(|head| head == USUAL.as_bytes()) {
            members.jsonrpc = Some(&USUAL[11..16]);
            peek(b, i + USUAL.len())
        } else {
            let (c, i) = peek(b, i + 1);
            if c == b'}' {
                return Ok(i + 1);
            }
            (c, i)
        };
        loop {
            let end = self.member(members, c, i, depth + 1)?;
            (c, i) = peek(b, end);
            match c {
                b',' => (c, i) = peek(b, i + 1),
                b'}' => return Ok(i + 1),
                _ => return Err(Fail::at(i, Syntax::ExpectedCommaOrEnd)),
            }
        }
    }

    #[inline(never)]
    fn no_object(&self, members: &mut Members<'a>, c: u8, i: usize, depth: u8) -> Scan<usize> {
        let end = scan::value(self.text.as_bytes(), c, i, depth, self.max_depth)?;
        members.other = Some(JsonKind::of(&self.text[i..end]));
        Ok(end)
    }

    /// One member whose name starts at `i`. Returns the index past its value.
    #[inline(always)]
    fn member(&self, members: &mut Members<'a>, c: u8, i: usize, depth: u8) -> Scan<usize> {
        let b = self.text.as_bytes();
        let (slot, member, past) = match usual_name(b, i) {
            Some(Member::Id) => (&mut members.id, Member::Id, i + 5),
            Some(Member::Params) => (&mut members.params, Member::Params, i + 9),
            Some(Member::Result) => (&mut members.result, Member::Result, i + 9),
            Some(Member::Error) => (&mut members.error, Member::Error, i + 8),
            Some(Member::Method) => {
                let (c, start) = peek(b, i + 9);
                if c == b'"' && members.method.is_none() {
                    let string = scan::string(b, start + 1)?;
                    let quotes = !string.escaped as usize;
                    members.method = Some(&self.text[start + quotes..string.end - quotes]);
                    members.method_plain = !string.escaped;
                    return Ok(string.end);
                }
                (&mut members.method, Member::Method, i + 9)
            }
            _ => return self.rare_member(members, c, i, depth),
        };
        let (c, start) = peek(b, past);
        let end = scan::value(b, c, start, depth, self.max_depth)?;
        if slot.replace(&self.text[start..end]).is_some() {
            members.occurs_again(member);
        }
        Ok(end)
    }

    /// A member that is not of the envelope, or is written with escapes.
    #[inline(never)]
    fn rare_member(&self, members: &mut Members<'a>, c: u8, i: usize, depth: u8) -> Scan<usize> {
        let past = scan::name(self.text.as_bytes(), c, i)?;
        let name_end = i + 1 + memchr::memrchr(b'"', &self.text.as_bytes()[i + 1..past]).unwrap_or(0) + 1;
        let name = &self.text[i..name_end];
        let (c, start) = peek(self.text.as_bytes(), past);
        let end = scan::value(self.text.as_bytes(), c, start, depth, self.max_depth)?;
        if let Some(member) = Member::named(name) {
            members.set(member, &self.text[start..end]);
        }
        Ok(end)
    }

    /// What the members add up to.
    #[inline(always)]
    fn classify(&self, m: &Members<'a>) -> Entry<'a> {
        if let (Some(r#""2.0""#), None) = (m.jsonrpc, m.duplicate) {
            let usual = match (m.method, m.result, m.error) {
                (Some(method), None, None) if m.method_plain => self.usual_call(m, method),
                (None, Some(result), None) => usual_response(m, || Some(Ok(RawJson::trusted(result)))),
                (None, None, Some(error)) => usual_response(m, || error_of(error).ok().map(Err)),
                _ => None,
            };
            if let Some(message) = usual {
                return Ok(message);
            }
        }
        self.classify_unusual(m)
    }

    /// A request or a notification that every dialect takes.
    #[inline(always)]
    fn usual_call(&self, m: &Members<'a>, method: &'a str) -> Option<Message<'a>> {
        let structured = match m.params.map(|params| params.as_bytes()[0]) {
            None | Some(b'{') => true,
            Some(first) => first == b'[' && self.dialect.array_params,
        };
        if !structured {
            return None;
        }
        let method = Cow::Borrowed(method);
        let params = m.params.map(RawJson::trusted);
        match m.id {
            None => Some(Message::Notification(Notification { method, params })),
            Some(id) if usual_id(id) => {
                Some(Message::Request(Request { id: Id::trusted(id), method, params }))
            }
            Some(_) => None,
        }
    }

    /// Everything else: dialects' liberties and what is wrong.
    #[inline(never)]
    fn classify_unusual(&self, m: &Members<'a>) -> Entry<'a> {
        self.build(m).map_err(|fault| Invalid {
            id: m.id.filter(|_| m.duplicate != Some(Member::Id)).and_then(readable_id),
            fault,
            response: m.method.is_none() && (m.result.is_some() || m.error.is_some()),
        })
    }

    fn build(&self, m: &Members<'a>) -> Result<Message<'a>, Fault> {
        if let Some(kind) = m.other {
            return Err(Fault::NotAnObject(kind));
        }
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
            Some(r#""2.0""#) => Ok(()),
            _ if !self.dialect.version_required => Ok(()),
            None => Err(Fault::Missing(Member::Jsonrpc)),
            Some(text) => {
                let text = string_of(Member::Jsonrpc, "the string \"2.0\"", text)?;
                if text == "2.0" { Ok(()) } else { Err(Fault::WrongVersion) }
            }
        }
    }

    fn call(&self, m: &Members<'a>, method: &'a str) -> Result<Message<'a>, Fault> {
        let method = match m.method_plain {
            true => Cow::Borrowed(method),
            false => string_of(Member::Method, "a string", method)?,
        };
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
            (Some(result), Some("null")) if self.dialect.lenient_responses => Ok(RawJson::trusted(result)),
            (Some("null"), Some(error)) if self.dialect.lenient_responses => Err(error_of(error)?),
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
        if slot.replace(text).is_some() {
            self.occurs_again(member);
        }
    }

    /// Of several, `id` is the one to know of: an id that came twice must not be answered to.
    #[cold]
    fn occurs_again(&mut self, member: Member) {
        if self.duplicate.is_none() || member == Member::Id {
            self.duplicate = Some(member);
        }
    }
}

/// The member whose name, quotes and colon stand at `i` as nearly everybody writes them: one load and a
/// few comparisons of words.
#[inline(always)]
fn usual_name(b: &[u8], i: usize) -> Option<Member> {
    const METHOD: u64 = u64::from_le_bytes(*b"\"method\"");
    const PARAMS: u64 = u64::from_le_bytes(*b"\"params\"");
    const RESULT: u64 = u64::from_le_bytes(*b"\"result\"");
    const ERROR: u64 = u64::from_le_bytes(*b"\"error\":");
    const ID: u64 = u64::from_le_bytes(*b"\"id\":\0\0\0");
    let Some(&word) = chunk(b, i) else {
        // All others need more room, together with their value.
        return (chunk(b, i) == Some(b"\"id\":")).then_some(Member::Id);
    };
    let word = u64::from_le_bytes(word);
    if word << 24 == ID << 24 {
        return Some(Member::Id);
    }
    let member = match word {
        METHOD => Member::Method,
        PARAMS => Member::Params,
        RESULT => Member::Result,
        ERROR => return Some(Member::Error),
        _ => return None,
    };
    (at(b, i + 8) == b':').then_some(member)
}

impl Member {
    /// The member that a quoted name stands for.
    fn named(quoted: &str) -> Option<Member> {
        Some(match JsonStr::trusted(quoted)?.value()?.as_ref() {
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

/// A response that every dialect takes.
#[inline(always)]
fn usual_response<'a>(
    m: &Members<'a>,
    outcome: impl FnOnce() -> Option<Result<RawJson<'a>, ErrorObject<'a>>>,
) -> Option<Message<'a>> {
    let id = Id::trusted(m.id.filter(|id| usual_id(id))?);
    Some(Message::Response(Response { id, outcome: outcome()? }))
}

fn readable_id(text: &str) -> Option<Id<'_>> {
    Id::from_json(RawJson::trusted(text))
}

fn string_of<'a>(member: Member, expected: &'static str, text: &'a str) -> Result<Cow<'a, str>, Fault> {
    match JsonStr::trusted(text) {
        Some(string) => string.value().ok_or(Fault::LoneSurrogate(member)),
        None => Err(Fault::WrongKind { member, expected, found: JsonKind::of(text) }),
    }
}

fn error_of(text: &str) -> Result<ErrorObject<'_>, Fault> {
    match JsonKind::of(text) {
        JsonKind::Object => ErrorObject::read(text).map_err(|fault| Fault::InError(ErrorPart(fault))),
        found => Err(Fault::WrongKind { member: Member::Error, expected: "an object", found }),
    }
}
