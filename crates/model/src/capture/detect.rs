//! Detects the format of a file by its first bytes.

use sabir_proto::{Framing, RawJson};

use super::Format;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// How a file begins.
pub(super) struct Beginning {
    pub(super) format: Format,
    /// Bytes before it that are not part of it.
    pub(super) skip: usize,
}

/// The format of what begins with `start`, or what it is instead. `start` holds the first line that is not blank, or
/// as much of it as there is.
pub(super) fn detect(start: &[u8]) -> Result<Beginning, &'static str> {
    if let Some(what) = foreign(start) {
        return Err(what);
    }
    let skip = if start.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let text = start[skip..].trim_ascii_start();
    let line = text.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let format = match text {
        _ if Framing::detect(text) == Some(Framing::Headers) => Format::Headers,
        [b'>' | b'<' | b'#' | b'~' | b'!', ..] => Format::Transcript,
        [b'{', ..] if is_record(line) => Format::Capture,
        _ => Format::Messages,
    };
    Ok(Beginning { format, skip })
}

/// Files that are not text at all, by their first bytes.
fn foreign(start: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 8] = [
        (b"\x1f\x8b", "the file is compressed with gzip; decompress it with gzip -dc"),
        (b"\x28\xb5\x2f\xfd", "the file is compressed with zstd; decompress it with zstd -dc"),
        (b"PK\x03\x04", "the file is a zip archive; extract it first"),
        (b"\x0a\x0d\x0d\x0a", "the file is a pcapng capture; export the messages from it, one per line"),
        (b"\xd4\xc3\xb2\xa1", "the file is a pcap capture; export the messages from it, one per line"),
        (b"\xff\xfe", "the file is in UTF-16; convert it with iconv -f utf-16 -t utf-8"),
        (b"\xfe\xff", "the file is in UTF-16; convert it with iconv -f utf-16 -t utf-8"),
        (b"\x7fELF", "the file is a program; to talk to it, write stdio:COMMAND or put it after --"),
    ];
    KNOWN.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, what)| *what)
}

/// Whether a line is of a capture: its header, or, where that was cut off, a record.
fn is_record(line: &[u8]) -> bool {
    if line.starts_with(br#"{"jrl":"#) || line.starts_with(br#"{"n":"#) {
        return true;
    }
    let Ok(line) = RawJson::from_bytes(line) else { return false };
    let has = |name| line.get(name).is_some();
    has("jrl") || ((has("msg") || has("raw")) && has("d") && !has("jsonrpc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_shows_its_format_in_its_first_line() {
        for (start, want) in [
            (&b"{\"jrl\":1}\n"[..], Ok(Format::Capture)),
            (b"{\"tool\":\"x\",\"jrl\":1}\n", Ok(Format::Capture)),
            (b"{\"n\":12,\"t\":1", Ok(Format::Capture)),
            (b"{\"d\":\">\",\"msg\":{}}\n", Ok(Format::Capture)),
            (b"\xEF\xBB\xBF\n {\"jsonrpc\":\"2.0\"}", Ok(Format::Messages)),
            (b"[{\"jsonrpc\":\"2.0\"}]", Ok(Format::Messages)),
            (b"Starting up\n", Ok(Format::Messages)),
            (b"\r\ncontent-length: 2\r\n\r\n{}", Ok(Format::Headers)),
            (b"# why\n> {}\n", Ok(Format::Transcript)),
            (b"< {}", Ok(Format::Transcript)),
            (b"", Ok(Format::Messages)),
            (b"\x1f\x8b\x08", Err("the file is compressed with gzip; decompress it with gzip -dc")),
        ] {
            assert_eq!(detect(start).map(|found| found.format), want, "{}", start.escape_ascii());
        }
    }
}
