//! Detects the protocol of a connection by its first bytes.
//!
//! A web page can make a browser send a request with any method and nearly any body. So what begins like a request of
//! HTTP must never be read as a stream of messages: its body would be executed, past all checks of `Host`, `Origin` and
//! `Content-Type`. A stream is therefore recognised by what it begins with, not by what it does not begin with.

/// Blank bytes before a message or a request that are waited through.
const LONGEST_BLANK: usize = 4 * 1024;

/// The longest method, or name of a header.
const LONGEST_TOKEN: usize = 64;

/// What was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// JSON-RPC without HTTP around it. Lines and headers are told apart where messages are cut.
    Stream,
    /// A method and a space. Whether it is right is for the parser of HTTP to say.
    Http1,
    Http2,
    Tls,
    /// Nothing that is spoken here.
    Unknown,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// What these first bytes begin, or `None` if more are needed. More bytes never change a verdict.
pub(crate) fn detect(bytes: &[u8]) -> Option<Protocol> {
    match bytes.first() {
        None => return None,
        Some(0x16) => return Some(Protocol::Tls),
        Some(_) => {}
    }
    match begins_with(bytes, PREFACE) {
        Some(true) => return Some(Protocol::Http2),
        None => return None,
        Some(false) => {}
    }
    // Blank lines are legal before a message, and before a request of HTTP/1.
    let text = trim_start(bytes);
    let (text, marked) = match begins_with(text, BYTE_ORDER_MARK) {
        None if !text.is_empty() => return None,
        Some(true) => (trim_start(&text[BYTE_ORDER_MARK.len()..]), true),
        _ => (text, false),
    };
    // Also where more came at once: however the bytes are cut, the verdict is the same.
    if bytes.len() - text.len() >= LONGEST_BLANK {
        return Some(Protocol::Unknown);
    }
    match text.first() {
        None => return None,
        Some(b'{' | b'[') => return Some(Protocol::Stream),
        Some(_) => {}
    }
    let length = text.iter().take(LONGEST_TOKEN).position(|&byte| !is_token(byte));
    let Some(length) = length else {
        return if text.len() < LONGEST_TOKEN { None } else { Some(Protocol::Unknown) };
    };
    // `Content-Length` with a space behind it is a method.
    Some(match text[length] {
        b':' if is_content_header(&text[..length]) => Protocol::Stream,
        b' ' if length > 0 && !marked => Protocol::Http1,
        _ => Protocol::Unknown,
    })
}

/// Whether a stream that begins like this has headers around its messages.
pub(crate) fn has_headers(bytes: &[u8]) -> bool {
    let text = trim_start(bytes);
    let text = text.strip_prefix(BYTE_ORDER_MARK).map_or(text, trim_start);
    matches!(text.first(), Some(b'c' | b'C'))
}

/// Whether `bytes` begin with `whole`, unless they are too few to tell.
fn begins_with(bytes: &[u8], whole: &[u8]) -> Option<bool> {
    let common = bytes.len().min(whole.len());
    if bytes[..common] != whole[..common] {
        return Some(false);
    }
    (common == whole.len()).then_some(true)
}

fn trim_start(bytes: &[u8]) -> &[u8] {
    let blank = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    &bytes[blank.count()..]
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn is_content_header(name: &[u8]) -> bool {
    let start = b"content-";
    name.get(..start.len()).is_some_and(|name| name.eq_ignore_ascii_case(start))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn first_bytes_tell() {
        for (bytes, want) in [
            (&b"{\"jsonrpc\""[..], Some(Protocol::Stream)),
            (b"[", Some(Protocol::Stream)),
            (b"\r\n {", Some(Protocol::Stream)),
            (b"\xEF\xBB\xBF{", Some(Protocol::Stream)),
            (b"\n\xEF\xBB\xBF\n[", Some(Protocol::Stream)),
            (b"Content-Length: 5", Some(Protocol::Stream)),
            (b"content-type: x", Some(Protocol::Stream)),
            (b"\xEF\xBB\xBFCONTENT-LENGTH:5", Some(Protocol::Stream)),
            (b"POST / HTTP/1.1", Some(Protocol::Http1)),
            (b"\r\nGET / HTTP/1.1", Some(Protocol::Http1)),
            (b"\r\n\t FOO / HTTP/1.1", Some(Protocol::Http1)),
            (b"OPTIONS * HTTP/1.1", Some(Protocol::Http1)),
            (b"patch / HTTP/1.1", Some(Protocol::Http1)),
            (b"QUERY / HTTP/1.1", Some(Protocol::Http1)),
            (b"Content-Length / HTTP/1.1", Some(Protocol::Http1)),
            (b"{} / HTTP/1.1", Some(Protocol::Stream)),
            (b"PRI * HTTP/1.1", Some(Protocol::Http1)),
            (b"\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Some(Protocol::Http1)),
            (PREFACE, Some(Protocol::Http2)),
            (b"\x16\x03\x01", Some(Protocol::Tls)),
            (b"\n\x16\x03\x01", Some(Protocol::Unknown)),
            (b"nonsense\n", Some(Protocol::Unknown)),
            (b"\"POST / HTTP/1.1\"", Some(Protocol::Unknown)),
            (b"Host: x", Some(Protocol::Unknown)),
            (b"\xEF\xBB\xBFPOST / HTTP/1.1", Some(Protocol::Unknown)),
            (b"\xEF\xBB{", Some(Protocol::Unknown)),
            (b"\0", Some(Protocol::Unknown)),
            (b" : x", Some(Protocol::Unknown)),
            (b"", None),
            (b"\n\n", None),
            (b"\xEF\xBB", None),
            (b"P", None),
            (b"PRI *", None),
            (b"POSTURE", None),
            (b"CON", None),
            (b"Content-Length", None),
        ] {
            assert_eq!(detect(bytes), want, "{:?}", bytes.escape_ascii().to_string());
        }
    }

    #[test]
    fn it_always_decides_in_time() {
        for start in [&b"\n"[..], b" \t", b"x", b"Content-", PREFACE, BYTE_ORDER_MARK] {
            let bytes: Vec<u8> = start.iter().copied().cycle().take(LONGEST_BLANK).collect();
            assert!(detect(&bytes).is_some(), "{start:?}");
        }
    }

    /// Starts of connections that are nearly right.
    fn starts() -> impl Strategy<Value = Vec<u8>> {
        let words = prop::sample::select(vec![
            &b"POST"[..],
            b"FOO",
            b"patch",
            b"Content-Length",
            b"PRI",
            b" ",
            b" / ",
            b" * ",
            b"HTTP/1.1",
            b"HTTP/2.0",
            b"\r\n",
            b"\n",
            b"\t",
            b"Host: x",
            b": ",
            b"{",
            b"}",
            b"[",
            b"\xEF\xBB\xBF",
            b"\x16",
            b"SM",
            b"\0",
            b"\"",
        ]);
        let words = prop::collection::vec(words, 0..10).prop_map(|words| words.concat());
        prop_oneof![words, prop::collection::vec(any::<u8>(), 0..40)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// However the bytes come, the verdict is the same.
        #[test]
        fn more_bytes_never_change_a_verdict(bytes in starts()) {
            let verdict = (0..=bytes.len()).find_map(|end| detect(&bytes[..end]));
            prop_assert_eq!(verdict, detect(&bytes));
        }

        /// What a parser of HTTP takes for a request, or for the start of one, is never a stream.
        #[test]
        fn a_request_is_never_a_stream(bytes in starts()) {
            let request = [&bytes[..], b"\r\n\r\n"].concat();
            for head in [&bytes, &request] {
                let mut headers = [httparse::EMPTY_HEADER; 16];
                let mut parsed = httparse::Request::new(&mut headers);
                if parsed.parse(head).is_ok() && parsed.method.is_some() {
                    prop_assert_ne!(detect(head), Some(Protocol::Stream));
                }
            }
        }
    }
}
