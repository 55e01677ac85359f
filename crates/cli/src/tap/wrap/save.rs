//! Writes a file as a whole or not at all, and one process at a time.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::tap::platform;

/// Names that are tried for the new file.
const NAMES: u32 = 100;

/// How long another process may take, and how often it is looked at.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_millis(10);

/// Writes a new file beside the old one and puts it in its place. Without `permissions` it is the user's own.
pub(super) fn replace(path: &Path, content: &[u8], permissions: Option<&Permissions>) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    for number in 0..NAMES {
        let fresh = path.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        platform::private(&mut options);
        let mut file = match options.open(&fresh) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        let written = file
            .write_all(content)
            .and_then(|()| {
                permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions.clone()))
            })
            .and_then(|()| file.sync_all());
        drop(file);
        let placed = written.and_then(|()| fs::rename(&fresh, path));
        if placed.is_err() {
            let _ = fs::remove_file(&fresh);
        }
        return placed;
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Waits until no other process has this lock. It is kept until the file is dropped. `None` if that takes too long.
pub(super) fn lock(path: &Path) -> io::Result<Option<File>> {
    path.parent().map_or(Ok(()), own_folder)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    platform::private(&mut options);
    let deadline = Instant::now() + LONGEST_WAIT;
    loop {
        match options.open(path) {
            Ok(file) if platform::lock(&file)? => return Ok(Some(file)),
            Ok(_) => {}
            Err(error) if platform::is_taken(&error) => {}
            Err(error) => return Err(error),
        }
        if Instant::now() > deadline {
            return Ok(None);
        }
        std::thread::sleep(AGAIN);
    }
}

/// Makes a folder that only the user may look into, if there is none.
pub(super) fn own_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
