//! `--record`: a replay as a new capture.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use sabir_model::capture::{Direction, Header, Writer};
use tokio::time::Instant;

use crate::exit::Failure;

/// The capture that is written, if one is.
#[derive(Default)]
pub(super) struct Record {
    writer: Option<Written>,
    failed: Option<io::Error>,
}

/// A capture, when it began, and what it is called.
type Written = (Writer<Box<dyn Write + Send>>, Instant, String);

/// A capture in memory, up to this size.
const MOST: usize = 256 << 20;

/// Where it is written.
#[derive(Default, Clone)]
pub(super) struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() + bytes.len() > MOST {
            return Err(io::Error::other(format!("the answers are larger than {} MiB", MOST >> 20)));
        }
        memory.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Record {
    /// Starts a new file; what is there already is replaced.
    pub(super) fn new(path: &Path, recorded: Option<&Header>, transport: &str) -> Result<Self, Failure> {
        let old = recorded.cloned().unwrap_or_default();
        let header = Header {
            tool: Some(concat!("sabir/", env!("CARGO_PKG_VERSION")).to_owned()),
            transport: Some(transport.to_owned()),
            frame: old.frame,
            profile: old.profile,
            ..Header::starting(SystemTime::now())
        };
        let name = path.display().to_string();
        let file = File::create(path).map(|file| Box::new(file) as Box<dyn Write + Send>);
        let writer = file.and_then(|file| Writer::new(file, &header));
        let writer = writer.map_err(|error| unwritable(&name, &error))?;
        Ok(Record { writer: Some((writer, Instant::now(), name)), failed: None })
    }

    /// Into memory.
    pub(super) fn memory(memory: &Memory) -> Self {
        let out: Box<dyn Write + Send> = Box::new(memory.clone());
        let writer = Writer::new(out, &Header::default()).ok();
        Record { writer: writer.map(|writer| (writer, Instant::now(), "memory".to_owned())), failed: None }
    }

    pub(super) fn message(&mut self, direction: Direction, connection: u64, text: &str) {
        if let Some((writer, start, _)) = &mut self.writer
            && self.failed.is_none()
        {
            self.failed = writer.message(start.elapsed(), direction, connection, text.as_bytes()).err();
        }
    }

    /// Whether all could be written.
    pub(super) fn end(&mut self) -> Result<(), Failure> {
        match (self.failed.take(), &self.writer) {
            (Some(error), Some((_, _, name))) => Err(unwritable(name, &error)),
            _ => Ok(()),
        }
    }
}

fn unwritable(name: &str, error: &io::Error) -> Failure {
    Failure::file(format_args!("cannot write {name}: {error}"))
}
