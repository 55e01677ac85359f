//! Writes captures: one line is one write, so that a killed writer leaves at most one torn line.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use super::{Direction, Encoder, Event, Header};

/// Writes a capture, line by line.
///
/// ```
/// use std::time::Duration;
/// use sabir_model::capture::{Direction, Header, Writer};
///
/// let mut file = Vec::new();
/// let mut writer = Writer::new(&mut file, &Header::default())?;
/// let ms = Duration::from_millis;
/// writer.message(ms(1), Direction::ToServer, 1, br#"{"jsonrpc":"2.0","id":7,"method":"x"}"#)?;
/// writer.message(ms(6), Direction::ToClient, 1, br#"{"jsonrpc":"2.0","id":7,"result":2}"#)?;
/// let text = String::from_utf8_lossy(&file);
/// let answer = r#"{"n":2,"t":6000000,"d":"<","c":1,"k":"res","id":7,"m":"x","ms":5.0,"b":35,"msg":{"#;
/// assert!(text.lines().nth(2).unwrap().starts_with(answer));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Writer<W> {
    out: W,
    encoder: Encoder,
}

impl Writer<File> {
    /// Opens a file to append to, making it if need be. A line that an earlier writer left torn is ended, so that it
    /// stays the only one that is lost.
    pub fn append(path: impl AsRef<Path>, header: &Header) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Writer::new(file, header)
    }
}

impl<W: Write> Writer<W> {
    /// Starts with the header. `out` should not buffer if the capture is to survive a crash.
    pub fn new(out: W, header: &Header) -> io::Result<Self> {
        let mut writer = Writer { out, encoder: Encoder::default() };
        writer.encoder.header(header);
        writer.write()?;
        Ok(writer)
    }

    /// Writes down what was sent as a message, whatever it is. `at` is the time since the header's.
    pub fn message(
        &mut self,
        at: Duration,
        direction: Direction,
        connection: u64,
        text: &[u8],
    ) -> io::Result<()> {
        self.encoder.message(at, direction, connection, text);
        self.write()
    }

    /// Writes down bytes that were not meant as a message: `noise` among the messages, or `stderr`.
    pub fn stray(
        &mut self,
        at: Duration,
        direction: Direction,
        connection: u64,
        stderr: bool,
        text: &[u8],
    ) -> io::Result<()> {
        self.encoder.stray(at, direction, connection, stderr, text);
        self.write()
    }

    /// Writes down that something happened.
    pub fn event(&mut self, at: Duration, connection: u64, event: Event, text: &str) -> io::Result<()> {
        self.encoder.event(at, connection, event, text);
        self.write()
    }

    /// One write for the whole line.
    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(self.encoder.line())
    }
}

impl<W> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("encoder", &self.encoder).finish_non_exhaustive()
    }
}
