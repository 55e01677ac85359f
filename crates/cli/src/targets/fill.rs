//! Fills variables into what a file says.

use std::path::Path;

use crate::exit::Failure;
use crate::platform;

/// Which variables a file can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Variables {
    /// None: text is taken as it is.
    Literal,
    /// `${NAME}` and `${NAME:-otherwise}`, and `${env:NAME}` and the folders of editors.
    Filled,
}

/// The text with its variables filled in. `place` is the folder of the file.
pub(super) fn fill(
    text: &str,
    variables: Variables,
    place: &Path,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, Failure> {
    if variables == Variables::Literal {
        return Ok(text.to_owned());
    }
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, after)) = after.split_once('}') else {
            return Err(Failure::usage("`${` is not closed"));
        };
        filled.push_str(before);
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        let value = match name {
            "workspaceFolder" => Some(workspace(place).display().to_string()),
            "userHome" => platform::home().map(|home| home.display().to_string()),
            _ if name.starts_with("input:") => {
                return Err(Failure::usage(format_args!("only the editor can fill in `${{{name}}}`"))
                    .hint("save the target in sabir.toml, with a variable of the environment"));
            }
            name => variable(name.strip_prefix("env:").unwrap_or(name)),
        };
        match value.or_else(|| otherwise.map(str::to_owned)) {
            Some(value) => filled.push_str(value.trim_end_matches(['\r', '\n'])),
            None => {
                let name = name.strip_prefix("env:").unwrap_or(name);
                return Err(Failure::usage(format_args!("the variable `{name}` is not set"))
                    .hint(format_args!("set it, as in: export {name}=…")));
            }
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The folder that an editor has open: files of its own are in a folder below.
fn workspace(place: &Path) -> &Path {
    let is_hidden = place.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    place.parent().filter(|_| is_hidden).unwrap_or(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in() {
        let variable = |name: &str| (name == "A").then(|| "1\n".to_owned());
        for (text, want) in [
            ("plain $A", Ok("plain $A")),
            ("<${A}${env:A}>", Ok("<11>")),
            ("${B:-two}", Ok("two")),
            ("${A:-two}", Ok("1")),
            ("${workspaceFolder}/x", Ok("/work/x")),
            ("${B}", Err("the variable `B` is not set")),
            ("${A", Err("`${` is not closed")),
            ("${input:key}", Err("only the editor can fill in `${input:key}`")),
        ] {
            let got = fill(text, Variables::Filled, Path::new("/work/.vscode"), variable);
            let got = got.map_err(|failure| failure.what);
            assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
        let literal = fill("${A}", Variables::Literal, Path::new("/"), variable);
        assert_eq!(literal.ok().as_deref(), Some("${A}"));
    }
}
