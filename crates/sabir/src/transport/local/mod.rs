//! Streams inside one machine: Unix sockets (`unix:PATH`), and on Windows named pipes (`pipe:NAME`).

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::io;

#[cfg(unix)]
pub use unix::unix;
#[cfg(unix)]
pub(crate) use unix::{ELSEWHERE, HERE, Listener, SCHEME, Stream, WRITTEN, connect};
#[cfg(windows)]
pub use windows::pipe;
#[cfg(windows)]
pub(crate) use windows::{ELSEWHERE, HERE, Listener, SCHEME, Stream, WRITTEN, connect, path};

use super::endpoint::unusable;

/// The path or name in a `unix:` or `pipe:` URL, with or without the slashes of an empty host. `None` for other
/// URLs; an error for what this system does not have.
pub(crate) fn address(url: &str) -> io::Result<Option<&str>> {
    let Some((scheme, address)) = url.split_once(':') else { return Ok(None) };
    match address.strip_prefix("//").unwrap_or(address) {
        _ if scheme == ELSEWHERE => {
            let reason =
                format!("`{url}` cannot be used on this system, which has {HERE}: write it as {WRITTEN}");
            Err(unusable(reason))
        }
        _ if scheme != SCHEME => Ok(None),
        "" => Err(unusable(format!("`{url}` names nothing: write it as {WRITTEN}"))),
        address => Ok(Some(address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_in_a_url() {
        fn found(url: &str) -> Result<Option<String>, String> {
            address(url).map(|found| found.map(str::to_owned)).map_err(|error| error.to_string())
        }
        let (ours, theirs) = (SCHEME, ELSEWHERE);
        assert_eq!(found(&format!("{ours}:/x")), Ok(Some("/x".to_owned())));
        assert_eq!(found(&format!("{ours}:///x")), Ok(Some("/x".to_owned())));
        assert_eq!(found("tcp://127.0.0.1:1"), Ok(None));
        assert_eq!(found("x"), Ok(None));
        assert_eq!(
            found(&format!("{ours}:")),
            Err(format!("`{ours}:` names nothing: write it as {WRITTEN}"))
        );
        let error = found(&format!("{theirs}:/x")).expect_err("it is of another system");
        assert!(error.starts_with(&format!("`{theirs}:/x` cannot be used on this system")), "{error}");
    }
}
