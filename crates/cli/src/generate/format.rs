//! Lines as the formatters of the languages would break them. Only what generated clients consist of is covered; the
//! formatters themselves are asked by `interop`.

/// How wide a line of code may be: rustfmt, prettier, and ruff and black.
pub(super) const RUST: usize = 100;
pub(super) const TYPESCRIPT: usize = 80;
pub(super) const PYTHON: usize = 88;

/// The columns of a text.
pub(super) fn width(text: &str) -> usize {
    crate::layout::width(text)
}

/// Items between brackets: on one line if that is not wider than `most`, and otherwise below each other, each with a
/// comma. `head` ends with the opening bracket, `tail` begins with the closing one.
pub(super) fn listed(
    indent: usize,
    head: &str,
    items: &[String],
    tail: &str,
    step: usize,
    most: usize,
) -> String {
    let flat = format!("{}{head}{}{tail}", spaces(indent), items.join(", "));
    match width(&flat) <= most {
        true => format!("{flat}\n"),
        false => stacked(indent, head, items, tail, step),
    }
}

/// Items below each other.
pub(super) fn stacked(indent: usize, head: &str, items: &[String], tail: &str, step: usize) -> String {
    let inner = spaces(indent + step);
    let items: String = items.iter().map(|item| format!("{inner}{item},\n")).collect();
    format!("{0}{head}\n{items}{0}{tail}\n", spaces(indent))
}

pub(super) fn spaces(count: usize) -> String {
    " ".repeat(count)
}
