//! `--ignore`: what is different each time, and so is not compared.

use std::collections::HashSet;
use std::str::FromStr;

use sabir_model::filter::JsonPath;

/// One rule: a path into a message, or a method.
#[derive(Debug, Clone)]
pub(crate) enum IgnoreRule {
    Path(JsonPath),
    /// The name of a method, or of a tool, prompt or resource; `*` at its end stands for anything.
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
            // A path without its `$` would be a method that nobody has.
            path if ["result.", "params.", "error."].iter().any(|start| path.starts_with(start)) => {
                Err(format!("a path begins with `$`: write $.{path}"))
            }
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

    /// Whether messages of this name are not compared: a method, and the tool or what else it names behind a space.
    pub(crate) fn has_method(&self, name: &str) -> bool {
        self.methods.iter().any(|rule| is_named(rule, name))
    }

    /// The rules for methods and tools of which none of these names has anything.
    pub(crate) fn unused<'n>(&self, names: impl Iterator<Item = &'n str>) -> Vec<&str> {
        let mut unused: Vec<&str> = self.methods.iter().map(String::as_str).collect();
        for name in names {
            if unused.is_empty() {
                break;
            }
            unused.retain(|rule| !is_named(rule, name));
        }
        unused
    }

    /// The addresses of the values in `text` that are not compared. `text` is valid JSON.
    pub(super) fn addresses(&self, text: &str, out: &mut HashSet<usize>) {
        let mut spans = Vec::new();
        self.paths.iter().for_each(|path| path.spans(text, &mut spans));
        out.extend(spans.iter().map(|span| text.as_ptr().addr() + span.start));
    }
}

/// Whether a name, which is a method and perhaps a tool behind a space, is meant by a word.
pub(crate) fn is_named(word: &str, name: &str) -> bool {
    let is_it = |name: &str| match word.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == word,
    };
    let (method, tool) = name.split_once(' ').map_or((name, None), |(method, tool)| (method, Some(tool)));
    is_it(method) || tool.is_some_and(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_methods_and_tools() {
        let rules = ["tools/list", "get-sum", "window/*", "nobody"].map(|rule| rule.parse().expect("a rule"));
        let ignore = Ignore::new(&rules);
        let names =
            ["tools/call get-sum", "tools/call echo", "window/showMessage", "tools/list", "get-summary"];
        assert_eq!(names.map(|name| ignore.has_method(name)), [true, false, true, true, false]);
        assert_eq!(ignore.unused(names.into_iter()), ["nobody"]);
        let told = "result.content".parse::<IgnoreRule>().map(drop);
        assert_eq!(told, Err("a path begins with `$`: write $.result.content".to_owned()));
    }
}
