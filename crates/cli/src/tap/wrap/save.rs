//! Writes a file as a whole or not at all.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::Path;

use crate::tap::platform;

/// Names that are tried for the new file.
const NAMES: u32 = 100;

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

/// Makes a folder that only the user may look into, if there is none.
pub(super) fn own_folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
