//! Quotes text for commands that are shown to be copied.

/// Quotes text as one word of a shell, whatever is in it.
pub(crate) fn word(text: &str) -> String {
    let text = text.replace('\0', "");
    shlex::try_quote(&text).map_or_else(|_| "…".to_owned(), std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_stays_one() {
        for text in ["demo:", "a b", "$(touch x)", "`x`", "it's", "a;b", "", "\"", "!x", "a\nb", "é"] {
            assert_eq!(shlex::split(&word(text)), Some(vec![text.to_owned()]), "{text}");
        }
        assert_eq!(word("demo:"), "demo:");
        assert_eq!(word("http://127.0.0.1:4000/rpc"), "http://127.0.0.1:4000/rpc");
    }
}
