//! The file that is recorded to.
//!
//! Lines are written whole, as many at once as there are. If a write fails, the file is cut back to its last whole line,
//! what is lost is counted, and the next attempt says so in a gap: a full disk may have room again later.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::platform;
use crate::rotated::{OLDER, numbered};

/// Bytes of lines that are written at once.
const BATCH: usize = 256 << 10;

/// A message of so many bytes is not copied to be written with others.
const LONG: usize = 32 << 10;

/// After a failure, the next attempt is made after this time.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// A page that looks whether a tap writes to a file has it for a moment: how often it is tried again, and after how long.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(5);

/// Other names that are tried if another tap writes to the file.
const NAMES: u32 = 100;

pub(super) struct RecordFile {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines in the file.
    length: u64,
    lines: Vec<u8>,
    /// The header, until it is written: without it nobody could read the rest.
    header: Vec<u8>,
    waiting: u64,
    rotate: Option<u64>,
    rotate_after: Option<Duration>,
    /// When this file was begun.
    begun: Instant,
    failed: Option<Instant>,
    /// Lines that could not be written.
    lost: u64,
}

/// What became of a write.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Written {
    Fine,
    /// For the first time, and why.
    Failed(String),
    /// It works again, and so many lines are missing before what comes now.
    Recovered(u64),
    /// The file is as large or as old as it may be.
    Full,
}

impl RecordFile {
    /// Opens the file to append to it, or one with a number in its name if another tap has it.
    pub(super) fn open(
        path: &Path,
        rotate: Option<usize>,
        rotate_after: Option<Duration>,
    ) -> io::Result<Self> {
        for number in 0..NAMES {
            let path = if number == 0 { path.to_owned() } else { numbered(path, "-", number + 1) };
            if let Some(mut file) = own(&path)? {
                let length = whole(&mut file)?;
                let rotate = rotate.map(|size| size as u64);
                return Ok(RecordFile {
                    path,
                    file,
                    length,
                    lines: Vec::new(),
                    header: Vec::new(),
                    waiting: 0,
                    rotate,
                    rotate_after,
                    begun: Instant::now(),
                    failed: None,
                    lost: 0,
                });
            }
        }
        Err(io::Error::other("other taps write to it, and to all files with a number in the name"))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Begins a session or a file. The header is written with the lines that follow.
    pub(super) fn header(&mut self, line: &[u8]) {
        self.header = line.to_vec();
        self.waiting += 1;
        self.lines.extend_from_slice(line);
    }

    /// Adds a line, which is given in parts; it is written with the next ones. A long one is written at once, from where
    /// it is.
    pub(super) fn line(&mut self, parts: [&[u8]; 3]) -> Written {
        self.waiting += 1;
        if parts[1].len() >= LONG {
            return self.write_all(parts);
        }
        parts.iter().for_each(|part| self.lines.extend_from_slice(part));
        if self.lines.len() >= BATCH { self.flush() } else { Written::Fine }
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> Written {
        if self.lines.is_empty() { Written::Fine } else { self.write_all([&[]; 3]) }
    }

    /// Writes what waits, and a line behind it.
    fn write_all(&mut self, line: [&[u8]; 3]) -> Written {
        if self.failed.is_some_and(|when| when.elapsed() < AFTER_FAILURE) {
            return self.lose();
        }
        let (written, result) = self.write(line);
        match result {
            Ok(()) => {
                self.length += written as u64;
                self.lines.clear();
                self.header.clear();
                self.waiting = 0;
                if self.failed.take().is_some() {
                    return Written::Recovered(std::mem::take(&mut self.lost));
                }
                let is_large = self.rotate.is_some_and(|size| self.length >= size);
                let is_old = self.rotate_after.is_some_and(|age| self.begun.elapsed() >= age);
                match is_large || is_old {
                    true => Written::Full,
                    false => Written::Fine,
                }
            }
            Err(error) => {
                let lines = &self.lines[..written.min(self.lines.len())];
                let whole = memchr::memrchr(b'\n', lines).map_or(0, |end| end + 1);
                self.length += whole as u64;
                if whole >= self.header.len() {
                    self.header.clear();
                }
                self.waiting -= memchr::memchr_iter(b'\n', &self.lines[..whole]).count() as u64;
                // A part of the next line may be there. Where that cannot be undone, it is ended.
                if self.file.set_len(self.length).is_err() && whole < written {
                    let _ = self.file.write_all(b"\n");
                }
                let is_first = self.failed.replace(Instant::now()).is_none();
                self.lose();
                if is_first { Written::Failed(error.to_string()) } else { Written::Fine }
            }
        }
    }

    /// How many bytes were written, and why no more.
    fn write(&mut self, [head, text, end]: [&[u8]; 3]) -> (usize, io::Result<()>) {
        let mut slices = [&self.lines, head, text, end].map(IoSlice::new);
        let mut left = &mut slices[..];
        // Those in front that are empty.
        IoSlice::advance_slices(&mut left, 0);
        let mut written = 0;
        while !left.is_empty() {
            match self.file.write_vectored(left) {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    written += count;
                    IoSlice::advance_slices(&mut left, count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }

    fn lose(&mut self) -> Written {
        // The header waits for the next attempt.
        let kept = u64::from(!self.header.is_empty());
        self.lost += std::mem::replace(&mut self.waiting, kept).saturating_sub(kept);
        self.lines.clone_from(&self.header);
        Written::Fine
    }

    /// The file grows as it likes.
    pub(super) fn never_rotate(&mut self) {
        (self.rotate, self.rotate_after) = (None, None);
    }

    /// Puts the file aside and starts another of its name. If that fails, the file goes on.
    pub(super) fn rotate(&mut self) -> io::Result<()> {
        for number in (1..OLDER).rev() {
            let from = numbered(&self.path, ".", number);
            if from.exists() {
                std::fs::rename(&from, numbered(&self.path, ".", number + 1))?;
            }
        }
        std::fs::rename(&self.path, numbered(&self.path, ".", 1))?;
        self.file = options().open(&self.path)?;
        // Until it has this file to itself, nobody else takes it: the name was this tap's.
        for _ in 0..TRIES {
            if platform::lock(&self.file)? {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        self.length = 0;
        self.begun = Instant::now();
        Ok(())
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        self.flush();
    }
}

/// A file for this process alone to write to. `None` if another tap has it.
fn own(path: &Path) -> io::Result<Option<File>> {
    for attempt in 0..TRIES {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        match options().open(path) {
            Err(error) if platform::is_taken(&error) => {}
            opened => {
                let file = opened?;
                if platform::lock(&file)? {
                    return Ok(Some(file));
                }
            }
        }
    }
    Ok(None)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    platform::private(&mut options);
    options
}

/// Ends a line that an earlier writer has left torn. How long the file is then.
fn whole(file: &mut File) -> io::Result<u64> {
    let length = file.seek(SeekFrom::End(0)).unwrap_or(0);
    if length == 0 {
        return Ok(0);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last == *b"\n" {
        return Ok(length);
    }
    file.write_all(b"\n")?;
    Ok(length + 1)
}
