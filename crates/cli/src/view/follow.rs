//! A file that others write to: at its end, more is waited for.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::rotated::Rotated;

/// How often a file is looked at that does not grow.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Following {
    path: PathBuf,
    files: Rotated,
}

impl Following {
    /// A file that is not there yet is waited for; `tell` is called then.
    pub(super) fn open(path: &Path, tell: impl FnOnce()) -> io::Result<Self> {
        let mut tell = Some(tell);
        let files = loop {
            match Rotated::newest(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if let Some(tell) = tell.take() {
                        tell();
                    }
                    std::thread::sleep(PAUSE);
                }
                other => break other?,
            }
        };
        Ok(Following { path: path.to_owned(), files })
    }
}

impl Read for Following {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.files.read(buffer)? {
                0 if !self.files.extend(&self.path)? => std::thread::sleep(PAUSE),
                0 => {}
                count => return Ok(count),
            }
        }
    }
}
