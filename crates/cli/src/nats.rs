//! How the program signs in to servers of NATS: by the URL, or by the variables that the program `nats` uses.

use std::path::Path;

use sabir::Nats;
use sabir::transport::{Scheme, Url};

use crate::exit::Failure;
use crate::files;
use crate::variables;

/// For a server of NATS. What the URL says wins.
pub(crate) fn settings(url: &Url) -> Result<Nats, Failure> {
    signed_in(url.has_credentials(), variables::environment)
}

/// For a worker at this URL. What is wrong with the URL is told by whoever listens there.
pub(crate) fn for_worker(url: &str) -> Result<Nats, Failure> {
    match Url::parse(url) {
        Ok(url) if url.scheme().is_nats() => settings(&url),
        _ => Ok(Nats::new()),
    }
}

/// Whether a URL is one of NATS.
pub(crate) fn is_one(url: &str) -> bool {
    url.split_once("://").and_then(|(name, _)| Scheme::parse(name)).is_some_and(Scheme::is_nats)
}

fn signed_in(
    url_signs_in: bool,
    variable: impl Fn(&str) -> Result<Option<String>, Failure>,
) -> Result<Nats, Failure> {
    let set = |name: &str| variable(name).map(|value| value.filter(|value| !value.is_empty()));
    let mut nats = Nats::new();
    if let Some(prefix) = set("NATS_INBOX_PREFIX")? {
        nats = nats.inbox_prefix(prefix);
    }
    if let Some(path) = set("NATS_CA")? {
        nats = nats.root_certificate(file("NATS_CA", &path)?);
    }
    nats = match (set("NATS_CERT")?, set("NATS_KEY")?) {
        (Some(chain), Some(key)) => {
            nats.client_certificate(file("NATS_CERT", &chain)?, file("NATS_KEY", &key)?)
        }
        (None, None) => nats,
        _ => {
            return Err(Failure::usage("one of NATS_CERT and NATS_KEY is set, without the other one")
                .hint("a certificate needs its private key, both in PEM"));
        }
    };
    if url_signs_in {
        return Ok(nats);
    }
    if let Some(path) = set("NATS_CREDS")? {
        return Ok(nats.credentials(text("NATS_CREDS", &path)?));
    }
    if let Some(path) = set("NATS_NKEY")? {
        let seed = text("NATS_NKEY", &path)?;
        // What is in it may be a secret, and is not repeated.
        if !seed.trim().starts_with('S') {
            let what = format!("`{path}`, which NATS_NKEY names, is not the seed of a key pair");
            return Err(Failure::file(what).hint("a seed is one line that begins with SU"));
        }
        return Ok(nats.nkey(seed.trim()));
    }
    Ok(match (set("NATS_USER")?, set("NATS_PASSWORD")?, set("NATS_TOKEN")?) {
        (Some(user), password, _) => nats.user(user, password.unwrap_or_default()),
        (None, _, Some(token)) => nats.token(token),
        (None, _, None) => nats,
    })
}

fn file(name: &str, path: &str) -> Result<Vec<u8>, Failure> {
    files::read(Path::new(path), files::LARGEST_DOCUMENT)
        .map_err(|error| Failure::file(format_args!("cannot read `{path}`, which {name} names: {error}")))
}

fn text(name: &str, path: &str) -> Result<String, Failure> {
    let bytes = file(name, path)?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::file(format_args!("`{path}`, which {name} names, is not text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_sign_in_unless_the_url_does() {
        let check = |set: &[(&str, &str)], url_signs_in: bool, want: Result<bool, &str>| {
            let variable = |name: &str| {
                Ok(set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
            };
            let got = signed_in(url_signs_in, variable);
            // The settings are secrets, and do not show more.
            let got = got.map(|nats| format!("{nats:?}").contains("has_credentials: true"));
            assert_eq!(got.map_err(|failure| failure.what), want.map_err(str::to_owned), "{set:?}");
        };
        check(&[], false, Ok(false));
        check(&[("NATS_USER", "me")], false, Ok(true));
        check(&[("NATS_USER", "me"), ("NATS_PASSWORD", "secret")], false, Ok(true));
        check(&[("NATS_TOKEN", "secret")], false, Ok(true));
        check(&[("NATS_TOKEN", "secret")], true, Ok(false));
        check(&[("NATS_TOKEN", "")], false, Ok(false));
        check(
            &[("NATS_CERT", "a")],
            false,
            Err("one of NATS_CERT and NATS_KEY is set, without the other one"),
        );
        let missing = if cfg!(windows) { "NUL\\x" } else { "/dev/null/x" };
        let variable = |name: &str| Ok((name == "NATS_CREDS").then(|| missing.to_owned()));
        let failure = signed_in(false, variable).expect_err("there is no such file");
        assert!(failure.what.contains("which NATS_CREDS names"), "{}", failure.what);
        let no_seed = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let variable = |name: &str| Ok((name == "NATS_NKEY").then(|| no_seed.to_owned()));
        let failure = signed_in(false, variable).expect_err("it is not a seed");
        assert!(failure.what.ends_with("is not the seed of a key pair"), "{}", failure.what);
    }
}
