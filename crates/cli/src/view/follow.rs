//! A file that others write to: at its end, more is waited for.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often a file is looked at that does not grow.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) struct Following {
    path: PathBuf,
    file: File,
}

impl Following {
    /// A file that is not there yet is waited for; `tell` is called then.
    pub(super) fn open(path: &Path, tell: impl FnOnce()) -> io::Result<Self> {
        let mut tell = Some(tell);
        let file = loop {
            match File::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if let Some(tell) = tell.take() {
                        tell();
                    }
                    std::thread::sleep(PAUSE);
                }
                other => break other?,
            }
        };
        Ok(Following { path: path.to_owned(), file })
    }

    /// The file that has the name now, if what was read so far is longer than it: another has taken its place.
    fn replaced(&mut self) -> io::Result<Option<File>> {
        let read = self.file.stream_position()?;
        match File::open(&self.path) {
            Ok(file) => Ok((file.metadata()?.len() < read).then_some(file)),
            // Between its removal and the next.
            Err(_) => Ok(None),
        }
    }
}

impl Read for Following {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(buffer)? {
                0 => match self.replaced()? {
                    Some(file) => self.file = file,
                    None => std::thread::sleep(PAUSE),
                },
                count => return Ok(count),
            }
        }
    }
}
