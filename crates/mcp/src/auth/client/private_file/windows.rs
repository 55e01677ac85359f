//! By the rights of the folder that it is in: what is below the user's own folder is private to the user.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

pub(in crate::auth::client) fn create_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

/// Writes a file that does not exist yet.
pub(in crate::auth::client) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
