//! Any text as the URL of a server: what is taken for one is complete, has nothing that a socket or a request could
//! read in another way, and means the same to the parser that HTTP requests are built with.

use sabir::transport::{Scheme, Url};

const REASON: &str = "a name and a password belong in an `Authorization` header, not in the URL";

pub(crate) fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let parsed = Url::parse(text);
    // Whatever it says, it says it without the password.
    if let (Err(error), Some(secret)) = (&parsed, secret(text)) {
        let shown = error.to_string();
        assert!(!shown.contains(secret) || REASON.contains(secret), "{shown}");
    }
    let Ok(url) = parsed else { return };
    assert_eq!(url.as_str(), text);
    assert_eq!(Url::parse(text).as_ref(), Ok(&url), "the same twice");
    assert!(!url.host().is_empty(), "{text}");
    if matches!(url.scheme(), Scheme::Unix | Scheme::Pipe) {
        assert!(text.ends_with(url.host()), "{text}");
        return;
    }
    assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{}", text.escape_debug());
    assert!(!url.host().contains(['/', '?', '#', '@', '\\', '%', '[', ']']), "{text}");
    assert_ne!(url.port(), 0, "{text}");
    let rest = &text[url.scheme().name().len() + "://".len()..];
    assert!(text[..url.scheme().name().len()].eq_ignore_ascii_case(url.scheme().name()), "{text}");
    assert!(rest.starts_with(url.authority()), "{text}");
    // The authority ends where a path, a query or a fragment begins, for every reader.
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    assert_eq!(url.authority(), &rest[..end], "{text}");
    assert!(url.path().starts_with('/') && !url.path().contains('#'), "{text}");
    check_by_http(&url);
}

/// `http::Uri` may refuse what RFC 3986 takes, as a length; it must not read anything else.
fn check_by_http(url: &Url) {
    if !url.scheme().is_web() {
        return;
    }
    let built = http::Uri::builder()
        .scheme(if url.scheme().is_secure() { "https" } else { "http" })
        .authority(url.authority())
        .path_and_query(url.path())
        .build();
    let Ok(uri) = built else { return };
    let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    assert!(host.eq_ignore_ascii_case(url.host()), "{host} of {url}");
    let default = if url.scheme().is_secure() { 443 } else { 80 };
    assert_eq!(uri.port_u16().unwrap_or(default), url.port(), "{url}");
    assert_eq!(uri.path_and_query().map(|path| path.as_str()), Some(url.path()), "{url}");
}

/// The password of a URL that has one, if it is long enough to be told from other text.
fn secret(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let (user, _) = authority.rsplit_once('@')?;
    let (_, secret) = user.split_once(':')?;
    (secret.len() >= 8).then_some(secret)
}
