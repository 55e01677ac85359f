//! What a message is that was too large to keep, told by how it begins.

use crate::json::raw::RawJson;
use crate::message::id::Id;

/// Bytes at the front of a message that are looked at.
const HEAD: usize = 4096;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Oversize<'h> {
    /// It answers the call with this id.
    Answer(Id<'h>),
    /// It is a request, a notification, or nothing that could be an answer.
    Asks,
    /// It does not say so early.
    Unknown,
}

impl<'h> Oversize<'h> {
    /// `text` is not valid JSON: its end is missing.
    pub(super) fn of(text: &'h [u8]) -> Oversize<'h> {
        let mut head = Head { text: &text[..text.len().min(HEAD)], at: 0 };
        head.space();
        if head.text.get(head.at).is_some_and(|byte| !b"{[".contains(byte)) {
            return Oversize::Asks;
        }
        head.members().unwrap_or(Oversize::Unknown)
    }
}

struct Head<'h> {
    text: &'h [u8],
    at: usize,
}

impl<'h> Head<'h> {
    /// Looks at members until one of them tells.
    fn members(&mut self) -> Option<Oversize<'h>> {
        self.expect(b'{')?;
        let (mut id, mut answers) = (None, false);
        loop {
            self.space();
            let name = self.value()?;
            self.expect(b':')?;
            match name {
                b"\"method\"" => return Some(Oversize::Asks),
                b"\"result\"" | b"\"error\"" => answers = true,
                _ => {}
            }
            if answers && id.is_some() {
                return id.map(Oversize::Answer);
            }
            self.space();
            let value = self.value()?;
            if name == b"\"id\"" {
                let text = RawJson::from_bytes(value).ok()?;
                id = Some(Id::from_json(text)?);
            }
            self.expect(b',')?;
        }
    }

    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| b" \t\r\n".contains(byte)) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.text.get(self.at) == Some(&byte)).then(|| self.at += 1)
    }

    /// A value that ends inside the head, whether or not it is valid.
    fn value(&mut self) -> Option<&'h [u8]> {
        let start = self.at;
        let (mut depth, mut quoted) = (0_usize, false);
        loop {
            let byte = *self.text.get(self.at)?;
            if depth == 0 && !quoted && self.at > start {
                let last = self.text[self.at - 1];
                if matches!(last, b'"' | b'}' | b']') || b",:]} \t\r\n".contains(&byte) {
                    return Some(&self.text[start..self.at]);
                }
            }
            match byte {
                b'\\' if quoted => self.at += 1,
                b'"' => quoted = !quoted,
                b'{' | b'[' if !quoted => depth += 1,
                b'}' | b']' if !quoted => depth = depth.checked_sub(1)?,
                _ => {}
            }
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_known_by_how_it_begins() {
        let answer = |id: u64| Oversize::Answer(Id::from(id));
        for (text, want) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":"xx"#, answer(1)),
            (r#" { "id" : 1 , "error" : {"#, answer(1)),
            (r#"{"id":"1","result":"#, Oversize::Answer(Id::from("1"))),
            (r#"{"x":{"method":"\"}","y":[]},"id":7,"result":["#, answer(7)),
            (r#"{"jsonrpc":"2.0","method":"log","params":["#, Oversize::Asks),
            (r#"{"jsonrpc":"2.0","id":1,"method":"log","params":["#, Oversize::Asks),
            (r#"{"jsonrpc":"2.0","id":1"#, Oversize::Unknown),
            (r#"{"jsonrpc":"2.0","result":["id",1"#, Oversize::Unknown),
            (r#"[{"id":1,"result":"#, Oversize::Unknown),
            (r#"{"id":{},"result":"#, Oversize::Unknown),
            ("}}}", Oversize::Asks),
            ("\"", Oversize::Asks),
            ("2026-01-01 a line of a log", Oversize::Asks),
            ("", Oversize::Unknown),
        ] {
            assert_eq!(Oversize::of(text.as_bytes()), want, "{text}");
        }
    }
}
