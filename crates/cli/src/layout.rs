//! Text in columns and lines, as wide as the terminal is.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::json::escape_controls;
use crate::paint::{Paint, Painter};

/// Bytes of a piece for each of its columns: characters without a width would never fill one.
const MOST_BYTES: usize = 32;

/// A column is not made narrower than this.
const NARROWEST: usize = 8;

/// How text for standard output is laid out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) painter: Painter,
    /// The columns of the terminal. `None` if it goes elsewhere: lines are then as long as they are.
    pub(crate) columns: Option<usize>,
}

impl Layout {
    #[cfg(test)]
    pub(crate) const PLAIN: Layout = Layout { painter: Painter::PLAIN, columns: None };

    /// The lines of a text, none wider than the terminal behind `indent` columns.
    pub(crate) fn lines(self, text: &str, indent: usize) -> Vec<String> {
        match self.columns {
            Some(columns) => {
                let width = columns.saturating_sub(indent).max(NARROWEST);
                text.lines().flat_map(|line| wrapped(line, width)).collect()
            }
            None => text.lines().map(str::to_owned).collect(),
        }
    }
}

/// Help, laid out anew: paragraphs fill the lines, and what stands beside a word in a table goes on below itself.
pub(crate) fn help(text: &str, columns: usize) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some((left, right)) = row(line) {
            let start = width(left);
            let mut right = right.to_owned();
            // It goes on where it has begun.
            while let Some(more) = lines.next_if(|next| indent(next) == start && !next.trim().is_empty()) {
                right.push(' ');
                right.push_str(more.trim());
            }
            if start + 2 * NARROWEST > columns {
                out.extend(wrapped(left.trim_end(), columns));
                let start = indent(left) + 4;
                out.extend(beside("", start, &right, columns));
            } else {
                out.extend(beside(left, start, &right, columns));
            }
        } else if is_paragraph(line) {
            let mut whole = line.to_owned();
            while let Some(more) = lines.next_if(|next| is_paragraph(next)) {
                whole.push(' ');
                whole.push_str(more);
            }
            out.extend(wrapped(&whole, columns));
        } else if width(line) > columns {
            let start = indent(line);
            let left = " ".repeat(start);
            let pieces = wrapped(line.trim(), columns.saturating_sub(start + 4).max(NARROWEST));
            let more = |(at, piece): (usize, String)| match at {
                0 => format!("{left}{piece}"),
                _ => format!("{left}    {piece}"),
            };
            out.extend(pieces.into_iter().enumerate().map(more));
        } else {
            out.push(line.to_owned());
        }
    }
    out.join("\n")
}

fn is_paragraph(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(' ') && row(line).is_none()
}

/// A line of a table: what it begins with, with the blanks behind it, and what stands beside that.
fn row(line: &str) -> Option<(&str, &str)> {
    let first = line.len() - line.trim_start_matches(' ').len();
    let gap = first + line[first..].find("  ")?;
    let start = gap + line[gap..].find(|c: char| c != ' ')?;
    Some(line.split_at(start))
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// A text from a column on, with something before it in its first line.
fn beside(left: &str, start: usize, text: &str, columns: usize) -> Vec<String> {
    let pieces = wrapped(text, columns.saturating_sub(start).max(NARROWEST));
    let lines = pieces.into_iter().enumerate().map(|(at, piece)| match at {
        0 => format!("{left}{}{piece}", " ".repeat(start.saturating_sub(width(left)))),
        _ => format!("{}{piece}", " ".repeat(start)),
    });
    lines.collect()
}

/// The columns that a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The most columns that a character adds to a text.
fn width_of(c: char) -> usize {
    // It makes the character before it as wide as a picture.
    const EMOJI_STYLE: char = '\u{fe0f}';
    if c == EMOJI_STYLE { 1 } else { c.width().unwrap_or_default() }
}

/// As much of a text as fits into some columns.
pub(crate) fn fitting(text: &str, columns: usize) -> String {
    let mut wide = 0;
    let fits = |c: &char| {
        wide += width_of(*c);
        wide <= columns
    };
    text.chars().take(columns.saturating_mul(MOST_BYTES)).take_while(fits).collect()
}

/// A line in pieces of at most `most` columns, cut at spaces if there are any. Spaces at its start are kept for the
/// first piece, so that what is indented stays so.
pub(crate) fn wrapped(line: &str, most: usize) -> Vec<String> {
    if width(line) <= most && line.len() <= most.saturating_mul(MOST_BYTES) {
        return vec![line.to_owned()];
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    let mut pieces = Vec::new();
    let mut piece = " ".repeat(indent.min(most / 2));
    // How wide the piece is: measuring it again for each character would take the square of its length.
    let mut wide = piece.len();
    let mut is_empty = true;
    for word in line.split(' ').filter(|word| !word.is_empty()) {
        if !is_empty && wide + 1 + width(word) > most {
            pieces.push(std::mem::take(&mut piece));
            (wide, is_empty) = (0, true);
        }
        if !is_empty {
            piece.push(' ');
            wide += 1;
        }
        for c in word.chars() {
            let more = width_of(c);
            if (wide + more > most || piece.len() >= most.saturating_mul(MOST_BYTES)) && !piece.is_empty() {
                pieces.push(std::mem::take(&mut piece));
                wide = 0;
            }
            piece.push(c);
            wide += more;
        }
        is_empty = false;
    }
    pieces.push(piece);
    pieces
}

/// Rows of cells, aligned.
#[derive(Debug)]
pub(crate) struct Table {
    /// Shown on a terminal only.
    titles: Vec<&'static str>,
    rows: Vec<Vec<(Option<Paint>, String)>>,
    indent: usize,
    /// Wider cells of the first column do not push those of others to the right.
    widest: usize,
}

impl Table {
    pub(crate) fn new(titles: &[&'static str]) -> Self {
        Table { titles: titles.to_vec(), rows: Vec::new(), indent: 0, widest: usize::MAX }
    }

    /// Without titles.
    pub(crate) fn bare() -> Self {
        Table::new(&[])
    }

    #[must_use]
    pub(crate) fn indent(mut self, indent: usize) -> Self {
        self.indent = indent;
        self
    }

    #[must_use]
    pub(crate) fn widest(mut self, widest: usize) -> Self {
        self.widest = widest;
        self
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = (Option<Paint>, String)>) {
        let one_line = |text: String| {
            escape_controls(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
        };
        self.rows.push(cells.into_iter().map(|(paint, text)| (paint, one_line(text))).collect());
    }

    pub(crate) fn text(&self, layout: Layout) -> String {
        let mut rows: Vec<Vec<(Option<Paint>, &str)>> = Vec::new();
        if layout.columns.is_some() && !self.titles.is_empty() {
            rows.push(self.titles.iter().map(|title| (Some(Paint::Why), *title)).collect());
        }
        rows.extend(self.rows.iter().map(|row| row.iter().map(|(paint, text)| (*paint, &**text)).collect()));
        let widths = self.widths(&rows, layout);
        let mut out = String::new();
        for row in &rows {
            match (row.split_first(), layout.columns, widths.first()) {
                // A long name has a line of its own.
                (Some((name, rest)), Some(columns), Some(first))
                    if width(name.1) > *first && !rest.is_empty() =>
                {
                    let alone = [columns.saturating_sub(self.indent)];
                    write_row(&mut out, &[*name], &alone, self.indent, layout);
                    let row: Vec<_> = std::iter::once((None, "")).chain(rest.iter().copied()).collect();
                    write_row(&mut out, &row, &widths, self.indent, layout);
                }
                _ => write_row(&mut out, row, &widths, self.indent, layout),
            }
        }
        out
    }

    /// The width of each column: what its cells need, less if the terminal is narrower.
    fn widths(&self, rows: &[Vec<(Option<Paint>, &str)>], layout: Layout) -> Vec<usize> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = rows.iter().filter_map(|row| row.get(column)).map(|(_, text)| width(text));
                let most = if column == 0 { self.widest } else { usize::MAX };
                cells.filter(|width| *width <= most).max().unwrap_or_default()
            })
            .collect();
        if let Some(most) = layout.columns {
            let room = most.saturating_sub(self.indent + 2 * columns.saturating_sub(1));
            widths.iter_mut().for_each(|width| *width = (*width).min(room.max(NARROWEST)));
            while widths.iter().sum::<usize>() > room {
                match widths.iter_mut().max() {
                    Some(widest) if *widest > NARROWEST => *widest -= 1,
                    _ => break,
                }
            }
        }
        widths
    }
}

fn write_row(
    out: &mut String,
    row: &[(Option<Paint>, &str)],
    widths: &[usize],
    indent: usize,
    layout: Layout,
) {
    let cells: Vec<Vec<String>> = row
        .iter()
        .zip(widths)
        .map(|((_, text), width)| match layout.columns {
            Some(_) => wrapped(text, (*width).max(1)),
            None => vec![(*text).to_owned()],
        })
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    for line in 0..height {
        let start = out.len();
        out.push_str(&" ".repeat(indent));
        let mut gap = 0;
        for (((paint, _), cell), most) in row.iter().zip(&cells).zip(widths) {
            let text = cell.get(line).map_or("", String::as_str);
            if !text.is_empty() {
                out.push_str(&" ".repeat(gap));
                gap = 0;
                match paint {
                    Some(paint) => layout.painter.paint(out, *paint, text),
                    None => out.push_str(text),
                }
            }
            gap += most.saturating_sub(width(text)) + 2;
        }
        let end = out.trim_end_matches(' ').len().max(start);
        out.truncate(end);
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_spaces() {
        for (text, most, want) in [
            ("one two", 10, &["one two"][..]),
            ("one two three", 8, &["one two", "three"]),
            ("  one two three", 8, &["  one", "two", "three"]),
            ("abcdefghij", 4, &["abcd", "efgh", "ij"]),
            ("日本語 日本", 6, &["日本語", "日本"]),
            ("a bbbbbbbbb c", 4, &["a", "bbbb", "bbbb", "b c"]),
        ] {
            assert_eq!(wrapped(text, most), want, "{text}");
        }
        // Marks have no width, and fill a piece all the same.
        let marks = format!("abcdefgh{}", "\u{301}".repeat(10_000));
        let pieces = wrapped(&marks, 8);
        assert!(
            pieces.len() > 50 && pieces.iter().all(|piece| piece.len() <= 8 * MOST_BYTES + 4),
            "{}",
            pieces.len()
        );
    }

    #[test]
    fn what_fits_is_counted_in_columns() {
        for (text, columns, want) in [("abc", 2, "ab"), ("日本語", 5, "日本"), ("", 3, "")] {
            assert_eq!(fitting(text, columns), want);
        }
    }

    #[test]
    fn columns_are_aligned_and_fit() {
        let mut table = Table::new(&["name", "what"]).widest(12);
        for (name, what) in [("a", "one"), ("日本", "two words and more of them"), ("a-very-long-name", "x")]
        {
            table.row([(None, name.to_owned()), (None, what.to_owned())]);
        }
        assert_eq!(
            table.text(Layout::PLAIN),
            "a     one\n日本  two words and more of them\na-very-long-name  x\n"
        );
        let narrow = Layout { columns: Some(24), ..Layout::PLAIN };
        let text = table.text(narrow);
        assert!(text.starts_with("name"), "{text}");
        assert!(text.lines().all(|line| width(line) <= 24), "{text}");
    }

    #[test]
    fn help_is_laid_out_anew() {
        let text = concat!(
            "One two three four five six\nseven.\n\n",
            "  KEY=TEXT…  a named argument of\n             some type\n  -d JSON    all\n\n",
            "Examples:\n  sabir call demo: subtract 2 3"
        );
        let want = concat!(
            "One two three four five six\nseven.\n\n",
            "  KEY=TEXT…  a named argument\n             of some type\n  -d JSON    all\n\n",
            "Examples:\n  sabir call demo:\n      subtract 2 3"
        );
        assert_eq!(help(text, 29), want);
        // Where there is no room beside it, it is below.
        assert_eq!(help("  KEY=TEXT…  a named", 15), "  KEY=TEXT…\n      a named");
    }
}
