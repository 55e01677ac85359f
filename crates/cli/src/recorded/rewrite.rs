//! Recorded messages as they are sent now: with the values of now, and with the ids that they answer.

use std::borrow::Cow;

use sabir_proto::{Cursor, Id, TokenKind};

use super::handles::{Handles, TOKENS};

/// A string or a number in a message, which is not the name of a member.
pub(super) struct Scalar<'t> {
    pub(super) text: &'t str,
    start: usize,
    /// Whether a number may stand for another here: it is a token, or one of the params by position.
    is_handle: bool,
}

/// Every string and number among the params, the result and the error of a message, which is valid JSON.
pub(super) fn tokens<'t>(text: &'t str, mut told: impl FnMut(Scalar<'t>)) {
    let mut cursor = Cursor::trusted(text);
    // For each open object and array, whether it is an array.
    let mut open: Vec<bool> = Vec::new();
    let (mut name, mut top) = ("", "");
    while let Some(token) = cursor.token() {
        match token.kind {
            TokenKind::ObjectStart => open.push(false),
            TokenKind::ArrayStart => open.push(true),
            TokenKind::ObjectEnd | TokenKind::ArrayEnd => drop(open.pop()),
            TokenKind::String { .. } if cursor.peek() == b':' && open.last() == Some(&false) => {
                name = token.string().map_or("", |string| string.inner());
                if open.len() == 1 {
                    top = name;
                }
            }
            TokenKind::String { .. } | TokenKind::Number if matches!(top, "params" | "result" | "error") => {
                let by_position = top == "params" && open.len() == 2 && open.last() == Some(&true);
                let is_handle = by_position || (open.last() == Some(&false) && TOKENS.contains(&name));
                told(Scalar { text: token.text(), start: token.start, is_handle });
            }
            _ => {}
        }
    }
}

/// A recorded message with the values of now.
pub(crate) fn rewritten<'t>(text: &'t str, handles: &Handles) -> Cow<'t, str> {
    if handles.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut changes: Vec<(usize, usize, &str)> = Vec::new();
    tokens(text, |scalar| {
        if scalar.is_handle || scalar.text.starts_with('"') {
            let now = handles.get(scalar.text);
            changes.extend(now.map(|now| (scalar.start, scalar.start + scalar.text.len(), now)));
        }
    });
    replaced(text, &changes)
}

/// A recorded answer with another id.
pub(crate) fn with_id<'t>(text: &'t str, id: &Id<'_>) -> Cow<'t, str> {
    with_member(text, "id", id.text())
}

/// A message whose member is replaced, if it has it.
fn with_member<'t>(text: &'t str, name: &str, value: &str) -> Cow<'t, str> {
    match Cursor::trusted(text).member(name) {
        Some(old) => {
            let start = old.as_ptr().addr() - text.as_ptr().addr();
            replaced(text, &[(start, start + old.len(), value)])
        }
        None => Cow::Borrowed(text),
    }
}

/// `initialize` of a language server with the process that is the client now: many servers end when that is gone.
pub(crate) fn with_process<'t>(text: &'t str, process: u32) -> Cow<'t, str> {
    let old = Cursor::trusted(text)
        .member("params")
        .and_then(|params| Cursor::trusted(params).member("processId"))
        .filter(|old| old.starts_with(|c: char| c.is_ascii_digit()));
    match old {
        Some(old) => {
            let start = old.as_ptr().addr() - text.as_ptr().addr();
            replaced(text, &[(start, start + old.len(), &process.to_string())])
        }
        None => Cow::Borrowed(text),
    }
}

fn replaced<'t>(text: &'t str, changes: &[(usize, usize, &str)]) -> Cow<'t, str> {
    if changes.is_empty() {
        return Cow::Borrowed(text);
    }
    let (mut out, mut done) = (String::with_capacity(text.len() + 64), 0);
    for (start, end, now) in changes {
        out.push_str(&text[done..*start]);
        out.push_str(now);
        done = *end;
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_are_changed() {
        let text = r#"{"jsonrpc":"2.0", "id" : 7 ,"result":{"id":7}}"#;
        assert_eq!(with_id(text, &Id::from("x")), r#"{"jsonrpc":"2.0", "id" : "x" ,"result":{"id":7}}"#);
        for (text, want) in [
            (
                r#"{"method":"initialize","params":{"processId":5}}"#,
                r#"{"method":"initialize","params":{"processId":9}}"#,
            ),
            (
                r#"{"method":"initialize","params":{"processId":null}}"#,
                r#"{"method":"initialize","params":{"processId":null}}"#,
            ),
            (r#"{"method":"initialize"}"#, r#"{"method":"initialize"}"#),
        ] {
            assert_eq!(with_process(text, 9), want);
        }
    }
}
