//! The first bytes of a connection: what they are taken for never changes when more come, is decided soon, and what a
//! parser of HTTP/1 takes for a request is never taken for a bare stream of messages, but for HTTP/1, or for nothing that is
//! spoken if its method is longer than any that there is.

use sabir::fuzzing::detect;

/// Bytes after which it must be decided, whatever they are.
const SOON: usize = 64 << 10;

/// Methods of this length are none.
const TOO_LONG: usize = 64;

pub(crate) fn run(data: &[u8]) {
    let mut decided: Option<String> = None;
    for end in (0..=data.len().min(512)).chain([data.len()]) {
        let now = detect(&data[..end]);
        if let Some(before) = &decided {
            assert_eq!(now.as_ref(), Some(before), "after {end} bytes of {}", data.escape_ascii());
        }
        decided = now;
    }
    if data.len() >= SOON {
        assert!(decided.is_some(), "undecided after {} bytes", data.len());
    }
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut headers);
    let is_request = matches!(request.parse(data), Ok(httparse::Status::Complete(_)));
    if is_request && data[0].is_ascii_alphabetic() {
        let is_long = request.method.is_some_and(|method| method.len() >= TOO_LONG);
        let wanted = if is_long { "Unknown" } else { "Http1" };
        assert_eq!(decided.as_deref(), Some(wanted), "{}", data.escape_ascii());
    }
}
