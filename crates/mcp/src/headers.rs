//! What a modern request says twice over HTTP, in its headers and in its body: how it is written into a
//! header, and whether both say the same. Knows nothing of HTTP but names and values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sabir::{ErrorObject, RawJson};
use serde_json::Value;

use crate::error::{header_mismatch, shown};

pub(crate) const PROTOCOL_VERSION: &str = "mcp-protocol-version";
pub(crate) const METHOD: &str = "mcp-method";
pub(crate) const NAME: &str = "mcp-name";
const PARAM: &str = "mcp-param-";
/// The word in a schema that asks for a header.
const KEYWORD: &str = "x-mcp-header";
/// Integers beyond this are not told apart by everybody.
const LARGEST: i64 = (1 << 53) - 1;

/// An argument that travels in a header too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// The keys that lead to it.
    path: Vec<String>,
    /// The name of the header, in lower case.
    header: String,
}

impl ParamHeader {
    /// The arguments of a tool that travel in headers; or what is wrong with how its schema asks for that.
    pub(crate) fn of(schema: &RawJson<'_>) -> Result<Vec<ParamHeader>, String> {
        if !schema.as_str().contains(KEYWORD) {
            return Ok(Vec::new());
        }
        let schema: Value = schema.parse().map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        walk(&schema, Some(&mut Vec::new()), &mut found)?;
        Ok(found)
    }

    fn value(&self, arguments: Option<&Value>) -> Result<Option<String>, String> {
        let mut value = arguments;
        for key in &self.path {
            value = value.and_then(|value| value.get(key));
        }
        match value {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Bool(flag)) => Ok(Some(flag.to_string())),
            Some(Value::Number(number)) => match whole(number) {
                Some(number) => Ok(Some(number.to_string())),
                None => Err(format!("`{}` must be an integer", self.path.join("."))),
            },
            Some(_) => Err(format!("`{}` cannot be sent in a header", self.path.join("."))),
        }
    }
}

/// An integer, also if it is spelt `5.0`.
fn whole(number: &serde_json::Number) -> Option<i64> {
    let float = |n: f64| (n.fract() == 0.0 && n.abs() <= LARGEST as f64).then_some(n as i64);
    number.as_i64().or_else(|| number.as_f64().and_then(float)).filter(|n| n.abs() <= LARGEST)
}

/// Looks for the keyword. `path` leads here by the names of properties; `None` where something else does.
fn walk(schema: &Value, path: Option<&mut Vec<String>>, found: &mut Vec<ParamHeader>) -> Result<(), String> {
    let schema = match schema {
        Value::Object(schema) => schema,
        Value::Array(schemas) => return schemas.iter().try_for_each(|schema| walk(schema, None, found)),
        _ => return Ok(()),
    };
    let mut path = path;
    if let Some(name) = schema.get(KEYWORD) {
        let path = path.as_ref().filter(|path| !path.is_empty());
        let path = path.ok_or_else(|| format!("`{KEYWORD}` is not on a plain property"))?;
        found.push(asked_for(name, schema.get("type"), path, found)?);
    }
    for (keyword, value) in schema {
        match (keyword.as_str(), value, &mut path) {
            ("default" | "const" | "enum" | "examples", ..) => {}
            ("properties", Value::Object(properties), Some(path)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    walk(property, Some(path), found)?;
                    path.pop();
                }
            }
            (
                "properties" | "$defs" | "patternProperties" | "dependentSchemas",
                Value::Object(schemas),
                _,
            ) => {
                schemas.values().try_for_each(|schema| walk(schema, None, found))?;
            }
            _ => walk(value, None, found)?,
        }
    }
    Ok(())
}

fn asked_for(
    name: &Value,
    kind: Option<&Value>,
    path: &[String],
    found: &[ParamHeader],
) -> Result<ParamHeader, String> {
    let name = name.as_str().filter(|name| is_token(name));
    let name =
        name.ok_or_else(|| format!("`{KEYWORD}` of `{}` is not a valid header name", path.join(".")))?;
    let kind = kind.and_then(Value::as_str).unwrap_or_default();
    if !matches!(kind, "string" | "integer" | "boolean") {
        return Err(format!(
            "`{}` is not a string, integer or boolean and cannot be sent in a header",
            path.join(".")
        ));
    }
    let header = format!("{PARAM}{}", name.to_ascii_lowercase());
    if found.iter().any(|other| other.header == header) {
        return Err(format!("`{KEYWORD}` `{name}` occurs twice"));
    }
    Ok(ParamHeader { path: path.to_vec(), header })
}

fn is_token(name: &str) -> bool {
    let plain = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c);
    !name.is_empty() && name.bytes().all(plain)
}

/// The headers of a modern request.
pub(crate) fn write(
    version: &str,
    method: &str,
    params: Option<&RawJson<'_>>,
    param_headers: &[ParamHeader],
) -> Vec<(String, String)> {
    let mut headers =
        vec![(PROTOCOL_VERSION.to_owned(), version.to_owned()), (METHOD.to_owned(), method.to_owned())];
    if let Some(name) = named(method).and_then(|member| text(params, member)) {
        headers.push((NAME.to_owned(), encode(&name)));
    }
    let arguments = arguments(params, param_headers);
    for param in param_headers {
        if let Ok(Some(value)) = param.value(arguments.as_ref()) {
            headers.push((param.header.clone(), encode(&value)));
        }
    }
    headers
}

/// Checks that the headers say what the body does. `header` finds one by its name in lower case.
pub(crate) fn check(
    header: impl Fn(&str) -> Option<String>,
    version: &str,
    method: &str,
    params: Option<&RawJson<'_>>,
) -> Result<(), ErrorObject> {
    same(PROTOCOL_VERSION, header(PROTOCOL_VERSION).as_deref(), Some(version))?;
    same(METHOD, header(METHOD).as_deref(), Some(method))?;
    if let Some(member) = named(method) {
        let value = decoded(NAME, header(NAME))?;
        same(NAME, value.as_deref(), text(params, member).as_deref())?;
    }
    Ok(())
}

/// The same for the arguments of a tool.
pub(crate) fn check_arguments(
    header: impl Fn(&str) -> Option<String>,
    params: Option<&RawJson<'_>>,
    param_headers: &[ParamHeader],
) -> Result<(), ErrorObject> {
    let arguments = arguments(params, param_headers);
    for param in param_headers {
        let came = decoded(&param.header, header(&param.header))?;
        let want = param.value(arguments.as_ref()).map_err(header_mismatch)?;
        let as_number = |text: &str| text.parse::<f64>().ok();
        let equal = match (&came, &want) {
            (Some(came), Some(want)) => {
                came == want || (as_number(came).is_some() && as_number(came) == as_number(want))
            }
            (came, want) => came == want,
        };
        if !equal {
            same(&param.header, came.as_deref(), want.as_deref())?;
        }
    }
    Ok(())
}

/// The member of the params that `Mcp-Name` repeats.
fn named(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

fn text(params: Option<&RawJson<'_>>, member: &str) -> Option<String> {
    params?.get(member)?.parse().ok()
}

fn arguments(params: Option<&RawJson<'_>>, param_headers: &[ParamHeader]) -> Option<Value> {
    if param_headers.is_empty() {
        return None;
    }
    params?.get("arguments")?.parse().ok()
}

fn same(name: &str, came: Option<&str>, want: Option<&str>) -> Result<(), ErrorObject> {
    if came == want {
        return Ok(());
    }
    match (came.map(shown), want.map(shown)) {
        (None, Some(want)) => {
            Err(header_mismatch(format_args!("the header {name} is missing: it must be {want:?}")))
        }
        (Some(came), Some(want)) => {
            Err(header_mismatch(format_args!("the header {name} is {came:?}, but the body says {want:?}")))
        }
        (Some(came), None) => Err(header_mismatch(format_args!(
            "the header {name} is {came:?}, but the body has no such value"
        ))),
        (None, None) => Ok(()),
    }
}

/// A value as it goes into a header: as it is if everybody leaves it alone there, else in base64.
pub(crate) fn encode(value: &str) -> String {
    let plain = value.bytes().all(|c| matches!(c, b' '..=b'~' | b'\t'))
        && value == value.trim_matches([' ', '\t'])
        && !(value.starts_with("=?base64?") && value.ends_with("?="));
    if plain { value.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(value)) }
}

pub(crate) fn decoded(name: &str, value: Option<String>) -> Result<Option<String>, ErrorObject> {
    let Some(value) = value else { return Ok(None) };
    let Some(inner) = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) else {
        return Ok(Some(value));
    };
    let bytes = STANDARD.decode(inner).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    text.map(Some)
        .ok_or_else(|| header_mismatch(format_args!("the header {name} is not base64-encoded UTF-8")))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may")]

    use super::*;

    fn params(json: &str) -> RawJson<'static> {
        RawJson::new(json.to_owned()).unwrap()
    }

    #[test]
    fn values_come_back() {
        for value in ["plain", "with space", " led", "tail ", "ü", "=?base64?eA==?=", "", "line\nbreak"] {
            let sent = encode(value);
            assert!(sent.bytes().all(|c| (b' '..=b'~').contains(&c)), "{sent:?}");
            assert_eq!(decoded("x", Some(sent)).unwrap().as_deref(), Some(value));
        }
        assert_eq!(encode("plain text"), "plain text");
        assert!(decoded("x", Some("=?base64?*?=".into())).is_err());
    }

    #[test]
    fn schemas_ask_for_headers_in_one_way_only() {
        let of = |schema: &str| ParamHeader::of(&params(schema)).map(|headers| headers.len()).ok();
        for (schema, want) in [
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#, Some(1)),
            (
                r#"{"properties":{"o":{"type":"object","properties":{"a":{"type":"integer","x-mcp-header":"A"}}}}}"#,
                Some(1),
            ),
            (r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#, Some(0)),
            (r#"{"properties":{"a":{"type":"string","default":{"x-mcp-header":1}}}}"#, Some(0)),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#, None),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#, None),
            (r#"{"properties":{"a":{"type":"string","x-mcp-header":7}}}"#, None),
            (r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#, None),
            (
                r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
                None,
            ),
            (r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#, None),
            (r#"{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#, None),
            (r#"{"x-mcp-header":"A"}"#, None),
        ] {
            assert_eq!(of(schema), want, "{schema}");
        }
    }

    #[test]
    fn headers_and_body_must_agree() {
        let schema = r#"{"properties":{"r":{"type":"string","x-mcp-header":"R"},"n":{"type":"integer","x-mcp-header":"N"}}}"#;
        let asked = ParamHeader::of(&params(schema)).unwrap();
        let body = params(r#"{"name":"tööl","arguments":{"r":"eu west","n":5}}"#);
        let sent = write("2026-07-28", "tools/call", Some(&body), &asked);
        let verdict = |change: (&str, Option<&str>)| {
            let find = |name: &str| match change {
                (changed, value) if changed == name => value.map(str::to_owned),
                _ => sent.iter().find(|(sent, _)| sent == name).map(|(_, value)| value.clone()),
            };
            check(find, "2026-07-28", "tools/call", Some(&body))
                .and_then(|()| check_arguments(find, Some(&body), &asked))
                .map_err(|error| error.code.0)
        };
        for (change, want) in [
            (("nothing", None), Ok(())),
            (("mcp-param-n", Some("5.0")), Ok(())),
            (("mcp-param-n", Some("6")), Err(-32020)),
            (("mcp-param-r", None), Err(-32020)),
            (("mcp-param-r", Some("eu")), Err(-32020)),
            (("mcp-name", Some("tool")), Err(-32020)),
            (("mcp-method", None), Err(-32020)),
            (("mcp-method", Some("tools/list")), Err(-32020)),
            (("mcp-protocol-version", Some("2025-11-25")), Err(-32020)),
        ] {
            assert_eq!(verdict(change), want, "{change:?}");
        }
        // An argument that is not there has no header.
        let absent = params(r#"{"name":"x","arguments":{"n":null}}"#);
        assert_eq!(check_arguments(|_| None, Some(&absent), &asked), Ok(()));
        assert!(check_arguments(|_| Some("x".into()), Some(&absent), &asked).is_err());
    }
}
