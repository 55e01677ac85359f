//! Streams inside one machine: Unix sockets (`unix:PATH`), and on Windows named pipes (`pipe:NAME`).

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::unix;
#[cfg(unix)]
pub(crate) use unix::{HERE, Listener, SCHEME, Stream, WRITTEN, connect};
#[cfg(windows)]
pub use windows::pipe;
#[cfg(windows)]
pub(crate) use windows::{HERE, Listener, SCHEME, Stream, WRITTEN, connect, path};

use super::url::Scheme;

/// The path or name in a `unix:` or `pipe:` URL. `None` for other URLs; a reason, which names the URL, for what this
/// system does not have.
pub(crate) fn address(url: &str) -> Result<Option<&str>, String> {
    match Scheme::split_local(url) {
        None => Ok(None),
        Some((scheme, _)) if scheme != SCHEME => {
            Err(format!("`{url}` cannot be used on this system, which has {HERE}: write it as {WRITTEN}"))
        }
        Some((_, "")) => Err(format!("`{url}` names nothing: write it as {WRITTEN}")),
        Some((_, address)) => Ok(Some(address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_in_a_url() {
        let theirs = if SCHEME == Scheme::Unix { "pipe" } else { "unix" };
        let ours = SCHEME.name();
        assert_eq!(address(&format!("{ours}:/x")), Ok(Some("/x")));
        assert_eq!(address(&format!("{ours}:///x")), Ok(Some("/x")));
        assert_eq!(address("tcp://127.0.0.1:1"), Ok(None));
        assert_eq!(address("x"), Ok(None));
        let nothing = format!("`{ours}:` names nothing: write it as {WRITTEN}");
        assert_eq!(address(&format!("{ours}:")), Err(nothing));
        let error = address(&format!("{theirs}:/x")).expect_err("it is of another system");
        assert!(error.starts_with(&format!("`{theirs}:/x` cannot be used on this system")), "{error}");
    }
}
