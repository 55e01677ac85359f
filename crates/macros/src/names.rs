//! How names are spelt on the wire.

use syn::{Error, LitStr, Result};

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Spelling {
    /// As in Rust.
    #[default]
    Snake,
    Camel,
    Pascal,
    Kebab,
}

impl Spelling {
    pub(crate) fn parse(text: &LitStr) -> Result<Self> {
        match text.value().as_str() {
            "snake_case" => Ok(Spelling::Snake),
            "camelCase" => Ok(Spelling::Camel),
            "PascalCase" => Ok(Spelling::Pascal),
            "kebab-case" => Ok(Spelling::Kebab),
            _ => Err(Error::new(text.span(), "expected camelCase, PascalCase, kebab-case or snake_case")),
        }
    }

    pub(crate) fn spell(self, name: &str) -> String {
        match self {
            Spelling::Snake => name.to_owned(),
            Spelling::Kebab => name.replace('_', "-"),
            Spelling::Camel | Spelling::Pascal => {
                let words = name.split('_').filter(|word| !word.is_empty()).enumerate();
                words
                    .map(
                        |(i, word)| {
                            if i == 0 && self == Spelling::Camel { word.to_owned() } else { capital(word) }
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
