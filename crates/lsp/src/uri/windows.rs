//! Paths are text, begin with a drive, and have backslashes.

use std::path::{Path, PathBuf};

/// `C:\a` is `/C:/a`.
pub(super) fn bytes(path: &Path) -> Option<Vec<u8>> {
    let text = path.to_str()?;
    let text = text.strip_prefix(r"\\?\").unwrap_or(text);
    // A share of another machine would be the host of the URI.
    (!text.starts_with('\\')).then(|| format!("/{}", text.replace('\\', "/")).into_bytes())
}

pub(super) fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    let text = String::from_utf8(bytes).ok()?;
    let text = text.strip_prefix('/')?;
    (text.as_bytes().get(1) == Some(&b':') && !text.contains('\0'))
        .then(|| PathBuf::from(text.replace('/', r"\")))
}
