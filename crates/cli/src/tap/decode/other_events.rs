//! Server-sent events with a name of their own. They are not messages, but a server can say something with them, so they are
//! in the record as notes: such as `endpoint`, with which older servers of MCP begin.

use super::Found;

/// Bytes of a line, and of what an event says, that are kept.
const LONGEST: usize = 4096;

#[derive(Debug, Default)]
pub(in crate::tap) struct OtherEvents {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
}

impl OtherEvents {
    pub(super) fn pass(&mut self, mut bytes: &[u8], take: &mut impl FnMut(Found<'_>)) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            add(&mut self.line, &bytes[..end]);
            bytes = &bytes[end + 1..];
            self.line_ends(take);
        }
        add(&mut self.line, bytes);
    }

    fn line_ends(&mut self, take: &mut impl FnMut(Found<'_>)) {
        let OtherEvents { line, name, data } = self;
        let text = line.trim_ascii_end();
        if let Some(value) = text.strip_prefix(b"event:") {
            *name = value.trim_ascii().to_vec();
        } else if let Some(value) = text.strip_prefix(b"data:") {
            add(data, value);
        } else if text.is_empty() {
            if !name.is_empty() && name != b"message" {
                let (name, data) = (String::from_utf8_lossy(name), String::from_utf8_lossy(data));
                take(Found::Note(format!("event {name}:{data}")));
            }
            name.clear();
            data.clear();
        }
        line.clear();
    }
}

/// Adds bytes as far as there is room.
fn add(to: &mut Vec<u8>, bytes: &[u8]) {
    let room = LONGEST.saturating_sub(to.len());
    to.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_with_a_name_are_notes() {
        let text = "event: endpoint\r\ndata: /post\r\n\r\ndata: {}\n\nevent: message\ndata: []\n\nevent: x\ndata: y\n\n";
        for step in [1, 7, 100] {
            let (mut events, mut told) = (OtherEvents::default(), Vec::new());
            for part in text.as_bytes().chunks(step) {
                events.pass(part, &mut |found| {
                    if let Found::Note(text) = found {
                        told.push(text);
                    }
                });
            }
            assert_eq!(told, ["event endpoint: /post", "event x: y"]);
        }
        let mut events = OtherEvents::default();
        events.pass(&[b'x'; 1 << 20], &mut |_| {});
        assert!(events.line.len() <= LONGEST);
    }
}
