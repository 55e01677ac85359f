//! What a file was before a tap was put into it. It is kept with the user's own state, not beside the file: a project's
//! folder is shared, and settings hold secrets.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::save;
use crate::exit::{Exit, Failure};
use crate::platform::state_folder;

/// Files of other entries that are looked through.
const MOST: usize = 1000;

pub(super) struct Backup {
    place: PathBuf,
    pub(super) before: String,
    pub(super) after: String,
}

fn folder() -> Result<PathBuf, Failure> {
    state_folder().map(|folder| folder.join("sabir").join("wrapped")).ok_or_else(|| {
        Failure::new(Exit::Connect, "there is no place for a backup")
            .hint("set the environment variable HOME")
    })
}

/// That of an entry of a file, if there is one.
pub(super) fn find(file: &Path, entry: &[String]) -> Option<Backup> {
    fs::read_dir(folder().ok()?).ok()?.take(MOST).find_map(|place| {
        let place = place.ok()?.path();
        let kept: Value = serde_json::from_str(&fs::read_to_string(&place).ok()?).ok()?;
        let text = |name: &str| kept.get(name)?.as_str().map(str::to_owned);
        let is_it = kept.get("file")?.as_str() == file.to_str() && kept.get("entry")? == &json!(entry);
        is_it.then_some(())?;
        Some(Backup { place, before: text("before")?, after: text("after")? })
    })
}

/// Keeps both texts. It takes the place of an older one of the same entry.
pub(super) fn keep(file: &Path, entry: &[String], before: &str, after: &str) -> Result<PathBuf, Failure> {
    let folder = folder()?;
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' };
    let name: String = entry.last().map_or("", String::as_str).chars().map(plain).take(64).collect();
    let numbered = |number: usize| match number {
        0 => folder.join(format!("{name}.json")),
        _ => folder.join(format!("{name}-{}.json", number + 1)),
    };
    let free = || (0..MOST).map(numbered).find(|place| !place.exists());
    let place = find(file, entry).map(|kept| kept.place).or_else(free);
    let text = json!({ "file": file, "entry": entry, "before": before, "after": after }).to_string();
    let kept = match place {
        None => Err(io::Error::other("there are too many")),
        Some(place) => save::own_folder(&folder)
            .and_then(|()| save::replace(&place, text.as_bytes(), None))
            .map(|()| place),
    };
    kept.map_err(|error| {
        Failure::new(Exit::Connect, format_args!("cannot keep a backup in {}: {error}", folder.display()))
    })
}

impl Backup {
    /// It is needed no longer.
    pub(super) fn remove(self) {
        // One that stays is replaced by the next of its entry.
        let _ = fs::remove_file(self.place);
    }
}
