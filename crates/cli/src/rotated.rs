//! A recording in several files. `sabir tap --rotate` puts `s.jrl` aside as `s.1.jrl`, that one as `s.2.jrl`, and goes on in
//! a new `s.jrl`: whoever is given that name reads all of them as one.
//!
//! Records are numbered from 1 in each session. A file whose first record has another number goes on from an older one,
//! and repeats only its header, which is left out here. A file that begins a session stands for itself, whatever lies
//! beside it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::platform::read_at;

/// Older files that are kept.
pub(crate) const OLDER: u32 = 9;

/// Bytes at the front of a file in which its header ends, and its first record begins.
const FRONT: usize = 64 << 10;

/// The files of a recording, as one.
#[derive(Debug)]
pub(crate) struct Rotated {
    /// The oldest first. There is at least one.
    parts: Vec<Part>,
    /// Which one is read next.
    at: usize,
}

#[derive(Debug)]
struct Part {
    file: File,
    /// Bytes at its front that are left out.
    skip: u64,
    /// Where it begins in the whole.
    start: u64,
}

impl Rotated {
    /// Opens the files that belong together under this name.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut rotated = Rotated::newest(path)?;
        // A pipe or a device is read once, from its start.
        if !rotated.parts[0].file.metadata()?.is_file() {
            return Ok(rotated);
        }
        let mut front = front(&rotated.parts[0].file)?;
        for number in 1..=OLDER {
            let Some(header) = continued(&front) else { break };
            let older = match File::open(numbered(path, ".", number)) {
                Ok(file) if file.metadata()?.is_file() => file,
                _ => break,
            };
            let beginning = self::front(&older)?;
            if !beginning.starts_with(b"{\"jrl\":") {
                break;
            }
            // The tap has put aside meanwhile what is open already.
            if beginning == front {
                continue;
            }
            rotated.parts[0].skip = header as u64;
            rotated.parts.insert(0, Part { file: older, skip: 0, start: 0 });
            front = beginning;
        }
        let mut start = 0;
        for part in &mut rotated.parts {
            part.start = start;
            start += part.file.metadata()?.len().saturating_sub(part.skip);
            part.file.seek(SeekFrom::Start(part.skip))?;
        }
        Ok(rotated)
    }

    /// Opens the file of this name alone.
    pub(crate) fn newest(path: &Path) -> io::Result<Self> {
        let only = Part { file: File::open(path)?, skip: 0, start: 0 };
        Ok(Rotated { parts: vec![only], at: 0 })
    }

    /// The file that is still written to.
    pub(crate) fn last(&self) -> &File {
        &self.parts[self.parts.len() - 1].file
    }

    /// How long the whole is.
    pub(crate) fn len(&self) -> io::Result<u64> {
        let last = &self.parts[self.parts.len() - 1];
        Ok(last.start + last.file.metadata()?.len().saturating_sub(last.skip))
    }

    /// Reads from a place in the whole.
    pub(crate) fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let number = self.parts.partition_point(|part| part.start <= at).saturating_sub(1);
        let part = &self.parts[number];
        let room = match self.parts.get(number + 1) {
            Some(next) => usize::try_from(next.start - at).unwrap_or(usize::MAX).min(buffer.len()),
            None => buffer.len(),
        };
        read_at(&part.file, &mut buffer[..room], at - part.start + part.skip)
    }
}

impl Read for Rotated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.parts[self.at].file.read(buffer)? {
                0 if self.at + 1 < self.parts.len() && !buffer.is_empty() => self.at += 1,
                count => return Ok(count),
            }
        }
    }
}

fn front(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; FRONT];
    let mut length = 0;
    while length < FRONT {
        match read_at(file, &mut bytes[length..], length as u64)? {
            0 => break,
            count => length += count,
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// How long the header is, with its line break, if the file goes on from an older one.
fn continued(front: &[u8]) -> Option<usize> {
    let header = memchr::memchr(b'\n', front)? + 1;
    let rest = &front[header..];
    if rest.is_empty() {
        return front.starts_with(b"{\"jrl\":").then_some(header);
    }
    let number = rest.strip_prefix(b"{\"n\":")?;
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0 && &number[..digits] != b"1").then_some(header)
}

/// `session.jrl` with a number: `session-2.jrl`, `session.1.jrl`.
pub(crate) fn numbered(path: &Path, sign: &str, number: u32) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("{sign}{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_get_numbers_before_their_extension() {
        for (path, want) in [("a/s.jrl", "a/s-2.jrl"), ("s", "s-2"), ("/tmp/a.b.jrl", "/tmp/a.b-2.jrl")] {
            assert_eq!(numbered(Path::new(path), "-", 2), Path::new(want));
        }
    }

    /// Files by their number, 0 without one; what is read under the name without one.
    fn check(name: &str, files: &[(u32, &str)], want: &str) {
        let folder = std::env::temp_dir().join(format!("sabir-rotated-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let base = folder.join("s.jrl");
        for (number, text) in files {
            let path = if *number == 0 { base.clone() } else { numbered(&base, ".", *number) };
            std::fs::write(path, text).unwrap();
        }
        let mut text = String::new();
        Rotated::open(&base).unwrap().read_to_string(&mut text).unwrap();
        // And by position, with reads that end anywhere.
        let rotated = Rotated::open(&base).unwrap();
        let mut bytes = Vec::new();
        loop {
            let mut part = [0; 7];
            match rotated.read_at(&mut part, bytes.len() as u64).unwrap() {
                0 => break,
                count => bytes.extend_from_slice(&part[..count]),
            }
        }
        let length = rotated.len().unwrap();
        drop(rotated);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(text, want, "{name}");
        assert_eq!(String::from_utf8(bytes).unwrap(), want, "{name}, by position");
        assert_eq!(length, want.len() as u64, "{name}");
    }

    #[test]
    fn files_that_go_on_from_each_other_are_one() {
        const A: &str = "{\"jrl\":1,\"at\":\"a\"}\n";
        const B: &str = "{\"jrl\":1,\"at\":\"b\"}\n";
        let n = |number: u32| format!("{{\"n\":{number},\"x\":1}}\n");
        let file = |header: &str, numbers: &[u32]| {
            header.to_owned() + &numbers.iter().map(|number| n(*number)).collect::<String>()
        };
        let (old, mid, new) = (file(A, &[1, 2]), file(A, &[3]), file(A, &[4, 5]));
        check("three", &[(2, &old), (1, &mid), (0, &new)], &file(A, &[1, 2, 3, 4, 5]));
        check("the oldest is gone", &[(1, &mid), (0, &new)], &file(A, &[3, 4, 5]));
        check("one is missing", &[(2, &old), (0, &new)], &new);
        // The second session has begun in the middle of a file.
        let both = format!("{}{}", file(A, &[3]), file(B, &[1]));
        let all = format!("{}{}", file(A, &[1, 2, 3]), file(B, &[1, 2]));
        check("two sessions", &[(2, &old), (1, &both), (0, &file(B, &[2]))], &all);
        check("a copy", &[(1, &old), (0, &old)], &old);
        check("put aside meanwhile", &[(2, &old), (1, &mid), (0, &mid)], &file(A, &[1, 2, 3]));
        check("nothing new yet", &[(1, &old), (0, A)], &old);
        check("alone", &[(0, &new)], &new);
        check("something else beside it", &[(1, "notes"), (0, &new)], &new);
        check("not a capture", &[(1, &old), (0, "> {}\n< {}\n")], "> {}\n< {}\n");
        check("empty", &[(1, &old), (0, "")], "");
    }
}
