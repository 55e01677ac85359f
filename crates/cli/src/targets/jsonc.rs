//! JSON as editors write it: with comments, and commas before a bracket.

/// The same text as JSON. What is left out becomes spaces, so that places stay the same.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    // Where the last comma is, if only white space came after it.
    let mut comma = None;
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            match c {
                '\\' => out.extend(chars.next()),
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match (c, chars.peek()) {
            ('/', Some('/')) => {
                out.push(' ');
                while let Some(c) = chars.next_if(|c| *c != '\n') {
                    blank(&mut out, c);
                }
            }
            ('/', Some('*')) => {
                let mut before = ' ';
                out.push(' ');
                for c in chars.by_ref() {
                    blank(&mut out, c);
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
            }
            (',', _) => {
                comma = Some(out.len());
                out.push(c);
            }
            (']' | '}', _) => {
                if let Some(at) = comma.take() {
                    out.replace_range(at..=at, " ");
                }
                out.push(c);
            }
            (c, _) => {
                if !c.is_whitespace() {
                    comma = None;
                }
                in_string = c == '"';
                out.push(c);
            }
        }
    }
    out
}

fn blank(out: &mut String, c: char) {
    match c {
        '\n' => out.push('\n'),
        c => (0..c.len_utf8()).for_each(|_| out.push(' ')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_are_left_out() {
        for (text, want) in [
            ("{\"a\": \"// no /* no\"}", "{\"a\": \"// no /* no\"}"),
            ("[1, // one\n2,]", "[1,       \n2 ]"),
            ("{/* é\n */}", "{     \n   }"),
            ("[1, /* x */ ]", "[1          ]"),
            ("\"\\\",]\"", "\"\\\",]\""),
            ("[1,2]", "[1,2]"),
            ("/* never closed", "               "),
        ] {
            assert_eq!(plain(text), want);
        }
    }
}
