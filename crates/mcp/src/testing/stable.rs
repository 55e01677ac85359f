//! Transcripts that are the same in each run: what a server makes up by chance has placeholders, and two of them are compared by
//! their lines.

/// Members whose values are made up, and what stands for them, with a number.
const MADE_UP: [(&str, &str); 2] = [("taskId", "task"), ("requestState", "state")];
/// What is shorter was chosen by somebody.
const SHORTEST: usize = 16;
/// Members that are moments, and what stands for every one of them.
const MOMENTS: [&str; 2] = ["createdAt", "lastUpdatedAt"];
const MOMENT: &str = "2000-01-01T00:00:00Z";
/// Lines that are shown around a difference.
const CONTEXT: usize = 2;

/// With placeholders for what differs from run to run.
pub(super) fn stable(transcript: &str) -> String {
    let mut text = transcript.to_owned();
    for (member, word) in MADE_UP {
        let found = values(&text, member).into_iter().filter(|value| value.len() >= SHORTEST);
        for (value, number) in found.zip(1..) {
            // Wherever it stands: others name a task, too.
            text = text.replace(&format!("\"{value}\""), &format!("\"{word}-{number}\""));
        }
    }
    for member in MOMENTS {
        for value in values(&text, member) {
            let with = |value: &str| format!("\"{member}\":\"{value}\"");
            text = text.replace(&with(&value), &with(MOMENT));
        }
    }
    text
}

/// The strings that a member has, each once, in order.
fn values(text: &str, member: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for rest in text.split(&format!("\"{member}\":\"")).skip(1) {
        let value = rest.split('"').next().unwrap_or_default();
        if !found.iter().any(|known| known == value) {
            found.push(value.to_owned());
        }
    }
    found
}

/// Which lines are to go (`-`) and which are to come (`+`), with some around them.
pub(super) fn difference(want: &str, came: &str) -> String {
    let (want, came): (Vec<_>, Vec<_>) = (want.lines().collect(), came.lines().collect());
    let same = want.iter().zip(&came).take_while(|(want, came)| want == came).count();
    let (old, new) = (&want[same..], &came[same..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(want, came)| want == came).count();
    let lines = |mark: &str, lines: &[&str]| -> String {
        lines.iter().map(|line| format!("{mark} {line}\n")).collect()
    };
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    [
        lines(" ", &want[same.saturating_sub(CONTEXT)..same]),
        lines("-", &old[..old_end]),
        lines("+", &new[..new_end]),
        lines(" ", &old[old_end..old.len().min(old_end + CONTEXT)]),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_up_has_a_placeholder() {
        let text = r#"{"taskId":"0123456789abcdef","createdAt":"2026-01-01T00:00:01Z"} {"taskId":"fedcba9876543210"}
["0123456789abcdef"] {"taskId":"mine","requestState":"0123456789abcdefgh"}"#;
        let want = r#"{"taskId":"task-1","createdAt":"2000-01-01T00:00:00Z"} {"taskId":"task-2"}
["task-1"] {"taskId":"mine","requestState":"state-1"}"#;
        assert_eq!(stable(text), want);
    }

    #[test]
    fn a_difference_is_told_by_lines() {
        let told = difference("a\nb\nc\nd\ne\nf\ng", "a\nb\nc\nx\ny\ne\nf\ng");
        assert_eq!(told, "  b\n  c\n- d\n+ x\n+ y\n  e\n  f\n");
        assert_eq!(difference("a\na", "a"), "  a\n- a\n");
    }
}
