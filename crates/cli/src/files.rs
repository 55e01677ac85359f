//! Files that are read whole, each up to a limit: a name may stand for something without an end.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use sabir_proto::ByteSize;

use crate::platform;

/// A document, or a certificate, that is larger is something else.
pub(crate) const LARGEST_DOCUMENT: usize = 64 << 20;

/// All bytes of a file. It may be a pipe: a person gave its name.
pub(crate) fn read(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    up_to(File::open(path)?, most)
}

/// The text of a document.
pub(crate) fn document(path: &Path) -> io::Result<String> {
    text(read(path, LARGEST_DOCUMENT)?)
}

/// The text of a file whose name nobody has given. A pipe or a device, which would block or have no end, is not opened.
/// `allow` judges what was opened, and not what the name stood for before.
pub(crate) fn regular(
    path: &Path,
    most: usize,
    allow: impl Fn(&Metadata) -> io::Result<()>,
) -> io::Result<String> {
    let file = platform::open_without_waiting(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    allow(&about)?;
    text(up_to(file, most)?)
}

fn up_to(file: File, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    match bytes.len() > most {
        true => Err(io::Error::other(format!("it is larger than {}", ByteSize(most)))),
        false => Ok(bytes),
    }
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read() {
        let zero = Path::new("/dev/zero");
        let larger = read(zero, 1 << 20).expect_err("it has no end");
        assert_eq!(larger.to_string(), "it is larger than 1 MiB");
        let device = regular(zero, 1 << 20, |_| Ok(())).expect_err("a device");
        assert_eq!(device.to_string(), "it is not a regular file");
    }
}
