//! A recording in several files. `sabir tap --rotate` puts `s.jrl` aside as `s.1.jrl`, that one as `s.2.jrl`, and goes on in
//! a new `s.jrl`: whoever is given that name reads all of them as one.
//!
//! Records are numbered from 1 in each session. A file whose first record has another number goes on from an older one,
//! and repeats only its header, which is left out here. A file that begins a session stands for itself, whatever lies
//! beside it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use crate::platform::read_at;

/// Older files that are kept.
pub(crate) const OLDER: u32 = 9;

/// Bytes at the front of a file in which its header ends, and its first record begins.
const FRONT: usize = 64 << 10;

/// Files that are held open. What is in those before them can no longer be read, and takes no room on the disk.
const HELD: usize = 64;

/// Stands between two files if others between them were removed before they were seen.
const GAP: &[u8] = b"{\"k\":\"gap\",\"raw\":\"files of the recording were removed before they were read\"}\n";

/// Stands where a file was made shorter than what had been read of it.
const CUT: &[u8] = b"\n{\"k\":\"gap\",\"raw\":\"the file was cut off, or written anew\"}\n";

/// A tap that rotates leaves its name without a file, and a file without a header, for a moment: how often it is looked
/// again, and after how long.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// The files of a recording, as one.
#[derive(Debug)]
pub(crate) struct Rotated {
    /// The oldest first. There is at least one.
    parts: RwLock<Vec<Part>>,
    /// How far it is read by `Read`.
    at: u64,
    /// How far it is read by whoever reads it in order.
    reached: AtomicU64,
}

#[derive(Debug)]
struct Part {
    /// Stands before what is in the file: it ends a line that was left torn, and says what is missing.
    before: Vec<u8>,
    /// Nothing, if it is too long ago.
    file: Option<File>,
    /// Bytes at its front that are left out.
    skip: u64,
    /// Where it begins in the whole.
    start: u64,
    /// The header and the first record, once they are there. A file that begins with something else is another one.
    beginning: Vec<u8>,
    /// Bytes at its front that are still what they were, if the others are not.
    kept: Option<u64>,
}

impl Part {
    fn new(file: File) -> Self {
        let (before, beginning) = (Vec::new(), Vec::new());
        Part { before, file: Some(file), skip: 0, start: 0, beginning, kept: None }
    }

    /// What goes on behind it in the same file, if that was cut off or written anew since it was read up to `reached`.
    fn cut(&mut self, reached: u64) -> io::Result<Option<Part>> {
        let Some(file) = &self.file else { return Ok(None) };
        let front = front(file)?;
        if self.beginning.is_empty() {
            self.beginning = beginning(&front).unwrap_or_default().to_vec();
        }
        let length = file.metadata()?.len();
        let own = self.start + self.before.len() as u64;
        let read = if reached > own { reached - own + self.skip } else { 0 };
        let is_same = front.starts_with(&self.beginning);
        if is_same && length >= read {
            return Ok(None);
        }
        let kept = if is_same { length } else { 0 };
        self.kept = Some(kept);
        let next = Part {
            before: CUT.to_vec(),
            skip: kept,
            start: reached.max(own),
            ..Part::new(file.try_clone()?)
        };
        Ok(Some(next))
    }

    /// Where it ends in the whole.
    fn end(&self) -> io::Result<u64> {
        let length = self.file.as_ref().map_or(Ok(0), |file| file.metadata().map(|about| about.len()))?;
        Ok(self.start + self.before.len() as u64 + length.saturating_sub(self.skip))
    }

    /// Puts another behind it.
    fn follow(&self, next: &mut Part) -> io::Result<()> {
        next.start = self.end()?;
        let Some(file) = &self.file else { return Ok(()) };
        let length = file.metadata()?.len();
        let mut last = *b"\n";
        if length > self.skip {
            read_at(file, &mut last, length - 1)?;
        }
        if last != *b"\n" {
            next.before.insert(0, b'\n');
        }
        Ok(())
    }
}

impl Rotated {
    /// Opens the files that belong together under this name.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        for _ in 0..TRIES {
            let files = Rotated::together(path);
            let is_settled = match &files {
                Ok(files) => files.is_newest(path),
                Err(error) => error.kind() != io::ErrorKind::NotFound,
            };
            if is_settled || !numbered(path, ".", 1).is_file() {
                return files;
            }
            std::thread::sleep(PAUSE);
        }
        Rotated::together(path)
    }

    fn together(path: &Path) -> io::Result<Self> {
        let newest = File::open(path)?;
        // A pipe or a device is read once, from its start.
        if !newest.metadata()?.is_file() {
            return Ok(Rotated::of(vec![Part::new(newest)]));
        }
        let mut front = front(&newest)?;
        let mut parts = vec![Part::new(newest)];
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
            parts[0].skip = header as u64;
            parts.insert(0, Part::new(older));
            front = beginning;
        }
        for at in 1..parts.len() {
            let (older, newer) = parts.split_at_mut(at);
            older[at - 1].follow(&mut newer[0])?;
        }
        Ok(Rotated::of(parts))
    }

    /// Opens the file of this name alone.
    pub(crate) fn newest(path: &Path) -> io::Result<Self> {
        Ok(Rotated::of(vec![Part::new(File::open(path)?)]))
    }

    fn of(mut parts: Vec<Part>) -> Self {
        let last = parts.last_mut().and_then(|last| Some((last.file.as_ref()?, &mut last.beginning)));
        if let Some((file, known)) = last
            && file.metadata().is_ok_and(|about| about.is_file())
            && let Ok(front) = front(file)
        {
            *known = beginning(&front).unwrap_or_default().to_vec();
        }
        Rotated { parts: RwLock::new(parts), at: 0, reached: AtomicU64::new(0) }
    }

    /// Whether the last file still has this name, and something is in it. A pipe or a device is what it is.
    fn is_newest(&self, path: &Path) -> bool {
        let Some(there) = regular(path) else { return true };
        let parts = self.parts();
        let last = parts.last().and_then(|part| part.file.as_ref());
        let fronts = last.and_then(|last| Some((front(last).ok()?, front(&there).ok()?)));
        fronts.is_none_or(|(own, there)| {
            !own.is_empty() && beginning(&own).is_none_or(|own| there.starts_with(own))
        })
    }

    /// Tells how far it was read by whoever reads it in order: if a file is cut off, that is where the rest begins.
    pub(crate) fn has_read(&self, to: u64) {
        self.reached.store(to, Ordering::Relaxed);
    }

    /// Goes on with the files that have come under this name since, if there are any. The tap may have put several aside.
    pub(crate) fn extend(&self, path: &Path) -> io::Result<bool> {
        let mut parts = self.parts.write().unwrap_or_else(PoisonError::into_inner);
        let reached = self.reached.load(Ordering::Relaxed);
        if let Some(next) = parts.last_mut().map_or(Ok(None), |last| last.cut(reached))? {
            parts.push(next);
            return Ok(true);
        }
        let Some(Part { file: Some(last), .. }) = parts.last() else { return Ok(false) };
        let own = front(last)?;
        let Some(own) = beginning(&own) else { return Ok(false) };
        let mut newer: Vec<(File, Vec<u8>)> = Vec::new();
        let mut is_found = false;
        for number in 0..=OLDER {
            let path = if number == 0 { path.to_owned() } else { numbered(path, ".", number) };
            let Some(file) = regular(&path) else { break };
            let front = front(&file)?;
            let Some(start) = beginning(&front).filter(|start| start.starts_with(b"{\"jrl\":")) else {
                break;
            };
            is_found = start == own;
            if is_found {
                break;
            }
            // Put aside meanwhile.
            if newer.last().is_some_and(|(_, known)| beginning(known) == Some(start)) {
                continue;
            }
            let is_rest = continued(&front).is_some();
            newer.push((file, front));
            if !is_rest {
                break;
            }
        }
        // The tap goes on meanwhile: if the newest has another name by now, the others may have been read in any order.
        if let Some((_, newest)) = newer.first() {
            let there = regular(path).map_or(Ok(Vec::new()), |file| self::front(&file))?;
            if beginning(newest) != beginning(&there) {
                return Ok(false);
            }
        }
        let has_more = !newer.is_empty();
        for (file, front) in newer.into_iter().rev() {
            let mut part = Part::new(file);
            part.skip = continued(&front).unwrap_or(0) as u64;
            part.beginning = beginning(&front).unwrap_or_default().to_vec();
            if !std::mem::replace(&mut is_found, true) && part.skip > 0 {
                part.before = GAP.to_vec();
            }
            if let Some(last) = parts.last() {
                last.follow(&mut part)?;
            }
            parts.push(part);
        }
        let old = parts.len().saturating_sub(HELD);
        parts[..old].iter_mut().for_each(|part| part.file = None);
        Ok(has_more)
    }

    fn parts(&self) -> RwLockReadGuard<'_, Vec<Part>> {
        self.parts.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it can be read by position.
    pub(crate) fn is_file(&self) -> io::Result<bool> {
        let parts = self.parts();
        let file = parts.last().and_then(|part| part.file.as_ref());
        file.map_or(Ok(false), |file| Ok(file.metadata()?.is_file()))
    }

    /// How long the whole is.
    pub(crate) fn len(&self) -> io::Result<u64> {
        self.parts().last().map_or(Ok(0), Part::end)
    }

    /// Reads from a place in the whole.
    pub(crate) fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        let parts = self.parts();
        let number = parts.partition_point(|part| part.start <= at).saturating_sub(1);
        let part = &parts[number];
        let room = match parts.get(number + 1) {
            Some(next) => usize::try_from(next.start - at).unwrap_or(usize::MAX).min(buffer.len()),
            None => buffer.len(),
        };
        let at = at - part.start;
        let before = part.before.len() as u64;
        if at < before {
            return (&part.before[at as usize..]).read(&mut buffer[..room]);
        }
        let gone = || io::Error::new(io::ErrorKind::NotFound, "its file was removed");
        let file = part.file.as_ref().ok_or_else(gone)?;
        let at = at - before + part.skip;
        let kept = part.kept.map_or(u64::MAX, |kept| kept.saturating_sub(at));
        let room = usize::try_from(kept).unwrap_or(usize::MAX).min(room);
        read_at(file, &mut buffer[..room], at)
    }
}

impl Read for Rotated {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.is_file()? {
            // A pipe has no positions.
            let mut parts = self.parts.write().unwrap_or_else(PoisonError::into_inner);
            let file = parts.last_mut().and_then(|part| part.file.as_mut());
            return file.map_or(Ok(0), |file| file.read(buffer));
        }
        let count = self.read_at(buffer, self.at)?;
        self.at += count as u64;
        self.has_read(self.at);
        Ok(count)
    }
}

/// A file under this name, if there is one: opening anything else could wait for ever.
fn regular(path: &Path) -> Option<File> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    File::open(path).ok()
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

/// The header and the first record: what tells a file from all others.
fn beginning(front: &[u8]) -> Option<&[u8]> {
    let header = memchr::memchr(b'\n', front)? + 1;
    let record = memchr::memchr(b'\n', &front[header..]).map_or(front.len(), |end| header + end);
    // A record that is longer than the front is known by its front.
    (record < front.len() || front.len() == FRONT).then_some(&front[..record])
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
    use std::io::Write;

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
        // A file that was cut off loses its last line alone.
        let torn = format!("{}{}", file(A, &[1]), &n(2)[..9]);
        let joined = format!("{torn}\n{}{}", n(3), n(4));
        check("torn", &[(1, &torn), (0, &file(A, &[3, 4]))], &joined);
        check("alone", &[(0, &new)], &new);
        check("something else beside it", &[(1, "notes"), (0, &new)], &new);
        check("not a capture", &[(1, &old), (0, "> {}\n< {}\n")], "> {}\n< {}\n");
        check("empty", &[(1, &old), (0, "")], "");
    }

    /// Windows puts no file in the place of one that is open, as this does.
    #[cfg(unix)]
    #[test]
    fn files_that_come_later_are_read_too() {
        const A: &str = "{\"jrl\":1,\"at\":\"a\"}\n";
        let n = |numbers: std::ops::Range<u32>| {
            numbers.map(|number| format!("{{\"n\":{number},\"x\":1}}\n")).collect::<String>()
        };
        let folder = std::env::temp_dir().join(format!("sabir-rotated-{}-later", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let base = folder.join("s.jrl");
        let rotate = |text: &str| {
            for number in (1..OLDER).rev() {
                let _ = std::fs::rename(numbered(&base, ".", number), numbered(&base, ".", number + 1));
            }
            let _ = std::fs::rename(&base, numbered(&base, ".", 1));
            std::fs::write(&base, text).unwrap();
        };
        rotate(&format!("{A}{}", n(1..3)));
        let rotated = Rotated::open(&base).unwrap();
        let read = || {
            let mut bytes = vec![0; 1 << 16];
            let mut length = 0;
            loop {
                match rotated.read_at(&mut bytes[length..], length as u64).unwrap() {
                    0 => break String::from_utf8(bytes[..length].to_vec()).unwrap(),
                    count => length += count,
                }
            }
        };
        assert!(!rotated.extend(&base).unwrap(), "nothing has come");
        // Several at once, of which the last has no record yet.
        (3..6).for_each(|number| rotate(&format!("{A}{}", n(number..number + 1))));
        assert!(rotated.extend(&base).unwrap());
        assert!(!rotated.extend(&base).unwrap());
        assert_eq!(read(), format!("{A}{}", n(1..6)));
        // More than are kept.
        (6..20).for_each(|number| rotate(&format!("{A}{}", n(number..number + 1))));
        assert!(rotated.extend(&base).unwrap());
        let gap = String::from_utf8(GAP.to_vec()).unwrap();
        let whole = format!("{A}{}{gap}{}", n(1..6), n(10..20));
        assert_eq!(read(), whole);
        // Another session under the same name.
        let other = format!("{}{}", A.replace('a', "b"), n(1..3));
        std::fs::remove_file(&base).unwrap();
        std::fs::write(&base, &other).unwrap();
        assert!(rotated.extend(&base).unwrap());
        assert_eq!(read(), whole + &other);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_file_that_is_cut_off_goes_on_behind_a_gap() {
        const A: &str = "{\"jrl\":1,\"at\":\"a\"}\n";
        const B: &str = "{\"jrl\":1,\"at\":\"b\"}\n";
        let n = |numbers: std::ops::Range<u32>| {
            numbers.map(|number| format!("{{\"n\":{number},\"x\":1}}\n")).collect::<String>()
        };
        let cut = String::from_utf8(CUT.to_vec()).unwrap();
        let old = format!("{A}{}", n(1..9));
        let (short, other) = (format!("{A}{}", n(1..4)), format!("{B}{}", n(1..30)));
        // What is there afterwards, what comes then, and what is read of both.
        for (name, left, more, want) in [
            ("nothing is left", "", &*other, format!("{old}{cut}{other}")),
            ("some is left", &*short, "{\"n\":10}\n", format!("{old}{cut}{{\"n\":10}}\n")),
            ("in the middle of a line", &old[..old.len() - 5], "\n{}\n", format!("{old}{cut}\n{{}}\n")),
            ("another session, longer", &*other, "{}\n", format!("{old}{cut}{other}{{}}\n")),
            (
                "another session, shorter",
                &format!("{B}{}", n(1..2)),
                "{}\n",
                format!("{old}{cut}{B}{}{{}}\n", n(1..2)),
            ),
            ("it only grows", &old, "{}\n", format!("{old}{{}}\n")),
        ] {
            let file = std::env::temp_dir().join(format!("sabir-rotated-{}-cut.jrl", std::process::id()));
            std::fs::write(&file, &old).unwrap();
            let mut rotated = Rotated::newest(&file).unwrap();
            let mut text = String::new();
            rotated.read_to_string(&mut text).unwrap();
            // In place, as an editor or a shell does it.
            std::fs::write(&file, left).unwrap();
            assert_eq!(rotated.extend(&file).unwrap(), name != "it only grows", "{name}");
            rotated.read_to_string(&mut text).unwrap();
            std::fs::OpenOptions::new().append(true).open(&file).unwrap().write_all(more.as_bytes()).unwrap();
            rotated.extend(&file).unwrap();
            rotated.read_to_string(&mut text).unwrap();
            assert_eq!(text, want, "{name}");
            // Whoever reads by position gets what is still there, and never what has come in its place.
            let mut bytes = vec![0; old.len()];
            let count = rotated.read_at(&mut bytes, 0).unwrap();
            assert_eq!(&bytes[..count], &old.as_bytes()[..count], "{name}");
            std::fs::remove_file(&file).unwrap();
        }
    }

    /// Between two steps of a rotation there is no file, or an empty one.
    #[test]
    fn a_rotation_that_is_not_over_is_waited_for() {
        const A: &str = "{\"jrl\":1,\"at\":\"a\"}\n";
        for empty in [false, true] {
            let folder =
                std::env::temp_dir().join(format!("sabir-rotated-{}-between-{empty}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let base = folder.join("s.jrl");
            std::fs::write(numbered(&base, ".", 1), format!("{A}{{\"n\":1}}\n")).unwrap();
            if empty {
                std::fs::write(&base, "").unwrap();
            }
            let mut text = String::new();
            std::thread::scope(|scope| {
                let opened = scope.spawn(|| Rotated::open(&base));
                // Where there is no file, it comes whole; an empty one is written by whoever has made it.
                let new = if empty { base.clone() } else { folder.join("new") };
                std::fs::write(&new, format!("{A}{{\"n\":2}}\n")).unwrap();
                if !empty {
                    std::fs::rename(&new, &base).unwrap();
                }
                opened.join().unwrap().unwrap().read_to_string(&mut text).unwrap();
            });
            std::fs::remove_dir_all(&folder).unwrap();
            assert_eq!(text, format!("{A}{{\"n\":1}}\n{{\"n\":2}}\n"), "{empty}");
        }
    }
}
