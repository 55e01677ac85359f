//! What travels in params beside the arguments: progress tokens and trace context.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::dialect::{Dialect, NotificationStyle};
use crate::json::cursor::Cursor;
use crate::json::raw::{JsonKind, RawJson};
use crate::json::string::JsonStr;
use crate::message::encode;

/// W3C trace context, from `params._meta`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct TraceContext<'a> {
    pub traceparent: Cow<'a, str>,
    pub tracestate: Option<Cow<'a, str>>,
    pub baggage: Option<Cow<'a, str>>,
}

impl<'a> TraceContext<'a> {
    /// Reads the trace context from a `_meta` object, if there is one in it.
    pub fn from_meta(meta: &'a RawJson<'_>) -> Option<Self> {
        let text = |name| JsonStr::trusted(Cursor::new(meta).member(name)?)?.value();
        Some(TraceContext {
            traceparent: text("traceparent")?,
            tracestate: text("tracestate"),
            baggage: text("baggage"),
        })
    }

    /// The same context, free of what it borrowed from.
    pub fn into_owned(self) -> TraceContext<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        TraceContext {
            traceparent: owned(self.traceparent),
            tracestate: self.tracestate.map(owned),
            baggage: self.baggage.map(owned),
        }
    }
}

/// Nobody needs longer progress tokens. A running request keeps a copy, and each progress repeats it.
pub(super) const LONGEST_TOKEN: usize = 1024;

/// Whether params are long enough for [`Meta::has_long_token`].
#[inline]
pub(super) fn may_have_long_token(params: &str) -> bool {
    params.len() > LONGEST_TOKEN
}

static META: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"_meta\""));

#[derive(Debug, Default)]
pub(super) struct Meta<'a> {
    /// The style of the token, and its JSON text.
    pub(super) token: Option<(NotificationStyle, &'a str)>,
    /// The text of `_meta`.
    pub(super) text: Option<&'a str>,
}

impl<'a> Meta<'a> {
    /// Reads what a request carries. Nearly all carry nothing, which a plain search shows fastest.
    #[inline]
    pub(super) fn read(params: &'a str, dialect: &Dialect) -> Self {
        if params.starts_with('{') { Meta::read_object(params, dialect) } else { Meta::default() }
    }

    /// Whether the token is longer than is kept.
    #[inline]
    pub(super) fn has_long_token(&self) -> bool {
        self.token.is_some_and(|(_, token)| token.len() > LONGEST_TOKEN)
    }

    fn read_object(params: &'a str, dialect: &Dialect) -> Self {
        static TOKEN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"workDoneToken\""));
        let mut found = Meta::default();
        if META.find(params.as_bytes()).is_some()
            && let Some(meta) = Cursor::trusted(params).member("_meta")
        {
            found.token = Cursor::trusted(meta)
                .member("progressToken")
                .and_then(|t| token(NotificationStyle::Notifications, t));
            found.text = Some(meta);
        }
        let dollar = dialect.cancel == NotificationStyle::Dollar;
        if dollar && found.token.is_none() && TOKEN.find(params.as_bytes()).is_some() {
            found.token = Cursor::trusted(params)
                .member("workDoneToken")
                .and_then(|t| token(NotificationStyle::Dollar, t));
        }
        found
    }
}

fn token(style: NotificationStyle, text: &str) -> Option<(NotificationStyle, &str)> {
    matches!(JsonKind::of(text), JsonKind::String | JsonKind::Number).then_some((style, text))
}

/// Writes a token and a trace context into the params object at `out[start..]`, which ends `out`. Returns
/// whether the token is in it; `None` if it does not fit.
pub(super) fn insert(
    out: &mut Vec<u8>,
    start: usize,
    token: Option<(NotificationStyle, u64)>,
    trace: Option<&TraceContext<'_>>,
) -> Option<bool> {
    let params = std::str::from_utf8(&out[start..]).ok()?;
    let mut inner = Vec::new();
    let meta = Cursor::trusted(params).member("_meta");
    let has = |name| meta.is_some_and(|meta| Cursor::trusted(meta).member(name).is_some());
    // The caller may have brought a trace of its own.
    if let Some(trace) = trace.filter(|_| !has("traceparent")) {
        put(&mut inner, "traceparent", |out| encode::string(out, &trace.traceparent));
        for (name, value) in [("tracestate", &trace.tracestate), ("baggage", &trace.baggage)] {
            if let Some(value) = value.as_ref().filter(|value| !value.is_empty() && !has(name)) {
                put(&mut inner, name, |out| encode::string(out, value));
            }
        }
    }
    let mut outer = Vec::new();
    let number = |out: &mut Vec<u8>, n: u64| out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    let taken = match token {
        None => false,
        // The caller brought a token of its own.
        Some((NotificationStyle::Notifications, _)) if has("progressToken") => false,
        Some((NotificationStyle::Dollar, _)) if Cursor::trusted(params).member("workDoneToken").is_some() => {
            false
        }
        Some((NotificationStyle::Notifications, id)) => {
            put(&mut inner, "progressToken", |out| number(out, id));
            true
        }
        Some((NotificationStyle::Dollar, id)) => {
            put(&mut outer, "workDoneToken", |out| number(out, id));
            true
        }
    };
    // Back to front, so that the first insertion does not move the place of the second.
    if !inner.is_empty() {
        match meta {
            Some(meta) if meta.starts_with('{') => {
                let at = start + (meta.as_ptr() as usize - params.as_ptr() as usize);
                open_with(out, at, &inner);
            }
            Some(_) if taken && outer.is_empty() => return None,
            Some(_) => {}
            None => put(&mut outer, "_meta", |out| {
                out.push(b'{');
                out.extend_from_slice(&inner);
                out.push(b'}');
            }),
        }
    }
    if !outer.is_empty() {
        open_with(out, start, &outer);
    }
    Some(taken)
}

/// Puts our token and our trace where there are others in the params at the end of `out`, which begin with
/// `,"params":` at `start`, or are not there. Returns whether the token is in it.
pub(super) fn relay(out: &mut Vec<u8>, start: usize, id: u64, trace: Option<&TraceContext<'_>>) -> bool {
    const HEAD: usize = ",\"params\":".len();
    let text = out.get(start + HEAD..).filter(|params| params.first() == Some(&b'{')).unwrap_or_default();
    if META.find(text).is_none() {
        return false;
    }
    let Some(meta) = std::str::from_utf8(text).ok().and_then(|text| Cursor::trusted(text).member("_meta"))
    else {
        return false;
    };
    let at = |member: &str| member.as_ptr() as usize - text.as_ptr() as usize + start + HEAD;
    let find = |name| Cursor::trusted(meta).member(name).map(|value| at(value)..at(value) + value.len());
    let is_token = |token: &&str| matches!(JsonKind::of(token), JsonKind::String | JsonKind::Number);
    let token = Cursor::trusted(meta).member("progressToken").filter(is_token);
    let has_token = token.is_some();
    let mut changes = Vec::new();
    if let Some(token) = token {
        changes
            .push((at(token)..at(token) + token.len(), itoa::Buffer::new().format(id).as_bytes().to_vec()));
    }
    if let Some(trace) = trace {
        let members = [
            ("traceparent", Some(&trace.traceparent)),
            ("tracestate", trace.tracestate.as_ref()),
            ("baggage", trace.baggage.as_ref()),
        ];
        for (name, value) in members {
            if let (Some(place), Some(value)) = (find(name), value) {
                let mut text = Vec::new();
                encode::string(&mut text, value);
                changes.push((place, text));
            }
        }
    }
    // Back to front, so that no change moves the place of another.
    changes.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(place.start));
    for (place, text) in changes {
        out.splice(place, text);
    }
    has_token
}

/// Appends a member to a list of them.
fn put(members: &mut Vec<u8>, name: &str, value: impl FnOnce(&mut Vec<u8>)) {
    if !members.is_empty() {
        members.push(b',');
    }
    encode::string(members, name);
    members.push(b':');
    value(members);
}

/// Puts members at the front of the object that opens at `at`.
fn open_with(out: &mut Vec<u8>, at: usize, members: &[u8]) {
    let empty = out[at + 1..].trim_ascii_start().first() == Some(&b'}');
    let comma: &[u8] = if empty { b"" } else { b"," };
    out.splice(at + 1..at + 1, members.iter().chain(comma).copied());
}
