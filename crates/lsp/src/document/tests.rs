//! Positions and changes, against a slow oracle that walks characters.

#![expect(clippy::unwrap_used, reason = "a test may")]

use lsp_types::{Position, Range, TextDocumentContentChangeEvent};
use proptest::prelude::*;

use super::edit_buffer::EditBuffer;
use super::line_index::LineIndex;
use super::{Document, FEW_CHANGES, LONG_LINE, PositionEncoding, work};

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
            changed.change(&[TextDocumentContentChangeEvent { range, range_length: None, text }], usize::MAX);
            let new = document(&oracle, encoding);
            prop_assert_eq!((changed.text(), &changed.lines), (new.text(), &new.lines));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn positions_in_long_lines_are_those_of_the_oracle(
        pieces in prop::collection::vec((text(), 1usize..200), 1..4),
        encoding in encoding(),
        columns in prop::collection::vec(0u32..6000, 8),
    ) {
        let long = |(text, times): &(String, usize)| text.replace(['\r', '\n'], "").repeat(*times) + "\r\n";
        let text: String = pieces.iter().map(long).collect();
        let document = document(&text, encoding);
        let places = places(&text, encoding);
        let last_not_behind = |position| places[places.partition_point(|(_, place)| *place <= position) - 1];
        for column in columns {
            for line in 0..pieces.len() as u32 {
                let position = Position::new(line, column);
                let (offset, place) = last_not_behind(position);
                prop_assert_eq!(document.offset(position), offset);
                prop_assert_eq!(document.position(offset), place);
            }
        }
    }

    #[test]
    fn many_changes_leave_what_they_leave_one_by_one(
        first in text(),
        changes in prop::collection::vec((any_position(), any_position(), text()), 1..40),
        encoding in encoding(),
        chunk in 4usize..32,
    ) {
        let mut buffer = EditBuffer::with_chunks_of(chunk, &first, encoding);
        let mut oracle = document(&first, encoding);
        for (start, end, text) in changes {
            let range = Range::new(start, end);
            buffer.replace(range, &text);
            oracle.change_once(&TextDocumentContentChangeEvent { range: Some(range), range_length: None, text });
            prop_assert_eq!(buffer.bytes(), oracle.text().len());
        }
        let (text, lines) = buffer.into_text();
        prop_assert_eq!((text.as_str(), &lines), (oracle.text(), &LineIndex::new(oracle.text())));
    }
}

fn insertion(line: u32, column: u32, text: &str) -> TextDocumentContentChangeEvent {
    let at = Position::new(line, column);
    TextDocumentContentChangeEvent {
        range: Some(Range::new(at, at)),
        range_length: None,
        text: text.to_owned(),
    }
}

#[test]
fn a_new_text_makes_void_what_came_before() {
    let whole = |text: &str| TextDocumentContentChangeEvent { range: None, ..insertion(0, 0, text) };
    for (many, wanted) in [(1, "xc"), (FEW_CHANGES + 1, "xxxxxxxxxxxxxxxxxc")] {
        let mut document = document("a", PositionEncoding::Utf16);
        let mut changes = vec![insertion(0, 0, "far too much"), whole("b"), whole("c")];
        changes.extend(vec![insertion(0, 0, "x"); many]);
        assert!(document.change(&changes, 200));
        assert_eq!(document.text(), wanted);
    }
}

/// Four times the work for four times as many, and a little more for what is not proportional.
fn check_proportional(work: impl Fn(usize) -> usize, few: usize) {
    let (one, four) = (work(few), work(4 * few));
    assert!(four <= 6 * one, "{few}: {one}, {}: {four}", 4 * few);
}

#[test]
fn positions_in_long_lines_do_not_count_the_line_each_time() {
    for encoding in ENCODINGS {
        for letter in ["a", "ř", "🐎"] {
            let positions = |many: usize| {
                let document = document(&letter.repeat(many), encoding);
                work::of(|| {
                    for offset in (0..many).map(|number| number * letter.len()) {
                        let position = document.position(offset);
                        assert_eq!(document.offset(position), offset);
                    }
                })
            };
            check_proportional(positions, 5 * LONG_LINE);
        }
    }
}

#[test]
fn many_changes_do_not_move_the_whole_text_each_time() {
    let in_lines = |many: usize| {
        let mut document = document(&"a line of text\n".repeat(10 * many), PositionEncoding::Utf16);
        // Far from each other, in no order.
        let changes = (0..many).map(|number| insertion((number * 7919 % (10 * many)) as u32, 3, "x\ny"));
        let changes: Vec<_> = changes.collect();
        work::of(|| assert!(document.change(&changes, usize::MAX)))
    };
    check_proportional(in_lines, 1000);
    let in_one_line = |many: usize| {
        let mut document = document(&"ř🐎".repeat(10 * many), PositionEncoding::Utf16);
        let changes = (0..many).map(|number| insertion(0, (number * 7919 % (10 * many)) as u32, "x🐎"));
        let changes: Vec<_> = changes.collect();
        work::of(|| assert!(document.change(&changes, usize::MAX)))
    };
    check_proportional(in_one_line, 1000);
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
