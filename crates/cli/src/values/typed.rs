//! Arguments, typed by the schemas of the parameters.

use sabir::RawJson;
use serde_json::Value as Json;

use super::{Arg, Arguments, Parameter, Value, params, string};
use crate::complete::is_plain;
use crate::exit::Failure;
use crate::platform::word;
use crate::suggest;

/// Values of an enumeration, and parameters, that a message names.
const NAMED: usize = 12;

impl Arguments {
    /// The params as an object: what is by position gets its name, and everything the type that its schema wants.
    /// `of` is what is called.
    pub(crate) fn typed(&self, of: &str, known: &[Parameter]) -> Result<Option<RawJson<'static>>, Failure> {
        if self.data.is_some() {
            return self.named();
        }
        let mut values: Vec<(Option<&str>, String)> = Vec::new();
        let mut by_position = known.iter();
        for arg in &self.args {
            let parameter = match &arg.name {
                Some(name) => known.iter().find(|parameter| parameter.name == *name),
                None => Some(by_position.next().ok_or_else(|| {
                    let count = match known.len() {
                        0 => "no arguments".to_owned(),
                        1 => "one argument".to_owned(),
                        more => format!("{more} arguments"),
                    };
                    Failure::usage(format_args!("`{of}` takes {count}")).hint(usage(of, known))
                })?),
            };
            let (name, json) = match (parameter, arg.name.as_deref()) {
                (Some(parameter), _) => (parameter.name.as_str(), arg.fit(parameter)?),
                (None, name) => (name.unwrap_or_default(), arg.json()),
            };
            if values.iter().any(|(taken, _)| *taken == Some(name)) {
                return Err(Failure::usage(format_args!("the argument `{name}` is given twice")));
            }
            values.push((Some(name), json));
        }
        let missing = known.iter().find(|parameter| {
            parameter.required && !values.iter().any(|(name, _)| *name == Some(&parameter.name))
        });
        if let Some(missing) = missing {
            let names = known.iter().map(|parameter| parameter.name.as_str());
            let unknown =
                values.iter().filter_map(|(name, _)| *name).find(|name| !names.clone().any(|n| n == *name));
            let failure = Failure::usage(format_args!("the argument `{}` is missing", missing.name));
            // What is given already was not meant.
            let left = names.filter(|known| !values.iter().any(|(name, _)| *name == Some(*known)));
            return Err(match unknown.and_then(|typed| Some((typed, suggest::nearest(typed, left)?))) {
                Some((typed, near)) => {
                    failure.hint(format_args!("there is no `{typed}`; did you mean `{near}`?"))
                }
                None => failure.hint(usage(of, known)),
            });
        }
        params(values)
    }

    /// What does not fit the parameters, in words: a wrong type, one that is missing, a name that they do not have.
    pub(crate) fn mismatch(&self, of: &str, known: &[Parameter]) -> Option<String> {
        if let Err(failure) = self.typed(of, known) {
            return Some(match failure.hint {
                Some(hint) => format!("{}; {hint}", failure.what),
                None => failure.what,
            });
        }
        let is_known = |name: &str| known.iter().any(|parameter| parameter.name == name);
        let given = || self.args.iter().filter_map(|arg| arg.name.as_deref());
        let unknown = given().find(|name| !is_known(name))?;
        let left = known.iter().map(|parameter| parameter.name.as_str());
        let left = left.filter(|known| !given().any(|name| name == *known));
        Some(match suggest::nearest(unknown, left) {
            Some(near) => format!("there is no argument `{unknown}`; did you mean `{near}`?"),
            None => format!("there is no argument `{unknown}`; {}", usage(of, known)),
        })
    }
}

/// How to call it.
fn usage(of: &str, known: &[Parameter]) -> String {
    let shown = |parameter: &Parameter| {
        let kinds = &parameter.kinds;
        let kind = if kinds.is_empty() { "VALUE".to_owned() } else { kinds.join("|").to_uppercase() };
        let text = format!("{}={kind}", quoted(&parameter.name));
        if parameter.required { text } else { format!("[{text}]") }
    };
    let words: Vec<String> = known.iter().take(NAMED).map(shown).collect();
    let (of, more) = (quoted(of), if known.len() > NAMED { " …" } else { "" });
    match words.is_empty() {
        true => format!("write it as: {of}"),
        false => format!("write it as: {of} {}{more}", words.join(" ")),
    }
}

/// A name as one word of a shell: a server chooses it.
fn quoted(name: &str) -> String {
    if is_plain(name) { name.to_owned() } else { word(name) }
}

impl Arg {
    /// As JSON of the type that the schema wants.
    fn fit(&self, parameter: &Parameter) -> Result<String, Failure> {
        let Parameter { name, kinds, choices, .. } = parameter;
        let json = match &self.value {
            Value::Json(json) => json.clone(),
            Value::Text(text) => string(text),
            Value::Loose(text) => {
                let as_json = serde_json::from_str::<Json>(text).ok();
                let text_fits = kinds.is_empty() || kinds.contains(&"string");
                match as_json {
                    Some(json) if !json.is_string() && !text_fits && parameter.allows(&json) => text.clone(),
                    // Both fit: as it is without a schema.
                    Some(json) if parameter.allows(&json) => self.json(),
                    _ => string(text),
                }
            }
        };
        let value: Json = serde_json::from_str(&json).unwrap_or_default();
        if !parameter.allows(&value) {
            let wanted = kinds.join(" or ");
            let article = if wanted.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            let failure = Failure::usage(format_args!(
                "the argument `{name}` must be {article} {wanted}, found {json:.60}"
            ));
            return Err(match wanted.as_str() {
                "object" => failure.hint(format_args!("write it as {name}:='{{…}}'")),
                "array" => failure.hint(format_args!("write it as {name}:='[…]'")),
                _ => failure,
            });
        }
        if let Some(choices) = choices.as_ref().filter(|choices| !choices.contains(&value)) {
            let shown: Vec<String> = choices
                .iter()
                .take(NAMED)
                .map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned))
                .collect();
            let failure = Failure::usage(format_args!(
                "the argument `{name}` must be one of {}, found {json:.60}",
                shown.join(", ")
            ));
            let near =
                value.as_str().and_then(|text| suggest::nearest(text, shown.iter().map(String::as_str)));
            return Err(match near {
                Some(near) => failure.hint(format_args!("did you mean `{near}`?")),
                None => failure,
            });
        }
        Ok(json)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::values::parameters;

    fn known() -> Vec<Parameter> {
        parameters(&json!({
            "properties": {
                "a": {"type": "integer"},
                "s": {"type": "string"},
                "list": {"type": "array"},
                "any": {},
                "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "colour": {"type": "string", "enum": ["red", "green"]},
            },
            "required": ["a"],
        }))
    }

    fn check(args: &[&str], want: Result<&str, &str>) {
        let args: Vec<_> = args.iter().map(|&arg| arg.to_owned()).collect();
        let got = Arguments::parse(&args).and_then(|args| args.typed("paint", &known()));
        let got = got.map(|params| params.map_or(String::new(), |params| params.to_string()));
        assert_eq!(
            got.map_err(|failure| failure.what),
            want.map(str::to_owned).map_err(str::to_owned),
            "{args:?}"
        );
    }

    #[test]
    fn values_have_the_type_of_their_parameter() {
        check(&["a=2"], Ok(r#"{"a":2}"#));
        check(&["a=2.0", "s=7"], Ok(r#"{"a":2.0,"s":"7"}"#));
        check(&["2", "7"], Ok(r#"{"a":2,"s":"7"}"#));
        check(&["2", "hello"], Ok(r#"{"a":2,"s":"hello"}"#));
        check(&["2", "\"hello\""], Ok(r#"{"a":2,"s":"hello"}"#));
        check(&["a=1", "list=[1]", "any=1", "more=1"], Ok(r#"{"a":1,"list":[1],"any":"1","more":"1"}"#));
        check(&["a=1", "either=null"], Ok(r#"{"a":1,"either":"null"}"#));
        check(&["1", "s=x"], Ok(r#"{"a":1,"s":"x"}"#));
    }

    #[test]
    fn a_wrong_value_names_its_parameter() {
        check(&["a=x"], Err("the argument `a` must be an integer, found \"x\""));
        check(&["a:=1.5"], Err("the argument `a` must be an integer, found 1.5"));
        check(&["a=1", "list=x"], Err("the argument `list` must be an array, found \"x\""));
        check(
            &["a=1", "colour=gren"],
            Err("the argument `colour` must be one of red, green, found \"gren\""),
        );
        check(&["s=x"], Err("the argument `a` is missing"));
        for (args, want) in [
            (["a=1", "s=x"], None),
            (["a=x", "s=x"], Some("the argument `a` must be an integer, found \"x\"")),
            (["a=1", "colours=red"], Some("there is no argument `colours`; did you mean `colour`?")),
            (["s=x", "ss=1"], Some("the argument `a` is missing; write it as: paint a=INTEGER")),
        ] {
            let args = Arguments::parse(&args.map(str::to_owned)).expect("arguments");
            let got = args.mismatch("paint", &known());
            let fits = match (&got, want) {
                (Some(got), Some(want)) => got.starts_with(want),
                (got, want) => got.is_none() && want.is_none(),
            };
            assert!(fits, "{got:?}, not {want:?}");
        }
        check(&["1", "a=2"], Err("the argument `a` is given twice"));
        check(&["1", "2", "[]", "4", "5", "red", "7"], Err("`paint` takes 6 arguments"));
    }
}
