//! `--ignore`: what is different each time, and so is not compared.

use std::collections::HashSet;
use std::str::FromStr;

use sabir_model::filter::JsonPath;

/// One rule: a path into a message, or a method.
#[derive(Debug, Clone)]
pub(crate) enum IgnoreRule {
    Path(JsonPath),
    /// The name of a method; `*` at its end stands for anything.
    Method(String),
}

impl FromStr for IgnoreRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Err("write a path such as $.result.time, or a method".to_owned()),
            path if path.starts_with('$') => path
                .parse()
                .map(IgnoreRule::Path)
                .map_err(|error: sabir_model::filter::PathError| error.to_string()),
            method => Ok(IgnoreRule::Method(method.to_owned())),
        }
    }
}

/// All rules.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ignore {
    paths: Vec<JsonPath>,
    methods: Vec<String>,
}

impl Ignore {
    pub(crate) fn new(rules: &[IgnoreRule]) -> Self {
        let mut ignore = Ignore::default();
        for rule in rules {
            match rule {
                IgnoreRule::Path(path) => ignore.paths.push(path.clone()),
                IgnoreRule::Method(method) => ignore.methods.push(method.clone()),
            }
        }
        ignore
    }

    /// Whether messages of this method are not compared.
    pub(crate) fn has_method(&self, method: &str) -> bool {
        self.methods.iter().any(|rule| match rule.strip_suffix('*') {
            Some(start) => method.starts_with(start),
            None => method == rule,
        })
    }

    /// The addresses of the values in `text` that are not compared. `text` is valid JSON.
    pub(super) fn addresses(&self, text: &str, out: &mut HashSet<usize>) {
        let mut spans = Vec::new();
        self.paths.iter().for_each(|path| path.spans(text, &mut spans));
        out.extend(spans.iter().map(|span| text.as_ptr().addr() + span.start));
    }
}
