//! The difference of two texts that differ in one place, as `patch` reads it.

use std::fmt::Write;

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
    let mut out = format!("--- {name}\n+++ {name}\n");
    let place =
        |end: usize| format!("{},{}", if end + behind == 0 { 0 } else { from + 1 }, end + behind - from);
    let _ = writeln!(out, "@@ -{} +{} @@", place(old_end), place(new_end));
    let mut lines = |sign: char, lines: &[&str]| {
        for line in lines {
            let _ = write!(out, "{sign}{line}");
            if !line.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
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
        ] {
            assert_eq!(unified("f", before, after), format!("--- f\n+++ f\n{want}"));
        }
    }
}
