//! Arguments checked against the schema that a tool is listed with, before they are read. With the feature `validate`;
//! without it the types alone decide.

#[cfg(not(feature = "validate"))]
pub(crate) use unchecked::ArgumentCheck;
#[cfg(feature = "validate")]
pub(crate) use validated::ArgumentCheck;

#[cfg(not(feature = "validate"))]
mod unchecked {
    use sabir::RawJson;

    pub(crate) struct ArgumentCheck;

    impl ArgumentCheck {
        pub(crate) fn none() -> Self {
            ArgumentCheck
        }

        pub(crate) fn new(_: &RawJson<'_>, _: bool) -> Result<Self, String> {
            Ok(ArgumentCheck)
        }

        pub(crate) fn run(&self, _: Option<&RawJson<'_>>) -> Result<(), String> {
            Ok(())
        }
    }
}

#[cfg(feature = "validate")]
mod validated {
    use std::sync::OnceLock;

    use jsonschema::{Draft, Validator};
    use sabir::RawJson;
    use serde_json::Value;

    use super::super::accepted_values;

    /// Violations that are reported: arguments can have as many as they are long.
    const MOST_VIOLATIONS: usize = 8;

    pub(crate) struct ArgumentCheck {
        schema: RawJson<'static>,
        /// Made when it is first needed: most servers are started more often than each tool is called. `None`: the
        /// schema of a type that cannot be compiled checks nothing, since the type itself is read afterwards.
        made: OnceLock<Option<Validator>>,
    }

    impl ArgumentCheck {
        /// Everything fits.
        pub(crate) fn none() -> Self {
            ArgumentCheck { schema: RawJson::NULL, made: OnceLock::from(None) }
        }

        /// A schema that somebody wrote by hand is compiled at once: a mistake in it shows at the start.
        pub(crate) fn new(schema: &RawJson<'static>, by_hand: bool) -> Result<Self, String> {
            let check = ArgumentCheck { schema: schema.clone(), made: OnceLock::new() };
            if by_hand {
                let validator = compiled(schema)?;
                check.made.get_or_init(|| Some(validator));
            }
            Ok(check)
        }

        /// The error names each argument that does not fit by its path.
        pub(crate) fn run(&self, arguments: Option<&RawJson<'_>>) -> Result<(), String> {
            let Some(validator) = self.made.get_or_init(|| compiled(&self.schema).ok()) else {
                return Ok(());
            };
            let arguments: Value = match arguments {
                Some(arguments) => arguments.parse().map_err(|error| crate::error::reason(&error))?,
                None => Value::Object(serde_json::Map::new()),
            };
            if validator.is_valid(&arguments) {
                return Ok(());
            }
            let mut schema = None;
            let violations: Vec<_> = validator
                .iter_errors(&arguments)
                .take(MOST_VIOLATIONS)
                .map(|error| {
                    let path = error.instance_path().to_string();
                    // Values are left out: they may be as large as the message.
                    let listed =
                        accepted_values::explained(schema.get_or_insert_with(|| self.parsed()), &error);
                    let reason = listed.unwrap_or_else(|| error.masked_with("the value").to_string());
                    let text = if path.is_empty() { reason } else { format!("{path}: {reason}") };
                    crate::error::shown(&text).into_owned()
                })
                .collect();
            Err(violations.join("; "))
        }

        fn parsed(&self) -> Value {
            self.schema.parse().unwrap_or_default()
        }
    }

    fn compiled(schema: &RawJson<'_>) -> Result<Validator, String> {
        let schema: Value = schema.parse().map_err(|error: serde_json::Error| error.to_string())?;
        jsonschema::options().with_draft(Draft::Draft202012).build(&schema).map_err(|error| error.to_string())
    }
}
