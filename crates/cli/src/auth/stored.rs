//! The tokens of an earlier login, for commands that talk to a server. Without one, a server that asks for a login is
//! remembered, so that the user can be told or asked.

use std::sync::Mutex;

use sabir::http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use sabir::http::{HeaderMap, Method, StatusCode};
use sabir::internal::lock;
use sabir::{Authorized, Authorizer, Verdict};
use sabir_mcp::{CredentialStore as _, OAuth, OAuthSession, UserAgent, Visit};

use super::store;
use crate::platform::word;

/// Characters of a server's reason that are shown.
const LONGEST_REFUSAL: usize = 300;

/// What has to be logged in for.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) server: String,
    /// What the token lacks, if there is one.
    pub(crate) scopes: Vec<String>,
    /// The server says why it refuses a token that it was sent.
    pub(crate) refused: bool,
}

impl Wanted {
    /// The command that does it.
    pub(crate) fn command(&self) -> String {
        let mut command = format!("sabir auth login {}", word(&self.server));
        for scope in &self.scopes {
            command = format!("{command} --scope {}", word(scope));
        }
        command
    }

    /// What to do. Another token of the same kind may be refused as well.
    pub(crate) fn hint(&self) -> String {
        let login = format!("log in with `{}`", self.command());
        match self.refused {
            true => format!(
                "{login}; if that token is refused too, the server's operator has to look why: for whom it is issued (`aud`), and by whom"
            ),
            false => login,
        }
    }
}

/// What the last server that has asked for a login wants.
static WANTED: Mutex<Option<Wanted>> = Mutex::new(None);

pub(crate) fn wanted() -> Option<Wanted> {
    lock(&WANTED).clone()
}

fn want(server: &str, scopes: Vec<String>) {
    *lock(&WANTED) = Some(Wanted { server: server.to_owned(), scopes, refused: false });
}

/// Authorizes the requests to one server.
pub(crate) struct StoredLogin {
    server: String,
    /// Or why the tokens cannot be read.
    session: Result<Option<OAuthSession>, String>,
}

impl StoredLogin {
    /// With the tokens of this server, if there are any. The root certificate is the one that the user trusts.
    pub(crate) fn of(server: &str, root: Option<&[u8]>) -> Self {
        let session = match store() {
            Ok(store) => match store.tokens(server) {
                Ok(Some(_)) => {
                    let oauth = OAuth::browser(Nobody { server: server.to_owned() }).client_name("sabir");
                    let oauth = root.into_iter().fold(oauth, |oauth, root| oauth.root_certificate(root));
                    Ok(Some(OAuthSession::from(oauth.store(store))))
                }
                Ok(None) => Ok(None),
                Err(error) => Err(format!("the credentials cannot be read: {error}")),
            },
            // Without a folder for settings there are none.
            Err(_) => Ok(None),
        };
        StoredLogin { server: server.to_owned(), session }
    }

    /// Whether there are tokens.
    pub(crate) fn is_there(&self) -> bool {
        matches!(self.session, Ok(Some(_)))
    }
}

/// What a token lacks, if that is why a request is refused.
fn missing_scopes(status: StatusCode, headers: &HeaderMap) -> Option<Vec<String>> {
    if status != StatusCode::FORBIDDEN {
        return None;
    }
    headers.get_all(WWW_AUTHENTICATE).iter().find_map(|challenge| {
        let challenge = challenge.to_str().ok().filter(|text| text.contains("\"insufficient_scope\""))?;
        Some(parameter(challenge, "scope")?.split_ascii_whitespace().map(str::to_owned).collect())
    })
}

/// Why a server refuses the token that it was sent, in its own words.
fn refusal(status: StatusCode, sent: &HeaderMap, headers: &HeaderMap) -> Option<String> {
    if status != StatusCode::UNAUTHORIZED || !sent.contains_key(AUTHORIZATION) {
        return None;
    }
    let mut challenges = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let told = challenges.find_map(|challenge| parameter(challenge, "error_description"))?;
    let short: String = told.chars().take(LONGEST_REFUSAL).collect();
    Some(sabir_proto::escape_controls(&short).into_owned())
}

/// A parameter of a challenge that is written in quotes.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let (before, rest) = challenge.split_once(&format!("{name}=\""))?;
    let mut value = String::new();
    let mut chars = rest.chars().filter(|_| before.ends_with([' ', ',']));
    loop {
        match chars.next()? {
            '"' => return Some(value),
            '\\' => value.push(chars.next()?),
            c => value.push(c),
        }
    }
}

impl Authorizer for StoredLogin {
    fn authorize<'a>(
        &'a self,
        method: &'a Method,
        url: &'a str,
        headers: &'a mut HeaderMap,
    ) -> Authorized<'a, ()> {
        match &self.session {
            Ok(Some(session)) => session.authorize(method, url, headers),
            Ok(None) => Box::pin(std::future::ready(Ok(()))),
            Err(reason) => Box::pin(std::future::ready(Err(reason.clone()))),
        }
    }

    fn answered<'a>(
        &'a self,
        url: &'a str,
        sent: &'a HeaderMap,
        status: StatusCode,
        headers: &'a HeaderMap,
    ) -> Authorized<'a, Verdict> {
        if let Ok(Some(session)) = &self.session {
            // A wider scope is the user's to grant, and takes a login: nobody is asked in the middle of a command.
            if let Some(scopes) = missing_scopes(status, headers) {
                let reason = format!("the token does not allow this: it needs {}", scopes.join(" "));
                want(&self.server, scopes);
                return Box::pin(std::future::ready(Err(sabir_proto::escape_controls(&reason).into_owned())));
            }
            let told = refusal(status, sent, headers);
            return Box::pin(async move {
                let answered = session.answered(url, sent, status, headers).await;
                answered.map_err(|reason| match told {
                    Some(told) => {
                        if let Some(wanted) = lock(&WANTED).as_mut() {
                            wanted.refused = true;
                        }
                        format!("{reason}: the server says `{told}`")
                    }
                    None => reason,
                })
            });
        }
        let names_metadata = headers.get_all(WWW_AUTHENTICATE).iter().any(|challenge| {
            challenge.to_str().is_ok_and(|challenge| challenge.contains("resource_metadata="))
        });
        if status == StatusCode::UNAUTHORIZED && names_metadata {
            want(&self.server, Vec::new());
        }
        Box::pin(std::future::ready(Ok(Verdict::Done)))
    }
}

/// In the middle of a command nobody is asked: it has a time limit, and a user may take longer.
pub(super) struct Nobody {
    pub(super) server: String,
}

impl UserAgent for Nobody {
    fn redirect_uri(&self) -> Visit<'_> {
        // A registration that was made for a login stays good.
        want(&self.server, Vec::new());
        Box::pin(std::future::ready(Err("the login has ended".to_owned())))
    }

    fn visit<'a>(&'a self, _: &'a str) -> Visit<'a> {
        self.redirect_uri()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_in_the_words_of_the_server() {
        let headers = |challenge: &str| {
            HeaderMap::from_iter([(WWW_AUTHENTICATE, challenge.parse().expect("a header"))])
        };
        let sent = HeaderMap::from_iter([(AUTHORIZATION, "Bearer x".parse().expect("a header"))]);
        let told = |text: &str, sent: &HeaderMap| refusal(StatusCode::UNAUTHORIZED, sent, &headers(text));
        let challenge =
            r#"Bearer error="invalid_token", error_description="not for \"this\" server", scope="a b""#;
        assert_eq!(told(challenge, &sent).as_deref(), Some(r#"not for "this" server"#));
        assert_eq!(told(challenge, &HeaderMap::new()), None);
        assert_eq!(told(r#"Bearer error_description="unclosed"#, &sent), None);
        let narrow = r#"Bearer error="insufficient_scope", scope="a b""#;
        let missing = missing_scopes(StatusCode::FORBIDDEN, &headers(narrow));
        assert_eq!(missing, Some(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn a_refused_token_is_a_matter_for_the_operator() {
        let wanted =
            |refused| Wanted { server: "https://a.example/mcp".to_owned(), scopes: Vec::new(), refused };
        assert_eq!(wanted(false).hint(), "log in with `sabir auth login https://a.example/mcp`");
        assert!(wanted(true).hint().contains("`aud`"));
    }
}
