//! How names are spelt on the wire.

use syn::{Error, LitStr, Result};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum NameCase {
    /// As in Rust.
    #[default]
    Snake,
    Camel,
    Pascal,
    Kebab,
}

impl NameCase {
    pub(crate) fn parse(text: &LitStr) -> Result<Self> {
        match text.value().as_str() {
            "snake_case" => Ok(NameCase::Snake),
            "camelCase" => Ok(NameCase::Camel),
            "PascalCase" => Ok(NameCase::Pascal),
            "kebab-case" => Ok(NameCase::Kebab),
            _ => Err(Error::new(text.span(), "expected camelCase, PascalCase, kebab-case or snake_case")),
        }
    }

    pub(crate) fn spell(self, name: &str) -> String {
        match self {
            NameCase::Snake => name.to_owned(),
            NameCase::Kebab => name.replace('_', "-"),
            NameCase::Camel | NameCase::Pascal => {
                let words = name.split('_').filter(|word| !word.is_empty()).enumerate();
                words
                    .map(
                        |(i, word)| {
                            if i == 0 && self == NameCase::Camel { word.to_owned() } else { capital(word) }
                        },
                    )
                    .collect()
            }
        }
    }
}

/// The name with its first letter large.
fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
