//! Which requests the fast path takes.

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Uri, header};
use httparse::Status;

/// The largest head that is looked at, and the most headers in it.
const HEAD_BYTES: usize = 8 * 1024;
const HEADERS: usize = 32;

/// How every request begins that is taken.
const START: &[u8] = b"POST /";

/// Headers that change how the rest is read, or what is answered.
const UNUSUAL: [HeaderName; 5] =
    [header::TRANSFER_ENCODING, header::EXPECT, header::UPGRADE, header::TRAILER, header::ORIGIN];

/// What bytes begin with.
pub(crate) enum Parsed {
    /// A POST whose body has a known length.
    Post { parts: Box<Parts>, head: usize, length: usize },
    /// What may become one.
    Partial,
    /// Everything else, right or wrong.
    Other,
}

/// What these bytes begin with.
pub(crate) fn parse(bytes: &[u8]) -> Parsed {
    let known = bytes.len().min(START.len());
    if bytes[..known] != START[..known] {
        return Parsed::Other;
    }
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, &mut headers) {
        Ok(Status::Complete(head)) => post(bytes, head, &request).unwrap_or(Parsed::Other),
        Ok(Status::Partial) if bytes.len() < HEAD_BYTES => Parsed::Partial,
        Ok(Status::Partial) | Err(_) => Parsed::Other,
    }
}

/// The request, if there is nothing unusual about it.
fn post(bytes: &[u8], head: usize, request: &httparse::Request<'_, '_>) -> Option<Parsed> {
    let text = Bytes::copy_from_slice(&bytes[..head]);
    let shared = |part: &[u8]| {
        let start = part.as_ptr() as usize - bytes.as_ptr() as usize;
        text.slice(start..start + part.len())
    };
    let mut parts = Box::new(http::Request::new(()).into_parts().0);
    if request.version != Some(1) {
        return None;
    }
    parts.method = Method::POST;
    parts.uri = Uri::from_maybe_shared(shared(request.path?.as_bytes())).ok()?;
    parts.headers.reserve(request.headers.len());
    let mut length = None;
    for &httparse::Header { name, value } in &*request.headers {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        // A number for Rust may have a sign.
        let digits = || std::str::from_utf8(value).ok().filter(|_| value.iter().all(u8::is_ascii_digit));
        let is_usual = match () {
            () if name == header::CONTENT_LENGTH => length.replace(digits()?.parse().ok()?).is_none(),
            () if name == header::CONNECTION => value.eq_ignore_ascii_case(b"keep-alive"),
            () => !UNUSUAL.contains(&name),
        };
        if !is_usual {
            return None;
        }
        parts.headers.append(name, HeaderValue::from_maybe_shared(shared(value)).ok()?);
    }
    Some(Parsed::Post { parts, head, length: length? })
}
