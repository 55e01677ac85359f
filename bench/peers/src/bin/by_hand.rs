//! By hand on stdin and stdout: one thread, one write per burst of reads.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;

use sabir_bench_peers::request;
use serde_json::value::RawValue;

fn main() -> io::Result<()> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let (mut line, mut out) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line)? > 0 {
        message(&line, &mut out)?;
        line.clear();
        // Nothing whole is left to answer: the next read may wait, so what is ready goes out.
        if memchr::memchr(b'\n', input.buffer()).is_none() || out.len() >= 64 * 1024 {
            output.write_all(&out)?;
            out.clear();
        }
    }
    output.write_all(&out)
}

fn message(text: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
    if text.starts_with(b"[") {
        let calls: Vec<&RawValue> = serde_json::from_slice(text)?;
        out.push(b'[');
        for call in calls {
            if request(call.get().as_bytes(), out)? {
                out.push(b',');
            }
        }
        if out.pop() == Some(b',') {
            out.extend_from_slice(b"]\n");
        }
    } else if request(text, out)? {
        out.push(b'\n');
    }
    Ok(())
}
