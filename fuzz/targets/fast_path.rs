//! Heads of HTTP/1.1 on the fast path: whatever it takes, httparse reads as the same request, and it takes nothing
//! whose body could be cut in two ways.

use sabir::fuzzing::plain_head;

pub(crate) fn run(data: &[u8]) {
    let found = plain_head(data);
    let Ok(Some(plain)) = found else { return };
    let shown = plain.head.escape_ascii().to_string();
    assert!(data.starts_with(plain.head), "{shown}");
    // A part of it may become one, and more behind it changes nothing.
    for end in 0..plain.head.len() {
        assert_eq!(plain_head(&data[..end]), Ok(None), "the first {end} bytes of {shown}");
    }
    assert_eq!(plain_head(plain.head), Ok(Some(plain)), "{shown}");

    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut request = httparse::Request::new(&mut headers);
    let status = request.parse(data).unwrap_or_else(|error| panic!("{error}: {shown}"));
    assert_eq!(status, httparse::Status::Complete(plain.head.len()), "{shown}");
    assert_eq!((request.method, request.version), (Some("POST"), Some(1)), "{shown}");
    let target = request.path.unwrap_or_default();
    assert_eq!(target.split('?').next().unwrap_or_default().as_bytes(), plain.path, "{shown}");
    let all = |name: &str| {
        let named = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| header.value.trim_ascii()).collect::<Vec<_>>()
    };
    let length = plain.length.to_string();
    let lengths = all("content-length");
    assert_eq!(lengths.len(), 1, "{shown}");
    let digits = lengths[0];
    assert!(digits.iter().all(u8::is_ascii_digit), "{shown}");
    let unpadded: Vec<u8> = digits.iter().copied().skip_while(|digit| *digit == b'0').collect();
    assert_eq!(if unpadded.is_empty() { b"0" } else { unpadded.as_slice() }, length.as_bytes(), "{shown}");
    assert_eq!(all("host"), [plain.host], "{shown}");
    assert_eq!(all("content-type"), [plain.content_type], "{shown}");
    assert_eq!(all("accept").first().copied(), plain.accept, "{shown}");
    for name in ["transfer-encoding", "expect", "upgrade", "content-encoding", "trailer", "origin"] {
        assert!(all(name).is_empty(), "{name} in {shown}");
    }
}
