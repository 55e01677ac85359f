//! Writes traffic to standard output, of any length: for measuring.
//!
//! Run with `cargo run --release -p sabir-model --example traffic -- FORMAT SIZE MEGABYTES`. FORMAT is `messages`,
//! `capture` or `dump`, SIZE is `small` (messages of about 100 bytes) or `large` (about 1,500).

use std::error::Error;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use sabir_model::capture::{Direction, Header, Writer};

/// Requests that are open at a time.
const OPEN: u64 = 32;
/// Bytes around a message in a capture, more or less.
const AROUND: u64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut arg = || args.next().ok_or("which FORMAT, SIZE and MEGABYTES?");
    let (format, size, megabytes) = (arg()?, arg()?, arg()?.parse::<u64>()?);
    let mut out = Counted { out: BufWriter::with_capacity(1 << 20, io::stdout().lock()), bytes: 0 };
    let is_full = |bytes: u64| bytes >= megabytes * 1_000_000;
    let large = size == "large";
    let messages = opening(&format).into_iter().chain((0..).flat_map(|n| pair(n, large)));
    match &*format {
        "capture" => {
            let mut bytes = 0;
            let mut writer = Writer::new(&mut out, &Header::default())?;
            for (number, (direction, text)) in messages.enumerate() {
                writer.message(Duration::from_micros(number as u64 * 100), direction, 1, text.as_bytes())?;
                bytes += AROUND + text.len() as u64;
                if is_full(bytes) {
                    break;
                }
            }
        }
        _ => {
            for (_, text) in messages {
                match &*format {
                    "dump" => write!(out, "Content-Length: {}\r\n\r\n{text}", text.len())?,
                    _ => writeln!(out, "{text}")?,
                }
                if is_full(out.bytes) {
                    break;
                }
            }
        }
    }
    Ok(out.flush()?)
}

/// A dump is of a language server.
fn opening(format: &str) -> Vec<(Direction, String)> {
    match format {
        "dump" => [
            r#"{"jsonrpc":"2.0","id":"start","method":"initialize","params":{"capabilities":{}}}"#,
            r#"{"jsonrpc":"2.0","id":"start","result":{"capabilities":{}}}"#,
            r#"{"jsonrpc":"2.0","method":"initialized","params":{}}"#,
        ]
        .map(|text| (Direction::ToServer, text.to_owned()))
        .to_vec(),
        _ => Vec::new(),
    }
}

/// A request, and the answer to one that was sent a while ago.
fn pair(n: u64, large: bool) -> Vec<(Direction, String)> {
    let request = match large {
        false => format!(
            r#"{{"jsonrpc":"2.0","id":{n},"method":"textDocument/hover","params":{{"line":{},"character":7}}}}"#,
            n % 500
        ),
        true => {
            let changes: String = (0..8).map(|i| change(n + i)).collect::<Vec<_>>().join(",");
            format!(
                r#"{{"jsonrpc":"2.0","id":{n},"method":"workspace/applyEdit","params":{{"label":"Rename \"x\"","edit":{{"changes":[{changes}]}}}}}}"#
            )
        }
    };
    let mut pair = vec![(Direction::ToServer, request)];
    if let Some(earlier) = n.checked_sub(OPEN) {
        let result = match large {
            false => format!(r#"{{"contents":"fn add(a: i32) -> i32","at":{}}}"#, n % 100),
            true => {
                let lines: String =
                    (0..12).map(|i| format!(r#""let value_{i} = compute({i}, \"näïve\");\n","#)).collect();
                format!(
                    r#"{{"applied":true,"score":0.7351,"text":[{lines}null],"more":[1,2,3,-4.5e3,true,false]}}"#
                )
            }
        };
        pair.push((Direction::ToClient, format!(r#"{{"jsonrpc":"2.0","id":{earlier},"result":{result}}}"#)));
    }
    pair
}

fn change(n: u64) -> String {
    let line = n % 4000;
    format!(
        r#"{{"uri":"file:///home/user/project/src/module_{}/mod.rs","range":{{"start":{{"line":{line},"character":4}},"end":{{"line":{line},"character":19}}}},"newText":"renamed_{line}"}}"#,
        n % 17
    )
}

struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
