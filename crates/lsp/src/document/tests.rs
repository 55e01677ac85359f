//! Positions and changes, against a slow oracle that walks characters.

#![expect(clippy::unwrap_used, reason = "a test may")]

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use proptest::prelude::*;

use super::{Document, PositionEncoding};

const ENCODINGS: [PositionEncoding; 3] =
    [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32];

fn document(text: &str, encoding: PositionEncoding) -> Document {
    Document::new("file:///a".parse().unwrap(), "text", 1, text, encoding)
}

/// Each place between characters with its position, in order. Between `\r` and `\n` there is none.
fn places(text: &str, encoding: PositionEncoding) -> Vec<(usize, Position)> {
    let (mut line, mut column, mut places) = (0, 0, vec![(0, Position::new(0, 0))]);
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let next = rest.peek().map(|(_, c)| *c);
        match (c, next) {
            ('\r', Some('\n')) => continue,
            ('\r' | '\n', _) => (line, column) = (line + 1, 0),
            _ => {
                column += match encoding {
                    PositionEncoding::Utf8 => c.len_utf8(),
                    PositionEncoding::Utf16 => c.len_utf16(),
                    PositionEncoding::Utf32 => 1,
                } as u32;
            }
        }
        places.push((at + c.len_utf8(), Position::new(line, column)));
    }
    places
}

/// The last place that is not behind a position: of its line if there is one, and else of the text.
fn offset(text: &str, encoding: PositionEncoding, position: Position) -> usize {
    let places = places(text, encoding);
    let last_line = places.last().unwrap().1.line;
    if position.line > last_line {
        return text.len();
    }
    places.iter().rfind(|(_, place)| *place <= position).unwrap().0
}

/// The last place that is not behind an offset.
fn position(text: &str, encoding: PositionEncoding, offset: usize) -> Position {
    places(text, encoding).iter().rfind(|(at, _)| *at <= offset).unwrap().1
}

fn text() -> impl Strategy<Value = String> {
    let pieces =
        prop::sample::select(vec!["a", "bc", "ä", "ř", "€", "𝄞", "🐎", "\n", "\r\n", "\r", "\u{2028}", " "]);
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

fn encoding() -> impl Strategy<Value = PositionEncoding> {
    prop::sample::select(ENCODINGS.to_vec())
}

fn any_position() -> impl Strategy<Value = Position> {
    (0u32..8, prop_oneof![0u32..16, Just(u32::MAX)]).prop_map(|(line, column)| Position::new(line, column))
}

proptest! {
    #[test]
    fn positions_are_those_of_the_oracle(text in text(), encoding in encoding(), at in any_position()) {
        let document = document(&text, encoding);
        prop_assert_eq!(document.offset(at), offset(&text, encoding, at));
        for offset in 0..=text.len() + 2 {
            prop_assert_eq!(document.position(offset), position(&text, encoding, offset), "offset {}", offset);
        }
        for (offset, place) in places(&text, encoding) {
            prop_assert_eq!((document.offset(place), document.position(offset)), (offset, place));
        }
        let lines: Vec<&str> = document.lines().collect();
        let wanted = text.replace("\r\n", "\n").replace('\r', "\n");
        prop_assert_eq!(lines, wanted.split('\n').collect::<Vec<_>>());
    }

    #[test]
    fn changes_leave_what_a_new_document_would_have(
        first in text(),
        changes in prop::collection::vec((any_position(), any_position(), text()), 1..6),
        encoding in encoding(),
    ) {
        let mut changed = document(&first, encoding);
        let mut oracle = first;
        for (start, end, text) in changes {
            let span = offset(&oracle, encoding, start)..offset(&oracle, encoding, end);
            oracle.replace_range(span.start..span.end.max(span.start), &text);
            let range = Some(Range::new(start, end));
            changed.change(&TextDocumentContentChangeEvent { range, range_length: None, text });
            let new = document(&oracle, encoding);
            prop_assert_eq!((changed.text(), &changed.lines), (new.text(), &new.lines));
        }
    }
}

#[test]
fn columns_count_what_was_agreed_on() {
    let text = "a🐎b";
    for (encoding, column) in ENCODINGS.into_iter().zip([5, 3, 2]) {
        let document = document(text, encoding);
        assert_eq!(document.position(5), Position::new(0, column), "{encoding:?}");
        assert_eq!(document.offset(Position::new(0, column)), 5, "{encoding:?}");
        assert_eq!(document.offset(Position::new(0, 99)), 6, "{encoding:?}");
    }
    // Between the two halves of a surrogate pair.
    assert_eq!(document(text, PositionEncoding::Utf16).offset(Position::new(0, 2)), 1);
}

#[test]
fn the_end_of_a_line_is_before_what_ends_it() {
    for end in ["\n", "\r\n", "\r"] {
        let document = document(&format!("ab{end}c"), PositionEncoding::Utf16);
        assert_eq!(document.offset(Position::new(0, 99)), 2, "{end:?}");
        assert_eq!(document.line_start(1), 2 + end.len(), "{end:?}");
        assert_eq!(document.offset(Position::new(7, 0)), 3 + end.len(), "{end:?}");
    }
}
