//! By the rights of the folder that it is in: what is below the user's own folder is private to the user.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::windows::fs::OpenOptionsExt as _;
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

/// Opens a file to read it.
pub(in crate::auth::client) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// A lock that is held as long as the file is open: it is shared with nobody. `None` if another program has it.
pub(in crate::auth::client) fn try_lock(path: &Path) -> io::Result<Option<File>> {
    const SHARING_VIOLATION: i32 = 32;
    let mut options = OpenOptions::new();
    match options.write(true).create(true).truncate(false).share_mode(0).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
        Err(error) => Err(error),
    }
}
