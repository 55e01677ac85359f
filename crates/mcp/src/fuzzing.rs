//! Private parsers, for the targets in `fuzz`.

use std::collections::BTreeMap;

use sabir::{ErrorObject, RawJson};

use crate::headers::{self, ParamHeader};
use crate::template::Pattern;

/// The headers of a request for a tool with this schema; `None` if the schema asks for headers in a wrong way.
pub fn write_headers(
    method: &str,
    params: &RawJson<'_>,
    schema: &RawJson<'_>,
) -> Option<Vec<(String, String)>> {
    let asked = ParamHeader::of(schema).ok()?;
    Some(headers::write("2026-07-28", method, Some(params), &asked))
}

/// Whether headers and params agree.
pub fn check_headers(
    sent: &[(String, String)],
    method: &str,
    params: &RawJson<'_>,
    schema: &RawJson<'_>,
) -> Result<(), ErrorObject> {
    let asked = ParamHeader::of(schema).unwrap_or_default();
    let find = |name: &str| sent.iter().find(|(sent, _)| sent == name).map(|(_, value)| value.clone());
    headers::check(find, "2026-07-28", method, Some(params))?;
    headers::check_arguments(find, Some(params), &asked)
}

pub fn encode_header(value: &str) -> String {
    headers::encode(value)
}

pub fn decode_header(value: &str) -> Result<Option<String>, ErrorObject> {
    headers::decoded("x", Some(value.to_owned()))
}

/// The variables of a template; `Err` if it is not a valid template.
pub fn match_template(template: &str, uri: &str) -> Result<Option<BTreeMap<String, String>>, String> {
    Pattern::parse(template).map(|pattern| pattern.matches(uri))
}
