//! What servers say about authorization: challenges, signed tokens and metadata, all read from the same input.

use sabir_mcp::fuzzing::auth::{read_challenges, read_metadata, read_token, read_url, write_challenge};

/// Longer challenges are not read once they are written with escapes.
const LONGEST: usize = 8 * 1024;

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    challenges(text);
    token(text);
    for url in read_metadata(text).iter().map(String::as_str).chain([text]) {
        place(url);
    }
}

/// What was read is written as one line, and that is read as the same.
fn challenges(text: &str) {
    if text.len() > LONGEST {
        return;
    }
    for challenge in read_challenges(text) {
        let (scheme, params) = &challenge;
        assert!(!scheme.is_empty() && *scheme == scheme.to_ascii_lowercase(), "{scheme:?} in {text:?}");
        let written = write_challenge(scheme, params);
        assert!(written.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{written:?}");
        let is_plain = |value: &str| value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        if params.iter().all(|(_, value)| is_plain(value)) {
            assert_eq!(
                read_challenges(&written),
                std::slice::from_ref(&challenge),
                "{written:?} of {text:?}"
            );
        }
    }
}

/// A token has three parts, and no algorithm that anybody could sign with.
fn token(text: &str) {
    let Some(algorithm) = read_token(text) else { return };
    assert_eq!(text.matches('.').count(), 2, "{text:?}");
    let trusted = algorithm.is_none_or(|name| !name.starts_with("HS") && !name.eq_ignore_ascii_case("none"));
    assert!(trusted, "{algorithm:?} of {text:?}");
}

/// Secrets go over TLS or stay on this machine, and metadata are at the same place.
fn place(text: &str) {
    let Some((url, metadata)) = read_url(text) else { return };
    let origin = format!("{}://{}/", url.scheme().name(), url.authority());
    assert!(metadata.starts_with(&format!("{origin}.well-known/x")), "{metadata} of {text:?}");
    let host = url.host().trim_end_matches('.').to_ascii_lowercase();
    let is_here = host == "localhost"
        || host.ends_with(".localhost")
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    assert!(is_here || url.scheme().name() == "https", "{text:?}");
}
