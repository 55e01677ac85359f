//! Files as URIs, and back: what `lsp_types` leaves to its users.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::path::{Path, PathBuf};

use lsp_types::Uri;
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

const SCHEME: &str = "file://";

/// The URI of a file or folder. `None` if the path is relative, or cannot be written as a URI.
///
/// ```
/// # #[cfg(unix)] {
/// let uri = sabir_lsp::file_uri("/src/ä b.rs".as_ref()).unwrap();
/// assert_eq!(uri.as_str(), "file:///src/%C3%A4%20b.rs");
/// assert_eq!(sabir_lsp::file_path(&uri).unwrap().to_str(), Some("/src/ä b.rs"));
/// # }
/// ```
pub fn file_uri(path: &Path) -> Option<Uri> {
    if !path.is_absolute() {
        return None;
    }
    let mut uri = SCHEME.to_owned();
    for byte in system::bytes(path)? {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte.into())
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.parse().ok()
}

/// The file or folder that a URI names. `None` if it names something else.
pub fn file_path(uri: &Uri) -> Option<PathBuf> {
    let rest = uri.as_str().strip_prefix(SCHEME)?;
    let start = rest.find('/')?;
    if !matches!(&rest[..start], "" | "localhost") {
        return None;
    }
    let path = rest[start..].split(['?', '#']).next().unwrap_or_default();
    system::path(decoded(path)?)
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        decoded.push(match byte {
            b'%' => (digit(bytes.next())? * 16 + digit(bytes.next())?) as u8,
            byte => byte,
        });
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    #[cfg(unix)]
    #[test]
    fn paths_come_back_as_they_were() {
        for path in ["/", "/a b/ř#?%41/[x]", "/a:b@c"] {
            assert_eq!(file_path(&file_uri(path.as_ref()).unwrap()).unwrap().to_str(), Some(path));
        }
    }

    #[cfg(windows)]
    #[test]
    fn paths_come_back_as_they_were() {
        let path = r"C:\a b\ř#%41\[x]";
        let uri = file_uri(path.as_ref()).unwrap();
        assert_eq!(uri.as_str(), "file:///C%3A/a%20b/%C5%99%23%2541/%5Bx%5D");
        assert_eq!(file_path(&uri).unwrap().to_str(), Some(path));
    }

    #[test]
    fn other_uris_and_relative_paths_are_none() {
        for uri in ["untitled:a", "http://localhost/a", "file://host/a", "file:///a%00", "file:a"] {
            assert_eq!(file_path(&uri.parse().unwrap()), None, "{uri}");
        }
        assert!(file_uri("a".as_ref()).is_none());
    }
}
