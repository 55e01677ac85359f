//! Text that is nothing but text in HTML and XML.

use std::fmt::Write;

use sabir_proto::is_terminal_control;

/// In a page: what is invisible is shown.
pub fn html(text: &str) -> String {
    escaped(text, |c, out| match is_terminal_control(c) {
        true => drop(write!(out, "\\u{{{:x}}}", u32::from(c))),
        false => out.push(c),
    })
}

/// In XML, which cannot represent most control characters, not even as references.
pub fn xml(text: &str) -> String {
    escaped(text, |c, out| match c {
        '\n' => out.push('\n'),
        c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
        c if is_terminal_control(c) => drop(write!(out, "&#x{:x};", u32::from(c))),
        c => out.push(c),
    })
}

/// `other` writes what has no meaning of its own in markup.
fn escaped(text: &str, other: impl Fn(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => other(c, &mut out),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_what_is_invisible_are_escaped() {
        let hostile = "<a b='c'>&\"\u{1b}\n\u{202e}\u{ffff}é";
        assert_eq!(html(hostile), "&lt;a b=&#39;c&#39;&gt;&amp;&quot;\\u{1b}\\u{a}\\u{202e}\u{ffff}é");
        assert_eq!(xml(hostile), "&lt;a b=&#39;c&#39;&gt;&amp;&quot;\u{fffd}\n&#x202e;\u{fffd}é");
    }
}
