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
    environment: impl Fn(&str) -> Result<Option<String>, Failure>,
) -> Result<String, Failure> {
    if variables == Variables::Literal {
        return Ok(text.to_owned());
    }
    crate::variables::fill(text, |name| match name {
        "workspaceFolder" => Ok(Some(workspace(place).display().to_string())),
        "userHome" => Ok(platform::home().map(|home| home.display().to_string())),
        _ if name.starts_with("input:") => {
            Err(Failure::usage(format_args!("only the editor can fill in `${{{name}}}`"))
                .hint("save the target in sabir.toml, with a variable of the environment"))
        }
        name => environment(name),
    })
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
    fn variables_of_editors_are_filled_in() {
        let environment = |name: &str| Ok((name == "A").then(|| "1".to_owned()));
        for (text, want) in [
            ("<${A}${env:A}>", Ok("<11>")),
            ("${B:-two}", Ok("two")),
            ("${workspaceFolder}/x", Ok("/work/x")),
            ("${B}", Err("the variable `B` is not set")),
            ("${input:key}", Err("only the editor can fill in `${input:key}`")),
        ] {
            let got = fill(text, Variables::Filled, Path::new("/work/.vscode"), environment);
            let got = got.map_err(|failure| failure.what);
            assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
        let literal = fill("${A}", Variables::Literal, Path::new("/"), environment);
        assert_eq!(literal.ok().as_deref(), Some("${A}"));
    }
}
