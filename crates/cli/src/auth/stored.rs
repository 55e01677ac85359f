//! The tokens of an earlier login, for commands that talk to a server. Without one, a server that asks for a login is
//! remembered, so that the user can be told or asked.

use std::sync::Mutex;

use sabir::http::header::WWW_AUTHENTICATE;
use sabir::http::{HeaderMap, Method, StatusCode};
use sabir::internal::lock;
use sabir::{Authorized, Authorizer, Verdict};
use sabir_mcp::{CredentialStore as _, OAuth, OAuthSession, UserAgent, Visit};

use super::store;

/// The server that has asked for a login last.
static WANTED: Mutex<Option<String>> = Mutex::new(None);

/// The server that wants a login.
pub(crate) fn wanted() -> Option<String> {
    lock(&WANTED).clone()
}

/// Authorizes the requests to one server.
pub(crate) struct StoredLogin {
    server: String,
    session: Option<OAuthSession>,
}

impl StoredLogin {
    /// With the tokens of this server, if there are any.
    pub(crate) fn of(server: &str) -> Self {
        let session = store().ok().filter(|store| matches!(store.tokens(server), Ok(Some(_)))).map(|store| {
            let oauth = OAuth::browser(Nobody { server: server.to_owned() }).client_name("sabir");
            OAuthSession::from(oauth.store(store))
        });
        StoredLogin { server: server.to_owned(), session }
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
            Some(session) => session.authorize(method, url, headers),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }

    fn answered<'a>(
        &'a self,
        url: &'a str,
        sent: &'a HeaderMap,
        status: StatusCode,
        headers: &'a HeaderMap,
    ) -> Authorized<'a, Verdict> {
        if let Some(session) = &self.session {
            return session.answered(url, sent, status, headers);
        }
        let names_metadata = headers.get_all(WWW_AUTHENTICATE).iter().any(|challenge| {
            challenge.to_str().is_ok_and(|challenge| challenge.contains("resource_metadata="))
        });
        if status == StatusCode::UNAUTHORIZED && names_metadata {
            *lock(&WANTED) = Some(self.server.clone());
        }
        Box::pin(std::future::ready(Ok(Verdict::Done)))
    }
}

/// In the middle of a command nobody is asked: it has a time limit, and a user may take longer.
struct Nobody {
    server: String,
}

impl UserAgent for Nobody {
    fn redirect_uri(&self) -> Visit<'_> {
        // A registration that was made for a login stays good.
        *lock(&WANTED) = Some(self.server.clone());
        Box::pin(std::future::ready(Err("the login has ended".to_owned())))
    }

    fn visit<'a>(&'a self, _: &'a str) -> Visit<'a> {
        self.redirect_uri()
    }
}
