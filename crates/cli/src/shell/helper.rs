//! What helps while a line is typed: completion, the params of a method, lines that go on.

use std::borrow::Cow;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::{Hint, Hinter};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use super::commands::COMMANDS;
use super::known::Known;
use super::words::{Unfinished, words};
use crate::paint::{Paint, Painter};

pub(super) struct ShellHelper {
    pub(super) known: Known,
    pub(super) painter: Painter,
    pub(super) files: FilenameCompleter,
}

impl Helper for ShellHelper {}

impl Completer for ShellHelper {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, ctx: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        match completion(&line[..pos], &self.known) {
            Completion::File => self.files.complete(line, pos, ctx),
            Completion::Words(words) => {
                let pair = |text: String| Pair { display: text.trim_end().to_owned(), replacement: text };
                Ok((start_of_word(&line[..pos]), words.into_iter().map(pair).collect()))
            }
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Completion {
    Words(Vec<String>),
    File,
}

fn start_of_word(text: &str) -> usize {
    text.rfind(char::is_whitespace).map_or(0, |at| at + 1)
}

/// What the last word of a line may become.
fn completion(text: &str, known: &Known) -> Completion {
    let start = start_of_word(text);
    let (before, word) = text.split_at(start);
    let before: Vec<&str> = before.split_whitespace().collect();
    let followed = |names: Vec<String>| names.into_iter().map(|name| format!("{name} ")).collect();
    let commands = || COMMANDS.iter().map(|(name, ..)| *name).filter(|name| name.starts_with(word));
    Completion::Words(match before.as_slice() {
        [] if word.starts_with('.') => followed(commands().map(str::to_owned).collect()),
        [] => followed(known.names(word)),
        [".help"] => known.names(word),
        [".notify"] => followed(known.names(word)),
        [method, ..] | [".notify", method, ..] if method.starts_with("textDocument/") => {
            return Completion::File;
        }
        [".notify", method, given @ ..] | [method, given @ ..] => {
            let is_given = |name: &str| given.iter().any(|word| word.split([':', '=']).next() == Some(name));
            let params = known.params(method).into_iter();
            params
                .filter(|param| param.name.starts_with(word) && !is_given(&param.name))
                .map(|param| format!("{}{}", param.name, if param.is_text { "=" } else { ":=" }))
                .collect()
        }
    })
}

/// The params that a method has, behind its name.
pub(super) struct Signature(String);

impl Hint for Signature {
    fn display(&self) -> &str {
        &self.0
    }

    fn completion(&self) -> Option<&str> {
        None
    }
}

impl Hinter for ShellHelper {
    type Hint = Signature;

    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<Signature> {
        let method = line.strip_suffix(' ').filter(|method| pos == line.len() && !method.contains(' '))?;
        let params = self.known.params(method);
        let params: Vec<String> = params
            .into_iter()
            .map(|param| match param.required {
                true => param.name,
                false => format!("[{}]", param.name),
            })
            .collect();
        (!params.is_empty()).then(|| Signature(params.join(" ")))
    }
}

impl Highlighter for ShellHelper {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        let mut out = String::new();
        self.painter.paint(&mut out, Paint::Why, hint);
        Cow::Owned(out)
    }
}

impl Validator for ShellHelper {
    fn validate(&self, ctx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match words(ctx.input()) {
            Err(Unfinished) => ValidationResult::Incomplete,
            Ok(_) => ValidationResult::Valid(None),
        })
    }
}

#[cfg(test)]
mod tests {
    use sabir::openrpc::Document;
    use serde_json::json;

    use super::*;
    use crate::discovery::{Discovered, DiscoverySource};

    #[test]
    fn names_and_params_are_completed() {
        let param =
            |name: &str, kind: &str| json!({"name": name, "schema": {"type": kind}, "required": true});
        let document = json!({
            "openrpc": "1.3.2",
            "info": {"title": "t", "version": "1"},
            "methods": [
                {"name": "add", "params": [param("a", "number"), param("b", "number")]},
                {"name": "address", "params": [param("name", "string")]},
                {"name": "textDocument/hover", "params": []},
            ],
        });
        let document = Document::from_json(&document.to_string()).expect("a document");
        let (source, via) = ("t".to_owned(), DiscoverySource::Discover);
        let known = Known::default();
        known.set(Some(Discovered { source, via, document, offers: Vec::new(), text: None }));
        for (text, want) in [
            ("ad", vec!["add ", "address "]),
            ("add ", vec!["a:=", "b:="]),
            ("add a:=1 ", vec!["b:="]),
            ("address n", vec!["name="]),
            ("none ", vec![]),
            (".no", vec![".notify "]),
            (".notify addr", vec!["address "]),
            (".notify address ", vec!["name="]),
            (".help add", vec!["add", "address"]),
        ] {
            let want = Completion::Words(want.into_iter().map(str::to_owned).collect());
            assert_eq!(completion(text, &known), want, "{text}");
        }
        assert_eq!(completion("textDocument/hover ma", &known), Completion::File);
    }
}
