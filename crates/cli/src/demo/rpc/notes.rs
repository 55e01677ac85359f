//! The notes that `update` keeps.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sabir::RawJson;

/// Notes that are kept. The oldest make room for new ones.
const MOST_NOTES: usize = 1000;

/// Bytes of all notes together. One that is larger by itself is not kept.
const MOST_BYTES: usize = 1024 * 1024;

#[derive(Default)]
pub(crate) struct Notes(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    notes: VecDeque<RawJson<'static>>,
    bytes: usize,
}

impl Notes {
    pub(crate) fn add(&self, note: RawJson<'static>) {
        let size = note.as_str().len();
        if size > MOST_BYTES {
            return;
        }
        let mut kept = self.lock();
        while kept.notes.len() == MOST_NOTES || kept.bytes + size > MOST_BYTES {
            let Some(oldest) = kept.notes.pop_front() else { break };
            kept.bytes -= oldest.as_str().len();
        }
        kept.bytes += size;
        kept.notes.push_back(note);
    }

    pub(crate) fn all(&self) -> Vec<RawJson<'static>> {
        self.lock().notes.iter().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: String) -> RawJson<'static> {
        RawJson::new(text).expect("the case is JSON")
    }

    #[test]
    fn the_newest_notes_are_kept_within_bounds() {
        let notes = Notes::default();
        for i in 0..MOST_NOTES + 5 {
            notes.add(note(format!("[{i}]")));
        }
        let all = notes.all();
        assert_eq!((all.len(), all[0].as_str(), all[MOST_NOTES - 1].as_str()), (MOST_NOTES, "[5]", "[1004]"));

        notes.add(note(format!("[\"{}\"]", "x".repeat(MOST_BYTES - 10))));
        assert_eq!(notes.all().len(), 2, "a large note drives out the small ones but the last");
        notes.add(note(format!("[\"{}\"]", "x".repeat(MOST_BYTES))));
        assert_eq!(notes.all().len(), 2, "too large by itself");
    }
}
