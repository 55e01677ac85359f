//! Paths are bytes.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

pub(super) fn bytes(path: &Path) -> Option<Vec<u8>> {
    Some(path.as_os_str().as_bytes().to_vec())
}

/// A path cannot have a zero.
pub(super) fn path(bytes: Vec<u8>) -> Option<PathBuf> {
    (!bytes.contains(&0)).then(|| PathBuf::from(OsString::from_vec(bytes)))
}
