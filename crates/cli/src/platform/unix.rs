//! As shells do it.

/// Where to listen, for example.
pub(crate) const LISTEN: &str = "tcp://127.0.0.1:4000 or unix:/tmp/demo.sock";

/// The words of a command. `None` if a quote is never closed.
pub(crate) fn split(command: &str) -> Option<Vec<String>> {
    shlex::split(command)
}

/// A command from its words.
pub(crate) fn join(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// The system finds programs by itself.
pub(crate) fn program(name: &str) -> &str {
    name
}

/// Every terminal has colours.
pub(crate) fn enable_colour() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_keeps_a_space() {
        assert_eq!(split(r"a b\ c"), Some(vec!["a".to_owned(), "b c".to_owned()]));
    }
}
