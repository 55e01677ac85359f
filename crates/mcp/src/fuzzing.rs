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

/// What servers say about authorization.
#[cfg(feature = "auth")]
pub mod auth {
    use http::{HeaderMap, HeaderValue};
    use sabir::transport::Url;

    use crate::auth::jose::Jws;
    use crate::auth::{challenge, place};

    /// The challenges of one header: each with its scheme, and what it says.
    pub fn read_challenges(text: &str) -> Vec<(String, Vec<(String, String)>)> {
        let Ok(value) = HeaderValue::from_str(text) else { return Vec::new() };
        let headers = HeaderMap::from_iter([(http::header::WWW_AUTHENTICATE, value)]);
        challenge::challenges(&headers).into_iter().map(|found| (found.scheme, found.params)).collect()
    }

    pub fn write_challenge(scheme: &str, params: &[(String, String)]) -> String {
        let params: Vec<_> = params.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        challenge::write(scheme, &params)
    }

    /// Whether a text is a signed token, and if so by which algorithm, where that can be trusted.
    pub fn read_token(text: &str) -> Option<Option<&'static str>> {
        let token = Jws::parse(text)?;
        let _: Option<serde_json::Value> = token.claims();
        Some(token.algorithm().map(super::super::JwsAlgorithm::name))
    }

    /// Reads both kinds of metadata, and returns the URLs in them.
    pub fn read_metadata(text: &str) -> Vec<String> {
        crate::auth::urls_of_metadata(text)
    }

    /// A URL that secrets may be sent to, and where metadata about it are.
    pub fn read_url(text: &str) -> Option<(Url, String)> {
        let url = place::secure(text, "it").ok()?;
        let metadata = place::well_known(&url, "x");
        Some((url, metadata))
    }
}
