//! Headers that repeat a body: what is written is a legal header and agrees with the body, and no other value does.
//!
//! The input is a tool's schema and the params of a call, a line each.

use sabir::RawJson;
use sabir_mcp::fuzzing::{check_headers, decode_header, encode_header, write_headers};

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let sent = encode_header(text);
    assert!(is_legal(&sent), "{sent:?} from {text:?}");
    assert_eq!(decode_header(&sent).ok().flatten().as_deref(), Some(text), "{sent:?}");
    let _ = decode_header(text);

    let (schema, params) = text.split_once('\n').unwrap_or((text, "{}"));
    let (Ok(schema), Ok(params)) = (RawJson::new(schema), RawJson::new(params)) else { return };
    for method in ["tools/call", "resources/read", "tools/list"] {
        let Some(sent) = write_headers(method, &params, &schema) else { return };
        for (name, value) in &sent {
            assert!(is_legal(name) && is_legal(value), "{name:?}: {value:?}");
        }
        let agrees = |sent: &[(String, String)]| check_headers(sent, method, &params, &schema);
        // An argument that cannot be sent in a header is left out, and reported when it is checked.
        if agrees(&sent).is_err() {
            continue;
        }
        for index in 0..sent.len() {
            let mut changed = sent.clone();
            changed[index].1.push('?');
            assert!(agrees(&changed).is_err(), "{:?} of {params}", changed[index]);
            changed.remove(index);
            assert!(agrees(&changed).is_err(), "{:?} left out of {params}", sent[index]);
        }
    }
}

/// Whether HTTP leaves it alone.
fn is_legal(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) && text == text.trim_matches([' ', '\t'])
}
