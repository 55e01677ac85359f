//! The floor: finds newlines and writes a fixed answer for each line, once per read.
//!
//! It reads nothing of a line but its first byte and its length, so that the bytes it moves are about
//! those of an honest server: a small answer to a call, a hundred of them to a batch, and as much as
//! came in to anything long (an echo). `floor mcp` gives the longer answer of a `tools/call`. `floor ids` reads the id of a
//! call and gives it back, for a generator that matches them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

const CALL: &str = r#"{"jsonrpc":"2.0","id":123456,"result":123456}"#;
const TOOL: &str =
    r#"{"jsonrpc":"2.0","id":123456,"result":{"content":[{"type":"text","text":"123456"}],"isError":false}}"#;
/// Longer than any single call here, shorter than any echo.
const LONG: usize = 512;

fn main() -> io::Result<()> {
    let how = std::env::args().nth(1);
    if how.as_deref() == Some("ids") {
        return with_ids();
    }
    let call = if how.as_deref() == Some("mcp") { TOOL } else { CALL };
    let small = format!("{call}\n").into_bytes();
    let batch = format!("[{}]\n", vec![call; 100].join(",")).into_bytes();
    let echo = vec![b'x'; 64 * 1024];

    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; 64 * 1024];
    let mut out = Vec::with_capacity(128 * 1024);
    // Of the line that is still open: its first byte, and how much of it came so far.
    let (mut first, mut seen) = (0, 0);
    loop {
        let n = input.read(&mut buffer)?;
        if n == 0 {
            return Ok(());
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &buffer[..n]) {
            if seen == 0 {
                first = buffer[start];
            }
            let length = seen + end - start;
            match (first, length) {
                (b'[', _) => out.extend_from_slice(&batch),
                (_, ..LONG) => out.extend_from_slice(&small),
                _ => {
                    let mut left = length;
                    while left > 0 {
                        let part = left.min(echo.len());
                        out.extend_from_slice(&echo[..part]);
                        left -= part;
                        if out.len() >= 64 * 1024 {
                            output.write_all(&out)?;
                            out.clear();
                        }
                    }
                    out.push(b'\n');
                }
            }
            (start, seen) = (end + 1, 0);
        }
        if seen == 0 && start < n {
            first = buffer[start];
        }
        seen += n - start;
        output.write_all(&out)?;
        out.clear();
    }
}

/// One read, the ids in it, and one write.
fn with_ids() -> io::Result<()> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let (mut buffer, mut out) = (vec![0; 64 * 1024], Vec::with_capacity(128 * 1024));
    let mut kept = 0;
    loop {
        let n = input.read(&mut buffer[kept..])?;
        if n == 0 {
            return Ok(());
        }
        let filled = kept + n;
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &buffer[..filled]) {
            sabir_bench_peers::answer_with_id(&buffer[start..end], &mut out);
            out.push(b'\n');
            start = end + 1;
        }
        buffer.copy_within(start..filled, 0);
        kept = filled - start;
        output.write_all(&out)?;
        out.clear();
    }
}
