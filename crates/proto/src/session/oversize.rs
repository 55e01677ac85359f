//! Classifies a message that was too large to keep by its first bytes.

use crate::json::partial::partial_value_len;
use crate::json::raw::RawJson;
use crate::message::id::Id;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Oversize<'h> {
    /// It answers the call with this id, or the batch that the call was sent in.
    Answer { id: Id<'h>, in_array: bool },
    /// It is a request, a notification, or nothing that could be an answer. The id, if it comes early.
    Asks(Option<Id<'h>>),
    /// Its start does not tell.
    Unknown,
}

impl<'h> Oversize<'h> {
    /// `start` is not valid JSON: its end is missing.
    pub(super) fn of(start: &'h [u8]) -> Oversize<'h> {
        let mut head = Head { text: start, at: 0, id: None, asks: false };
        head.space();
        if head.text.get(head.at).is_some_and(|byte| !b"{[".contains(byte)) {
            return Oversize::Asks(None);
        }
        // Of a batch, the first entry tells.
        let in_array = head.expect(b'[').is_some();
        match head.members() {
            Some(id) => Oversize::Answer { id, in_array },
            None if head.asks => Oversize::Asks(head.id.filter(|_| !in_array)),
            None => Oversize::Unknown,
        }
    }
}

struct Head<'h> {
    text: &'h [u8],
    at: usize,
    id: Option<Id<'h>>,
    /// It has a method.
    asks: bool,
}

impl<'h> Head<'h> {
    /// Reads members until they show an answer, and to which call, or the text ends.
    fn members(&mut self) -> Option<Id<'h>> {
        self.expect(b'{')?;
        let mut answers = false;
        loop {
            self.space();
            let name = self.value()?;
            self.expect(b':')?;
            match name {
                b"\"method\"" => self.asks = true,
                b"\"result\"" | b"\"error\"" => answers = true,
                _ => {}
            }
            if answers && !self.asks && self.id.is_some() {
                return self.id.take();
            }
            self.space();
            let value = self.value()?;
            if name == b"\"id\"" {
                self.id = Some(Id::from_json(RawJson::from_bytes(value).ok()?)?);
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
        let rest = &self.text[self.at..];
        let length = partial_value_len(rest)?;
        self.at += length;
        Some(&rest[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_known_by_how_it_begins() {
        let answer = |id: u64| Oversize::Answer { id: Id::from(id), in_array: false };
        let asks = |id: u64| Oversize::Asks(Some(Id::from(id)));
        for (text, want) in [
            (r#"{"jsonrpc":"2.0","id":1,"result":"xx"#, answer(1)),
            (r#" { "id" : 1 , "error" : {"#, answer(1)),
            (r#"{"id":"1","result":"#, Oversize::Answer { id: Id::from("1"), in_array: false }),
            (r#"{"x":{"method":"\"}","y":[]},"id":7,"result":["#, answer(7)),
            (r#"{"jsonrpc":"2.0","method":"log","params":["#, Oversize::Asks(None)),
            (r#"{"jsonrpc":"2.0","id":1,"method":"log","params":["#, asks(1)),
            (r#"{"jsonrpc":"2.0","id":1,"method":"lo"#, asks(1)),
            (r#"{"jsonrpc":"2.0","method":"log","id":1,"params":["#, asks(1)),
            (r#"{"jsonrpc":"2.0","method":"log","params":[{"id":2}],"id":1,"x":["#, asks(1)),
            (r#"{"jsonrpc":"2.0","method":"log","id":1"#, Oversize::Asks(None)),
            (r#"{"jsonrpc":"2.0","method":"log","id":{},"params":["#, Oversize::Asks(None)),
            (r#"{"method":"log","id":1,"result":["#, asks(1)),
            (r#"{"jsonrpc":"2.0","id":1"#, Oversize::Unknown),
            (r#"{"jsonrpc":"2.0","result":["id",1"#, Oversize::Unknown),
            (r#"[{"id":1,"result":"#, Oversize::Answer { id: Id::from(1), in_array: true }),
            (r#" [ {"id":1,"method":"a"},{"#, Oversize::Asks(None)),
            (r#"[{"x":{"id":1,"result":2}},{"id":1,"result":"#, Oversize::Unknown),
            ("[[", Oversize::Unknown),
            ("[", Oversize::Unknown),
            (r#"{"id":{},"result":"#, Oversize::Unknown),
            ("}}}", Oversize::Asks(None)),
            ("\"", Oversize::Asks(None)),
            ("2026-01-01 a line of a log", Oversize::Asks(None)),
            ("", Oversize::Unknown),
        ] {
            assert_eq!(Oversize::of(text.as_bytes()), want, "{text}");
        }
    }
}
