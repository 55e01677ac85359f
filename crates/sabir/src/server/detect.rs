//! What a connection speaks, told by its first bytes.

/// Bytes that are enough to tell.
const ENOUGH: usize = 24;

/// What was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speech {
    /// JSON-RPC without HTTP around it. Lines and headers are told apart where messages are cut.
    Stream,
    Http1,
    Http2,
    Tls,
}

const METHODS: [&[u8]; 9] =
    [b"GET ", b"POST ", b"HEAD ", b"PUT ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"TRACE ", b"CONNECT "];

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What these first bytes begin, or `None` if more are needed.
pub(crate) fn sniff(bytes: &[u8]) -> Option<Speech> {
    if bytes.first() == Some(&0x16) {
        return Some(Speech::Tls);
    }
    // Blank lines are legal before a message, and before a request of HTTP/1.
    let text = bytes.trim_ascii_start();
    let mut undecided = text.is_empty();
    let mut begins = |whole: &[u8]| {
        let common = text.len().min(whole.len());
        let fits = text[..common] == whole[..common];
        undecided |= fits && common < whole.len();
        fits && common == whole.len()
    };
    if METHODS.into_iter().any(&mut begins) {
        return Some(Speech::Http1);
    }
    if begins(PREFACE) {
        return Some(Speech::Http2);
    }
    if undecided && bytes.len() < ENOUGH { None } else { Some(Speech::Stream) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell() {
        for (bytes, want) in [
            (&b"{\"jsonrpc\""[..], Some(Speech::Stream)),
            (b"[", Some(Speech::Stream)),
            (b"\r\n {", Some(Speech::Stream)),
            (b"\xEF\xBB\xBF{", Some(Speech::Stream)),
            (b"Content-Length: 5", Some(Speech::Stream)),
            (b"content-type: x", Some(Speech::Stream)),
            (b"nonsense", Some(Speech::Stream)),
            (b"POSTURE", Some(Speech::Stream)),
            (b"POST / HTTP/1.1", Some(Speech::Http1)),
            (b"\r\nGET / HTTP/1.1", Some(Speech::Http1)),
            (b"OPTIONS * HTTP/1.1", Some(Speech::Http1)),
            (PREFACE, Some(Speech::Http2)),
            (b"\x16\x03\x01", Some(Speech::Tls)),
            (b"", None),
            (b"\n\n", None),
            (b"P", None),
            (b"PRI *", None),
            (b"CON", None),
            (b"                        ", Some(Speech::Stream)),
        ] {
            assert_eq!(sniff(bytes), want, "{:?}", bytes.escape_ascii().to_string());
        }
    }

    #[test]
    fn it_always_decides_in_time() {
        for start in METHODS.into_iter().chain([PREFACE, b"\n"]) {
            let bytes: Vec<u8> = start.iter().copied().cycle().take(ENOUGH).collect();
            assert!(sniff(&bytes).is_some());
        }
    }
}
