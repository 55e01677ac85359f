//! The difference of two texts that differ in one place, as `patch` reads it. What a terminal would obey is escaped: the file
//! may be somebody else's, and must not hide the change.

use std::borrow::Cow;
use std::fmt::Write;

use crate::json::escape_controls;

/// Lines that are shown around what differs.
const AROUND: usize = 3;

pub(super) fn unified(name: &str, before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let room = old.len().min(new.len()) - same;
    let same_end =
        old.iter().rev().zip(new.iter().rev()).take(room).take_while(|(old, new)| old == new).count();
    let from = same.saturating_sub(AROUND);
    let (old_end, new_end) = (old.len() - same_end, new.len() - same_end);
    let behind = AROUND.min(same_end);
    let name = escape_controls(name);
    let mut out = format!("--- {name}\n+++ {name}\n");
    let place =
        |end: usize| format!("{},{}", if end + behind == 0 { 0 } else { from + 1 }, end + behind - from);
    let _ = writeln!(out, "@@ -{} +{} @@", place(old_end), place(new_end));
    let mut lines = |sign: char, lines: &[&str]| {
        for line in lines {
            let content = line.trim_end_matches('\n');
            let (content, end) = content.strip_suffix('\r').map_or((content, ""), |content| (content, "\r"));
            // Tabs are harmless, and many files are indented with them.
            let parts: Vec<Cow<'_, str>> = content.split('\t').map(escape_controls).collect();
            let _ = writeln!(out, "{sign}{}{end}", parts.join("\t"));
            if !line.ends_with('\n') {
                out.push_str("\\ No newline at end of file\n");
            }
        }
    };
    lines(' ', &old[from..same]);
    lines('-', &old[same..old_end]);
    lines('+', &new[same..new_end]);
    lines(' ', &old[old_end..old_end + behind]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_shown_with_what_is_around() {
        for (before, after, want) in [
            ("a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"),
            (
                "1\n2\n3\n4\n5\n",
                "1\n2\n3\n4\n5\n6",
                "@@ -3,3 +3,4 @@\n 3\n 4\n 5\n+6\n\\ No newline at end of file\n",
            ),
            (
                "{}",
                "{1}",
                "@@ -1,1 +1,1 @@\n-{}\n\\ No newline at end of file\n+{1}\n\\ No newline at end of file\n",
            ),
            ("a\na\n", "a\na\na\n", "@@ -1,2 +1,3 @@\n a\n a\n+a\n"),
            (
                "\t// \u{1b}[8m\r\nb\r\n",
                "\t// \u{1b}[8m\r\nc\r\u{9b}\u{202e}\u{7f}\r\n",
                "@@ -1,2 +1,2 @@\n \t// \\u001b[8m\r\n-b\r\n+c\\u000d\\u009b\\u202e\\u007f\r\n",
            ),
        ] {
            assert_eq!(unified("f", before, after), format!("--- f\n+++ f\n{want}"));
        }
    }
}
