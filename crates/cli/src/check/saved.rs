//! The transcript of a live check. Its lines are the numbers that findings refer to.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use sabir_model::capture::Direction;
use sabir_proto::{Line, RawJson};

use crate::exit::Failure;
use crate::json::compact;

pub(super) struct Transcript {
    path: PathBuf,
    out: BufWriter<File>,
}

impl Transcript {
    pub(super) fn new(path: &Path) -> Result<Transcript, Failure> {
        let file = File::create(path).map_err(|error| unwritable(path, &error))?;
        Ok(Transcript { path: path.to_owned(), out: BufWriter::new(file) })
    }

    /// One message, on one line.
    pub(super) fn message(&mut self, text: &[u8], direction: Direction) -> Result<(), Failure> {
        let is_one_line = |text: &&str| !text.contains(['\n', '\r']);
        let line = match std::str::from_utf8(text) {
            Ok(text) => match RawJson::new(text) {
                Ok(json) => Some(compact(json.as_str()).into_owned()),
                Err(_) => Some(text).filter(is_one_line).map(str::to_owned),
            },
            Err(_) => None,
        };
        let line = match (line, direction) {
            (Some(text), Direction::ToServer) => Line::ToServer(text.into()),
            (Some(text), Direction::ToClient) => Line::ToClient(text.into()),
            (None, Direction::ToServer) => Line::BytesToServer(text.to_vec()),
            (None, Direction::ToClient) => Line::BytesToClient(text.to_vec()),
        };
        writeln!(self.out, "{line}").map_err(|error| unwritable(&self.path, &error))
    }

    pub(super) fn end(mut self) -> Result<(), Failure> {
        self.out.flush().map_err(|error| unwritable(&self.path, &error))
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::file(format_args!("cannot write `{}`: {error}", path.display()))
}
