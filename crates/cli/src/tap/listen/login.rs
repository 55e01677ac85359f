//! The user's login, for clients of the tap that have none of their own. Its tokens are added on the way to the target, where
//! nothing is copied any more: they are in no record.

use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::{Method, StatusCode};
use sabir::Authorizer as _;

use super::Listen;
use crate::auth::{self, StoredLogin, Wanted};
use crate::exit::Failure;
use crate::print::Printer;

pub(in crate::tap) struct Login {
    stored: StoredLogin,
    /// Whom the tokens are for.
    url: String,
}

impl Login {
    /// The stored login for the target of a tap. Where there is none, the user logs in.
    pub(super) async fn open(listen: &Listen, printer: &Printer) -> Result<Self, Failure> {
        let url = listen.target.as_str().to_owned();
        if !listen.target.scheme().is_http() {
            return Err(Failure::usage(format_args!("`{url}` has no login"))
                .hint("logins are for http:// and https://"));
        }
        let stored = || StoredLogin::of(&url, listen.web.root());
        if !stored().is_there() {
            auth::log_in_for(&Wanted { server: url.clone(), scopes: Vec::new(), refused: false }, printer)
                .await?;
        }
        Ok(Login { stored: stored(), url })
    }

    /// Adds the token to a request that has no credentials. A request of a page in a browser gets none, whichever it is:
    /// pages of strangers can reach a tap, too.
    pub(super) async fn authorize(&self, method: &Method, headers: &mut HeaderMap) -> Result<(), String> {
        match headers.contains_key(ORIGIN) || !names_this_machine(headers) {
            true => Ok(()),
            false => self.stored.authorize(method, &self.url, headers).await,
        }
    }

    /// Renews a token that the target has refused, for the next request.
    pub(super) async fn answered(&self, sent: &HeaderMap, status: StatusCode, headers: &HeaderMap) {
        if status == StatusCode::UNAUTHORIZED {
            let _ = self.stored.answered(&self.url, sent, status, headers).await;
        }
    }
}

/// Whether the request was sent to this machine or to an address. Names of strangers may lead here, too.
pub(super) fn names_this_machine(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, port)| {
        match port.bytes().all(|byte| byte.is_ascii_digit()) {
            true => host,
            false => host.trim_end_matches(':'),
        }
    });
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || bare.parse::<std::net::IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_stranger_is_not_this_machine() {
        for (host, want) in [
            ("localhost:9000", true),
            ("127.0.0.1", true),
            ("127.0.0.1:9000", true),
            ("[::1]:9000", true),
            ("10.0.0.7:80", true),
            ("evil.example:9000", false),
            ("127.0.0.1.evil.example", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().expect("a header"));
            assert_eq!(names_this_machine(&headers), want, "{host}");
        }
    }
}
