//! What a schema accepts where it lists that: the values of an enum, or the tags of an enum whose variants have members.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

/// Why a value is not accepted by a list, in words that name what is. Nothing if the schema lists nothing.
pub(crate) fn explained(schema: &Value, error: &ValidationError<'_>) -> Option<String> {
    let listed = schema.pointer(error.schema_path().as_str())?.as_array()?;
    let context = match error.kind() {
        ValidationErrorKind::Enum { .. } => return Some(format!("the value must be {}", one_of(listed)?)),
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context } => context,
        _ => return None,
    };
    // That it may be left out is not a value to name.
    let is_null =
        |branch: &Value| branch["type"] == "null" || branch.get("const").is_some_and(Value::is_null);
    let branches: Vec<&Value> = listed.iter().filter(|branch| !is_null(branch)).collect();
    if let Some(values) = branches.iter().map(|branch| values(branch)).collect::<Option<Vec<_>>>() {
        return Some(format!("the value must be {}", one_of(values.concat())?));
    }
    let members = branches.first()?["properties"].as_object()?;
    let tags = |name: &str| -> Option<Vec<&Value>> {
        let tags = branches.iter().map(|branch| values(&branch["properties"][name]));
        tags.collect::<Option<Vec<_>>>().map(|tags| tags.concat())
    };
    let (name, tags) = members.keys().find_map(|name| Some((name, tags(name)?)))?;
    let given = error.instance().get(name);
    let chosen = listed.iter().position(|branch| {
        values(&branch["properties"][name]).is_some_and(|tags| tags.iter().any(|tag| Some(*tag) == given))
    });
    match chosen {
        // The variant is known, and something else in it is wrong.
        Some(chosen) => context.get(chosen)?.first().map(|inner| {
            let (path, reason) = (inner.instance_path().as_str(), inner.masked_with("the value"));
            match path.is_empty() || path == error.instance_path().as_str() {
                true => reason.to_string(),
                false => format!("`{path}`: {reason}"),
            }
        }),
        None => Some(format!("`{name}` must be {}", one_of(tags)?)),
    }
}

/// The values that a schema accepts, if it lists them.
fn values(schema: &Value) -> Option<Vec<&Value>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(one), _) => Some(vec![one]),
        (None, Some(Value::Array(listed))) => Some(listed.iter().collect()),
        _ => None,
    }
}

fn one_of<'v>(values: impl IntoIterator<Item = &'v Value>) -> Option<String> {
    let words: Vec<String> =
        values.into_iter().filter(|value| !value.is_null()).map(Value::to_string).collect();
    match words.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(format!("one of {}", words.join(", "))),
    }
}
