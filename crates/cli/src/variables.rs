//! `${NAME}` in headers and in files of targets.

use crate::exit::Failure;

/// The text with its variables replaced: `${NAME}`, and `${NAME:-otherwise}` for one that may not be set. `${env:NAME}`
/// is the same, as editors write it. A value is not searched for variables.
pub(crate) fn fill(
    text: &str,
    lookup: impl Fn(&str) -> Result<Option<String>, Failure>,
) -> Result<String, Failure> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, after)) = after.split_once('}') else {
            return Err(Failure::usage("`${` is not closed"));
        };
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        // Other names are not variables, but text for a shell that a hint would repeat.
        if !is_name(name) && !name.starts_with("input:") {
            return Err(Failure::usage(format_args!("`${{{name}}}` is not a variable"))
                .hint("a name has letters, digits and `_`"));
        }
        filled.push_str(before);
        match (lookup(name)?, otherwise) {
            (Some(value), _) => filled.push_str(&value),
            (None, Some(otherwise)) => filled.push_str(otherwise),
            (None, None) => {
                return Err(Failure::usage(format_args!("the variable `{name}` is not set"))
                    .hint(format_args!("set it, as in: export {name}=…")));
            }
        }
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

fn is_name(name: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_word)
}

/// A variable of the environment, without the line end that a file of secrets may have left in it.
pub(crate) fn environment(name: &str) -> Result<Option<String>, Failure> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value.trim_end_matches(['\r', '\n']).to_owned())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::usage(format_args!("the variable `{name}` is not UTF-8")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in() {
        let lookup = |name: &str| match name {
            "A" => Ok(Some("1".to_owned())),
            "N" => Ok(Some("${A}".to_owned())),
            "Z" => Err(Failure::usage("the variable `Z` is not UTF-8")),
            _ => Ok(None),
        };
        for (text, want) in [
            ("plain $A", Ok("plain $A")),
            ("<${A}${env:A}> $A", Ok("<11> $A")),
            ("${N}", Ok("${A}")),
            ("${B:-two}", Ok("two")),
            ("${A:-two}", Ok("1")),
            ("${B}", Err("the variable `B` is not set")),
            ("${env:B}", Err("the variable `B` is not set")),
            ("${Z:-two}", Err("the variable `Z` is not UTF-8")),
            ("${A", Err("`${` is not closed")),
            ("${A=1; touch x #}", Err("`${A=1; touch x #}` is not a variable")),
            ("${1:-two}", Err("`${1}` is not a variable")),
            ("${}", Err("`${}` is not a variable")),
        ] {
            let got = fill(text, lookup).map_err(|failure| failure.what);
            assert_eq!(got, want.map(str::to_owned).map_err(str::to_owned), "{text}");
        }
    }
}
