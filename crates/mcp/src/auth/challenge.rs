//! `WWW-Authenticate`: the challenges of a response, read and written.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;

use crate::error::shown;

/// Bytes of one header that are looked at.
const MOST_BYTES: usize = 16 * 1024;
/// Challenges of one response, and parameters of one challenge.
const MOST: usize = 32;

/// One challenge: a scheme, and what it says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Challenge {
    /// In lower case.
    pub(crate) scheme: String,
    /// Names are in lower case.
    pub(crate) params: Vec<(String, String)>,
}

impl Challenge {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.params.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    /// The scopes that it asks for.
    pub(crate) fn scopes(&self) -> Option<Vec<String>> {
        let scopes: Vec<String> = self.get("scope")?.split_ascii_whitespace().map(str::to_owned).collect();
        (!scopes.is_empty()).then_some(scopes)
    }

    /// Why the server refuses, in its own words: short, and safe to print.
    #[cfg_attr(not(feature = "auth"), allow(dead_code))]
    pub(crate) fn reason(&self) -> Option<String> {
        let told = self.get("error_description").or_else(|| self.get("error"))?;
        Some(sabir_proto::escape_controls(&shown(told)).into_owned())
    }
}

/// All challenges of a response: several in one header, or in several.
pub(crate) fn challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let mut found = Vec::new();
    for value in headers.get_all(WWW_AUTHENTICATE) {
        if let Ok(text) = value.to_str()
            && text.len() <= MOST_BYTES
        {
            read(text, &mut found);
        }
    }
    found
}

fn read(text: &str, found: &mut Vec<Challenge>) {
    let mut rest = text.trim_start_matches([' ', '\t', ',']);
    let mut open = false;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_token(c)).unwrap_or(rest.len());
        if end == 0 {
            return;
        }
        let (word, behind) = rest.split_at(end);
        let after = behind.trim_start_matches([' ', '\t']);
        // `name=value` belongs to the challenge before it; any other word begins one.
        if open && let Some(value) = after.strip_prefix('=') {
            let Some((value, behind)) = read_value(value.trim_start_matches([' ', '\t'])) else { return };
            if let Some(challenge) = found.last_mut()
                && challenge.params.len() < MOST
            {
                challenge.params.push((word.to_ascii_lowercase(), value));
            }
            rest = behind;
        } else if found.len() < MOST {
            found.push(Challenge { scheme: word.to_ascii_lowercase(), params: Vec::new() });
            open = true;
            rest = skip_token68(after);
        } else {
            return;
        }
        rest = rest.trim_start_matches([' ', '\t', ',']);
    }
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// What some schemes have in place of parameters, such as `Negotiate abc==`: it says nothing to us.
fn skip_token68(text: &str) -> &str {
    let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
    let (word, behind) = text.split_at(end);
    let bare = word.trim_end_matches('=');
    let is_padded = bare.len() < word.len() && !bare.is_empty();
    let is_last = behind.trim_start().is_empty() || behind.trim_start().starts_with(',');
    if is_last && !bare.contains(['=', '"']) && (is_padded || bare.contains('/')) { behind } else { text }
}

/// A value, bare or in quotes, and what stands behind it.
fn read_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

/// A challenge as text. What cannot stand in a header is left out.
pub(crate) fn write(scheme: &str, params: &[(&str, &str)]) -> String {
    let quoted = |value: &str| {
        let mut quoted = String::with_capacity(value.len());
        for c in value.chars().filter(|c| c.is_ascii_graphic() || *c == ' ') {
            if c == '"' || c == '\\' {
                quoted.push('\\');
            }
            quoted.push(c);
        }
        quoted
    };
    let params: Vec<_> = params.iter().map(|(name, value)| format!("{name}=\"{}\"", quoted(value))).collect();
    format!("{scheme} {}", params.join(", ")).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read<'a> = &'a [(&'a str, &'a [(&'a str, &'a str)])];

    fn check(text: &str, want: Read<'_>) {
        let mut found = Vec::new();
        read(text, &mut found);
        let found: Vec<(String, Vec<(String, String)>)> =
            found.into_iter().map(|found| (found.scheme, found.params)).collect();
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let want: Vec<(String, Vec<_>)> = want
            .iter()
            .map(|(scheme, params)| ((*scheme).to_owned(), params.iter().map(pair).collect()))
            .collect();
        assert_eq!(found, want, "{text}");
    }

    #[test]
    fn challenges_are_read() {
        check("Bearer", &[("bearer", &[])]);
        check(r#"Bearer realm="a, b", scope=x"#, &[("bearer", &[("realm", "a, b"), ("scope", "x")])]);
        check(r#"BEARER Error = "a\"b\\c""#, &[("bearer", &[("error", r#"a"b\c"#)])]);
        check(
            r#"Basic realm="x", DPoP algs="ES256", error="use_dpop_nonce", Bearer scope="a b""#,
            &[
                ("basic", &[("realm", "x")]),
                ("dpop", &[("algs", "ES256"), ("error", "use_dpop_nonce")]),
                ("bearer", &[("scope", "a b")]),
            ],
        );
        check("Negotiate abc==, Bearer a=b", &[("negotiate", &[]), ("bearer", &[("a", "b")])]);
        check("Basic, Bearer", &[("basic", &[]), ("bearer", &[])]);
        check(r#"Bearer a="unclosed"#, &[("bearer", &[])]);
        check(r#", , Bearer ,a=1,, b=2"#, &[("bearer", &[("a", "1"), ("b", "2")])]);
        check("", &[]);
        check("=", &[]);
    }

    #[test]
    fn what_is_written_is_read() {
        let text =
            write("Bearer", &[("error_description", "a \"quoted\" \\ \r\n ü thing"), ("scope", "a b")]);
        check(&text, &[("bearer", &[("error_description", "a \"quoted\" \\   thing"), ("scope", "a b")])]);
        assert!(text.is_ascii() && !text.contains('\n'));
    }
}
