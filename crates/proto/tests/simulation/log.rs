//! What is said of a seed, in one line for each thing that happened, if somebody wants to read it.

#[derive(Default)]
pub(crate) struct Log(Option<Vec<String>>);

impl Log {
    pub(crate) fn new(wanted: bool) -> Self {
        Log(wanted.then(Vec::new))
    }

    pub(crate) fn say(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.0 {
            lines.push(line());
        }
    }

    pub(crate) fn lines(self) -> Vec<String> {
        self.0.unwrap_or_default()
    }
}
