//! Names that may become labels and names of spans.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Names, and bytes of each.
const MOST: usize = 256;
const LONGEST: usize = 128;

/// Names that a service has shown to have, by a result: a stranger can ask for anything, but not be answered. For services
/// whose methods nobody lists, such as one behind a tap.
#[derive(Debug, Default)]
pub(crate) struct KnownNames(Mutex<BTreeSet<String>>);

impl KnownNames {
    /// Whether a name is known, once it was answered as `answered` says.
    pub(crate) fn learn(&self, name: &str, answered: bool) -> bool {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.contains(name) {
            return true;
        }
        let learns = answered && names.len() < MOST && name.len() <= LONGEST;
        learns && names.insert(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_from_its_first_answer_on() {
        let names = KnownNames::default();
        assert!(!names.learn("add", false) && names.learn("add", true) && names.learn("add", false));
        assert!(!names.learn(&"x".repeat(LONGEST + 1), true));
        for number in 0..MOST * 2 {
            names.learn(&number.to_string(), true);
        }
        assert!(!names.learn("more", true) && names.learn("add", false));
    }
}
