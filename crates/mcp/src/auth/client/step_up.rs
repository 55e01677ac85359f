//! Wider scopes that a server asks for: which ones were asked for already, and how often for one operation.

use std::collections::{BTreeSet, HashMap};

use http::HeaderMap;

use crate::headers::{METHOD, NAME};

/// How often a wider scope is asked for until the server takes the token.
pub(super) const MOST_STEP_UPS: usize = 3;
/// Operations that are remembered because the server has not taken a token for them yet.
const MOST_OPERATIONS: usize = 256;

type Scopes = BTreeSet<String>;

/// What a request is for. Before 2026-07-28 no header says it: all requests are one operation then.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Operation {
    method: String,
    name: String,
}

impl Operation {
    pub(super) fn of(sent: &HeaderMap) -> Self {
        let text = |name: &str| sent.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        Operation { method: text(METHOD).to_owned(), name: text(NAME).to_owned() }
    }
}

/// The wider scopes of one login.
#[derive(Default)]
pub(super) struct StepUps {
    /// What the current token was asked for with, where that is known.
    current: Option<Scopes>,
    /// What was asked for in vain so far.
    asked: HashMap<Operation, Vec<Scopes>>,
}

/// Why no wider scope is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoStepUp {
    /// The server has been given a token for these scopes.
    Repeated,
    TooMany,
}

impl StepUps {
    /// Whether these scopes may be asked for. If so, they count.
    pub(super) fn begin(&mut self, operation: &Operation, scopes: &Scopes) -> Result<(), NoStepUp> {
        if self.asked.len() >= MOST_OPERATIONS && !self.asked.contains_key(operation) {
            self.asked.clear();
        }
        let asked = self.asked.entry(operation.clone()).or_default();
        if self.current.as_ref() == Some(scopes) || asked.contains(scopes) {
            return Err(NoStepUp::Repeated);
        }
        if asked.len() >= MOST_STEP_UPS {
            return Err(NoStepUp::TooMany);
        }
        asked.push(scopes.clone());
        Ok(())
    }

    /// A login for these scopes has given the current token.
    pub(super) fn granted(&mut self, scopes: Scopes) {
        self.current = Some(scopes);
    }

    /// The current token came in another way: what was asked for is not known.
    pub(super) fn replaced(&mut self) {
        self.current = None;
    }

    /// The server has taken the token: a later request may ask for more.
    pub(super) fn accepted(&mut self, operation: &Operation) {
        self.asked.remove(operation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(name: &str) -> Operation {
        Operation { method: "tools/call".to_owned(), name: name.to_owned() }
    }

    fn scopes(text: &str) -> Scopes {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn each_operation_has_its_limit() {
        let mut steps = StepUps::default();
        for wider in ["a b", "a b c", "a b c d"] {
            assert_eq!(steps.begin(&operation("one"), &scopes(wider)), Ok(()), "{wider}");
            steps.granted(scopes(wider));
        }
        assert_eq!(steps.begin(&operation("one"), &scopes("a b c d e")), Err(NoStepUp::TooMany));
        // What another operation asked for does not count, but what the token was got for does.
        assert_eq!(steps.begin(&operation("other"), &scopes("a b c d")), Err(NoStepUp::Repeated));
        assert_eq!(steps.begin(&operation("other"), &scopes("a b c")), Ok(()));
        steps.accepted(&operation("one"));
        assert_eq!(steps.begin(&operation("one"), &scopes("a b c d")), Err(NoStepUp::Repeated));
        assert_eq!(steps.begin(&operation("one"), &scopes("a b c d e")), Ok(()));
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut steps = StepUps::default();
        for number in 0..10 * MOST_OPERATIONS {
            assert_eq!(steps.begin(&operation(&number.to_string()), &scopes("a")), Ok(()));
            assert!(steps.asked.len() <= MOST_OPERATIONS);
        }
    }
}
