//! The taps that run now and have a page: each leaves a note in a folder of the user's, for as long as it runs.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::platform::{hold, is_held, private_folder, state_folder};

/// Bytes of a note that are read, and notes.
const LONGEST: u64 = 64 << 10;
const MOST: usize = 256;

/// A tap, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tap {
    pub(crate) pid: u32,
    /// Of its page, with the token.
    pub(crate) url: String,
    /// The file that it records to.
    pub(crate) record: PathBuf,
    /// The command, or the address of the server.
    pub(crate) target: String,
}

fn folder() -> Option<PathBuf> {
    state_folder().map(|folder| folder.join("sabir/taps"))
}

/// A note that is there until this is dropped.
pub(crate) struct Noted {
    path: PathBuf,
    /// Held: it shows that the process runs.
    _file: File,
}

impl Drop for Noted {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Leaves a note.
pub(crate) fn note(tap: &Tap) -> io::Result<Noted> {
    let folder = folder().ok_or(io::ErrorKind::NotFound)?;
    private_folder(&folder)?;
    let path = folder.join(format!("{}.json", tap.pid));
    // Of a process that had this number before.
    let _ = std::fs::remove_file(&path);
    let mut file = hold(&path)?;
    file.write_all(&serde_json::to_vec(tap)?)?;
    Ok(Noted { path, _file: file })
}

/// Where a tap records to that is not told where.
pub(crate) fn temporary_record(pid: u32) -> io::Result<PathBuf> {
    let folder = folder().ok_or(io::ErrorKind::NotFound)?;
    private_folder(&folder)?;
    let path = folder.join(format!("{pid}.jrl"));
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(path),
    }
}

/// The taps that run. What others have left behind is removed.
pub(crate) fn running() -> Vec<Tap> {
    folder().map_or(Vec::new(), |folder| running_in(&folder))
}

fn running_in(folder: &Path) -> Vec<Tap> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut taps = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|extension| extension != "json") || taps.len() >= MOST {
            continue;
        }
        if !is_held(&path) {
            let _ = std::fs::remove_file(path.with_extension("jrl"));
            let _ = std::fs::remove_file(&path);
            continue;
        }
        taps.extend(read(&path));
    }
    taps.sort_by_key(|tap| tap.pid);
    taps
}

/// A note may be in the making.
fn read(path: &Path) -> Option<Tap> {
    use io::Read;
    let mut text = Vec::new();
    File::open(path).ok()?.take(LONGEST).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn notes_of_processes_that_have_ended_are_removed() {
        let folder = std::env::temp_dir().join(format!("sabir-taps-{}", std::process::id()));
        private_folder(&folder).unwrap();
        let tap = |pid| {
            let (url, target) = ("http://127.0.0.1:1/#t=x".to_owned(), "x".to_owned());
            Tap { pid, url, record: PathBuf::from("r.jrl"), target }
        };
        let mut held = hold(&folder.join("7.json")).unwrap();
        held.write_all(&serde_json::to_vec(&tap(7)).unwrap()).unwrap();
        std::fs::write(folder.join("8.json"), serde_json::to_vec(&tap(8)).unwrap()).unwrap();
        std::fs::write(folder.join("8.jrl"), "").unwrap();
        assert_eq!(running_in(&folder), [tap(7)]);
        assert!(!folder.join("8.json").exists() && !folder.join("8.jrl").exists());
        drop(held);
        assert_eq!(running_in(&folder), []);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
