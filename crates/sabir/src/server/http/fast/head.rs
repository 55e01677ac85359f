//! Requests of HTTP/1.1 as nearly all of them are: a POST of JSON whose length is known, and nothing else
//! that HTTP could do.
//!
//! Only whether a request is one is told here. All others, right or wrong, are left to hyper, so nothing may
//! be taken for plain that hyper would read in another way: the rules are narrower than those of HTTP.

use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Uri};
use memchr::memchr;

/// A head is plain up to here.
const HEAD_BYTES: usize = 8 * 1024;
const HEADERS: usize = 64;

const START: &[u8] = b"POST /";

/// What bytes begin with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ParseOutcome<'a> {
    /// The head of a plain request.
    ParsedHead(ParsedHead<'a>),
    /// What may become one.
    Part,
    Other,
}

/// The head of a plain request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ParsedHead<'a> {
    /// All of it, to the empty line.
    pub(crate) head: &'a [u8],
    /// The length of the body.
    pub(crate) length: usize,
    /// Where it is sent to, without a query.
    pub(crate) path: &'a [u8],
    pub(crate) host: &'a [u8],
    pub(crate) content_type: &'a [u8],
    pub(crate) accept: Option<&'a [u8]>,
}

/// The head of a plain request, kept.
pub(crate) struct Head(Box<[u8]>);

impl<'a> ParsedHead<'a> {
    /// What these bytes begin with.
    pub(crate) fn find(bytes: &'a [u8]) -> ParseOutcome<'a> {
        let known = bytes.len().min(START.len());
        if bytes[..known] != START[..known] {
            return ParseOutcome::Other;
        }
        let mut lines = Lines(bytes);
        let Some(first) = lines.next() else { return unfinished(bytes) };
        let Some(target) = target(first) else { return ParseOutcome::Other };
        let path = memchr(b'?', target).map_or(target, |query| &target[..query]);
        let mut headers = Headers::default();
        for count in 0..=HEADERS {
            match lines.next() {
                None => return unfinished(bytes),
                Some(b"\r") => {
                    let head = &bytes[..bytes.len() - lines.0.len()];
                    return headers.parsed(head, path).map_or(ParseOutcome::Other, ParseOutcome::ParsedHead);
                }
                Some(line) if count == HEADERS || headers.add(line).is_none() => return ParseOutcome::Other,
                Some(_) => {}
            }
        }
        ParseOutcome::Other
    }

    pub(crate) fn keep(&self) -> Head {
        Head(self.head.into())
    }
}

fn unfinished(bytes: &[u8]) -> ParseOutcome<'_> {
    if bytes.len() < HEAD_BYTES { ParseOutcome::Part } else { ParseOutcome::Other }
}

/// Where a request line goes to.
fn target(line: &[u8]) -> Option<&[u8]> {
    let target = line.strip_prefix(b"POST ")?.strip_suffix(b" HTTP/1.1\r")?;
    target.iter().all(|&byte| KINDS[usize::from(byte)] & TARGET != 0).then_some(target)
}

/// Bytes that may stand in a target, and in a name.
const TARGET: u8 = 1;
const NAME: u8 = 2;

/// What a byte may be.
const KINDS: [u8; 256] = {
    const fn add(mut kinds: [u8; 256], bytes: &[u8], kind: u8) -> [u8; 256] {
        let mut at = 0;
        while at < bytes.len() {
            kinds[bytes[at] as usize] |= kind;
            at += 1;
        }
        kinds
    }
    let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let kinds = add([0; 256], letters, TARGET | NAME);
    add(add(kinds, b"-._~!$&'()*+,;=:@/%?", TARGET), b"!#$%&'*+-.^_`|~", NAME)
};

/// The lines of a head, each without its line feed.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let end = memchr(b'\n', self.0)?;
        let line = &self.0[..end];
        self.0 = &self.0[end + 1..];
        Some(line)
    }
}

/// A header: its name, and its value without spaces around it.
#[inline]
fn header(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_suffix(b"\r")?;
    // Names are so short that a search with setup would take longer.
    let (name, value) = line.split_at(line.iter().position(|&byte| byte == b':')?);
    Some((name, value[1..].trim_ascii()))
}

/// Whether there is nothing but text in a head, and nothing but whole ends of lines.
fn is_text(head: &[u8]) -> bool {
    // All at once and to the end: so it is done sixteen bytes at a time.
    let odd = head.iter().zip(&head[1..]).fold(0, |odd, (&byte, &next)| {
        let fine = matches!(byte, b' '..=b'~' | b'\t' | b'\n') | ((byte == b'\r') & (next == b'\n'));
        odd | u8::from(!fine)
    });
    odd == 0
}

/// The headers that matter.
#[derive(Default)]
struct Headers<'a> {
    host: Option<&'a [u8]>,
    content_type: Option<&'a [u8]>,
    content_length: Option<usize>,
    accept: Option<&'a [u8]>,
}

impl<'a> Headers<'a> {
    /// Takes a header in; `None` if a request with it is not plain.
    #[inline]
    fn add(&mut self, line: &'a [u8]) -> Option<()> {
        let (name, value) = header(line)?;
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let once = |slot: &mut Option<&'a [u8]>| slot.replace(value).is_none().then_some(());
        match name.len() {
            4 if is("host") => once(&mut self.host),
            6 if is("accept") => once(&mut self.accept),
            12 if is("content-type") => once(&mut self.content_type),
            14 if is("content-length") => self.content_length.replace(length(value)?).is_none().then_some(()),
            10 if is("connection") => value.eq_ignore_ascii_case(b"keep-alive").then_some(()),
            // What changes how the rest is to be read, or who may ask.
            6 if is("expect") || is("origin") => None,
            7 if is("upgrade") || is("trailer") => None,
            16 if is("content-encoding") => None,
            17 if is("transfer-encoding") => None,
            _ => is_name(name).then_some(()),
        }
    }

    fn parsed(self, head: &'a [u8], path: &'a [u8]) -> Option<ParsedHead<'a>> {
        is_text(head).then_some(())?;
        Some(ParsedHead {
            head,
            length: self.content_length?,
            path,
            host: self.host?,
            content_type: self.content_type?,
            accept: self.accept,
        })
    }
}

fn length(value: &[u8]) -> Option<usize> {
    let digit = |sum: usize, byte: &u8| byte.is_ascii_digit().then(|| sum * 10 + usize::from(byte - b'0'));
    if (1..=9).contains(&value.len()) { value.iter().try_fold(0, digit) } else { None }
}

fn is_name(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(|&byte| KINDS[usize::from(byte)] & NAME != 0)
}

impl Head {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Fills in what the head says.
    pub(crate) fn read(&self, parts: &mut Parts) {
        let mut lines = Lines(&self.0);
        let target = lines.next().and_then(target).and_then(|target| Uri::try_from(target).ok());
        parts.method = Method::POST;
        parts.uri = target.unwrap_or_default();
        for (name, value) in lines.filter_map(header) {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
                parts.headers.append(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "POST /rpc?a=b HTTP/1.1\r\nHost: x:1\r\nContent-Type:application/json\r\n\
        X-Any: \tvalue of it \r\nCONTENT-LENGTH: 12\r\nConnection: Keep-Alive\r\n\r\n";

    #[test]
    fn a_plain_one_is_found_once_it_is_there() {
        let all = format!("{HEAD}{{}}");
        for end in 0..HEAD.len() {
            assert_eq!(ParsedHead::find(&all.as_bytes()[..end]), ParseOutcome::Part, "{end}");
        }
        let want = ParsedHead {
            head: HEAD.as_bytes(),
            length: 12,
            path: b"/rpc",
            host: b"x:1",
            content_type: b"application/json",
            accept: None,
        };
        assert_eq!(ParsedHead::find(all.as_bytes()), ParseOutcome::ParsedHead(want));
    }

    #[test]
    fn it_can_be_read_later() {
        let ParseOutcome::ParsedHead(parsed) = ParsedHead::find(HEAD.as_bytes()) else {
            panic!("it is plain")
        };
        let mut parts = http::Request::new(()).into_parts().0;
        parsed.keep().read(&mut parts);
        assert_eq!((parts.method, parts.uri.to_string()), (Method::POST, "/rpc?a=b".to_owned()));
        let headers: Vec<_> = parts
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or("?")))
            .collect();
        let want = [
            ("host", "x:1"),
            ("content-type", "application/json"),
            ("x-any", "value of it"),
            ("content-length", "12"),
            ("connection", "Keep-Alive"),
        ];
        assert_eq!(headers, want);
    }

    #[test]
    fn everything_else_is_left_to_others() {
        for (from, to) in [
            ("POST", "GET"),
            ("POST", "\r\nPOST"),
            ("POST /", "POST http://x/"),
            ("/rpc", "/r pc"),
            ("/rpc", "/r\u{e9}"),
            ("/rpc", "/#"),
            ("HTTP/1.1", "HTTP/1.0"),
            ("HTTP/1.1\r\n", "HTTP/1.1\n"),
            ("HTTP/1.1", " HTTP/1.1"),
            ("Host: x:1\r\n", ""),
            ("Host: x:1\r\n", "Host: x:1\r\nHost: x:1\r\n"),
            ("Host: x:1\r\n", "Host: x:1\n"),
            ("Host: x:1\r\n", "Host : x:1\r\n"),
            ("Content-Type:application/json\r\n", ""),
            ("X-Any", "Content-Type"),
            ("X-Any", "Transfer-Encoding"),
            ("X-Any", "Content-Encoding"),
            ("X-Any", "content-length"),
            ("X-Any", "Expect"),
            ("X-Any", "Upgrade"),
            ("X-Any", "Origin"),
            ("X-Any", "Trailer"),
            ("X-Any", "X Any"),
            ("X-Any", " X-Any"),
            ("X-Any", ""),
            ("X-Any: ", "X-Any"),
            ("value", "val\0ue"),
            ("value", "val\rue"),
            ("value", "\rvalue"),
            ("value", "val\r\n ue"),
            ("value", "valu\u{e9}"),
            (": 12", ": +12"),
            (": 12", ": 12, 12"),
            (": 12", ": "),
            (": 12", ": 9999999999"),
            ("Keep-Alive", "close"),
            ("Keep-Alive", "keep-alive, upgrade"),
        ] {
            let head = HEAD.replacen(from, to, 1);
            assert_ne!(head, HEAD, "{from}");
            assert_eq!(ParsedHead::find(head.as_bytes()), ParseOutcome::Other, "{head}");
        }
        let endless = format!("POST / HTTP/1.1\r\nX: {}", "x".repeat(HEAD_BYTES));
        assert_eq!(ParsedHead::find(endless.as_bytes()), ParseOutcome::Other);
        let many = HEAD.replace("X-Any: ", &"X: y\r\n".repeat(HEADERS));
        assert_eq!(ParsedHead::find(many.as_bytes()), ParseOutcome::Other);
    }
}
