//! What a client sends, and what it wants to get: `Content-Type` and `Accept`.

use http::{HeaderMap, header};

/// Whether the body is said to be JSON, in UTF-8 and not packed.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let (Some(value), None) = (types.next(), types.next()) else { return false };
    // What nearly everybody sends.
    if value == "application/json" {
        return true;
    }
    let Ok(value) = std::str::from_utf8(value.as_bytes()) else { return false };
    let (kind, parameters) = value.split_once(';').unwrap_or((value, ""));
    let kind = kind.trim();
    let known = ["application/json", "application/json-rpc", "application/jsonrequest"];
    known.iter().any(|known| kind.eq_ignore_ascii_case(known)) && is_utf8(parameters)
}

/// Whether no other charset than UTF-8 is named. JSON has no other parameters that matter.
fn is_utf8(parameters: &str) -> bool {
    parameters.split(';').filter_map(|parameter| parameter.split_once('=')).all(|(name, value)| {
        let value = value.trim().trim_matches('"');
        !name.trim().eq_ignore_ascii_case("charset")
            || ["utf-8", "utf8", "us-ascii"].iter().any(|known| value.eq_ignore_ascii_case(known))
    })
}

/// Whether the body comes as it is or in chunks. What else it may be wrapped in would have to be taken off first.
pub(crate) fn is_chunked_at_most(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let chunked =
        codings.next().is_none_or(|coding| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"));
    chunked && codings.next().is_none()
}

pub(crate) fn has_encoding(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(header::CONTENT_ENCODING);
    codings.iter().any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// How much a client wants each kind of answer, in thousandths; 0 is not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accepts {
    pub(crate) json: u16,
    pub(crate) events: u16,
}

impl Accepts {
    /// Only one message, whole.
    pub(crate) const JSON: Self = Accepts { json: 1000, events: 0 };

    /// A stream is only for those who ask for one by name: most programs that take anything could not read
    /// it.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let values = headers.get_all(header::ACCEPT).into_iter();
        let mut json = None;
        let mut events = None;
        let mut any = None;
        let mut is_given = false;
        for value in values {
            is_given = true;
            for range in value.to_str().unwrap_or_default().split(',') {
                let (range, parameters) = range.split_once(';').unwrap_or((range, ""));
                let weight = weight(parameters);
                match range.trim().to_ascii_lowercase().as_str() {
                    "application/json" => json = Some(weight),
                    "text/event-stream" => events = Some(weight),
                    "application/*" => any = Some(weight),
                    "*/*" => any = any.or(Some(weight)),
                    _ => {}
                }
            }
        }
        let anything = if is_given { 0 } else { 1000 };
        Accepts { json: json.or(any).unwrap_or(anything), events: events.unwrap_or(0) }
    }

    pub(crate) fn is_nothing(self) -> bool {
        self.json == 0 && self.events == 0
    }

    pub(crate) fn takes_events(self) -> bool {
        self.events > 0
    }

    /// Whether an answer that is there at once is to be a stream.
    pub(crate) fn prefers_events(self) -> bool {
        self.events > self.json
    }
}

fn weight(parameters: &str) -> u16 {
    let q = parameters.split(';').find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then_some(value.trim())
    });
    match q.map(str::parse::<f32>) {
        Some(Ok(q)) => (q.clamp(0.0, 1.0) * 1000.0).round() as u16,
        // What cannot be read is not what the client depends on.
        Some(Err(_)) | None => 1000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts() {
        for (accept, json, events) in [
            ("*/*", 1000, 0),
            ("application/json", 1000, 0),
            ("Application/JSON", 1000, 0),
            ("application/*;q=0.5", 500, 0),
            ("text/event-stream", 0, 1000),
            ("application/json, text/event-stream", 1000, 1000),
            ("application/json;q=0.2,text/event-stream;q=0.9", 200, 900),
            ("application/json;q=0, */*", 0, 0),
            ("*/*;q=0.1, application/*;q=0.3", 300, 0),
            ("text/html, application/xhtml+xml", 0, 0),
            ("application/json; q = 0.25", 250, 0),
            ("application/json;q=x", 1000, 0),
            ("", 0, 0),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap_or_else(|_| panic!("{accept}")));
            assert_eq!(Accepts::of(&headers), Accepts { json, events }, "{accept}");
        }
        assert_eq!(Accepts::of(&HeaderMap::new()), Accepts::JSON);
    }

    #[test]
    fn content_types() {
        for (kind, want) in [
            ("application/json", true),
            ("application/JSON; charset=UTF-8", true),
            ("application/json;charset=\"utf-8\"", true),
            ("application/json-rpc", true),
            ("application/jsonrequest", true),
            ("application/json; charset=latin1", false),
            ("text/plain", false),
            ("text/json", false),
            ("application/jsonx", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, kind.parse().unwrap_or_else(|_| panic!("{kind}")));
            assert_eq!(is_json(&headers), want, "{kind}");
        }
    }
}
