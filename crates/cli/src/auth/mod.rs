//! `sabir auth`: logs in to servers that want tokens, and keeps the tokens for the other commands.

mod browser;
mod keyring;
mod stored;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use sabir::transport::{Scheme, Url};
use sabir_mcp::{
    ClientCredentials, CredentialStore, FileStore, LoggedOut, LoopbackBrowser, OAuth, OAuthSession,
    Registration, Tokens,
};
use serde_json::json;
use stored::Nobody;
pub(crate) use stored::{StoredLogin, Wanted, wanted};

use crate::args::{AuthArgs, AuthCommand, LoginArgs};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::platform::config_folder;
use crate::print::Printer;
use crate::variables;

pub(crate) async fn run(args: AuthArgs, printer: &Printer) -> Result<Exit, Failure> {
    match args.command {
        AuthCommand::Login(args) => login(&args, printer).await,
        AuthCommand::List { json } => list(json, printer),
        AuthCommand::Logout { server } => logout(&server, printer).await,
    }
}

/// Where the tokens are.
fn store() -> Result<FileStore, Failure> {
    Ok(FileStore::new(path()?).sealed(keyring::key))
}

fn path() -> Result<PathBuf, Failure> {
    let folder = config_folder()
        .ok_or_else(|| Failure::new(Exit::Error, "there is no folder for settings: set HOME"))?;
    Ok(folder.join("sabir").join("credentials.json"))
}

fn unreadable(error: &std::io::Error) -> Failure {
    Failure::new(Exit::Error, format_args!("the credentials cannot be read or written: {error}"))
}

/// A server's URL, as the tokens are kept for it.
fn server_url(text: &str) -> Result<Url, Failure> {
    let url = Url::parse(text).map_err(Failure::usage)?;
    match url.scheme() {
        Scheme::Http | Scheme::Https => Ok(url),
        _ => {
            Err(Failure::usage(format_args!("`{url}` has no login"))
                .hint("logins are for http:// and https://"))
        }
    }
}

async fn login(args: &LoginArgs, printer: &Printer) -> Result<Exit, Failure> {
    let url = server_url(&args.server)?;
    let mut oauth = OAuth::browser(waiting_browser(args.port, !args.no_browser, printer))
        .client_name("sabir")
        .store(store()?)
        .scopes(args.scope.clone());
    let mut named = None;
    if let (Some(id), Some(issuer)) = (&args.client_id, &args.issuer) {
        let mut known = Registration::default();
        known.client_id.clone_from(id);
        let client = match &args.client_secret_env {
            Some(name) => {
                let secret = variables::environment(name)?;
                let unset = || Failure::usage(format_args!("the variable `{name}` is not set"));
                known.client_secret = Some(secret.ok_or_else(unset)?);
                ClientCredentials::secret(id, known.client_secret.clone().unwrap_or_default())
            }
            None => ClientCredentials::public(id),
        };
        oauth = oauth.client(client.issuer(issuer));
        named = Some((issuer, known));
    }
    if args.allow_private {
        oauth = oauth.allow_private_addresses();
    }
    if let Some(path) = &args.web.cacert {
        let pem = files::read(path, files::LARGEST_DOCUMENT).map_err(|error| {
            Failure::usage(format_args!("cannot read the certificate `{}`: {error}", path.display()))
        })?;
        oauth = oauth.root_certificate(pem);
    }
    let exit = log_in(&url, oauth, printer).await?;
    if let Some((issuer, known)) = named {
        keep_client(&store()?, &url, issuer, known).map_err(|error| unreadable(&error))?;
    }
    Ok(exit)
}

/// Keeps a client that was named for a login, now that it is known to be right: later logins use it, and whoever renews the
/// tokens has to be the same one.
fn keep_client(store: &FileStore, url: &Url, issuer: &str, known: Registration) -> std::io::Result<()> {
    store.set_registration(issuer, Some(&known))?;
    let Some(mut tokens) = store.tokens(url.as_str())? else { return Ok(()) };
    tokens.client = Some(known);
    store.set_tokens(url.as_str(), Some(&tokens))
}

async fn log_in(url: &Url, oauth: OAuth, printer: &Printer) -> Result<Exit, Failure> {
    let session = OAuthSession::from(oauth);
    session.login(url.as_str()).await.map_err(|error| {
        let failure = Failure::new(Exit::Connect, format_args!("no login at {url}: {error}"));
        match error.to_string() {
            told if told.contains("private address") => {
                failure.hint("if you trust the server, allow it with --allow-private")
            }
            told if told.contains("give a client id") => {
                failure.hint("register a client there, and name it with --client-id ID --issuer URL")
            }
            _ => failure,
        }
    })?;
    printer.note(&format!("logged in to {url}"));
    Ok(Exit::Ok)
}

fn waiting_browser(port: u16, starts: bool, printer: &Printer) -> LoopbackBrowser {
    let printer = printer.clone();
    LoopbackBrowser::new(move |url| {
        let shown = sabir_proto::escape_controls(url);
        match starts && browser::open(url) {
            true => printer.note(&format!("log in with the browser that has opened, or at {shown}")),
            false => printer.note(&format!("log in at {shown}")),
        }
    })
    .port(port)
}

/// Logs in to a server that has refused a command, for a user who sits in front of it.
pub(crate) async fn log_in_for(wanted: &Wanted, printer: &Printer) -> Result<(), Failure> {
    let url = server_url(&wanted.server)?;
    let oauth = OAuth::browser(waiting_browser(0, true, printer)).client_name("sabir").store(store()?);
    let oauth = oauth.scopes(wanted.scopes.clone());
    log_in(&url, oauth, printer).await.map(drop)
}

/// Whether there is somebody to log in.
pub(crate) fn has_user() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

fn list(as_json: bool, printer: &Printer) -> Result<Exit, Failure> {
    let store = store()?;
    let found = store.list().map_err(|error| unreadable(&error))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let mut text = String::new();
    for (server, tokens) in &found {
        let line = match as_json {
            true => escaped(&described(server, tokens).to_string()),
            false => sabir_proto::escape_controls(&row(server, tokens, now)).into_owned(),
        };
        text.push_str(&line);
        text.push('\n');
    }
    if found.is_empty() && !as_json {
        printer.note("you are logged in nowhere: `sabir auth login URL` does that");
    }
    if !text.is_empty() {
        printer.data(&text)?;
    }
    if !found.is_empty() && !as_json {
        let how = match store.is_sealed().map_err(|error| unreadable(&error))? {
            true => "sealed with a key in your keyring",
            false => "which only you can read",
        };
        printer.note(&format!("the tokens are in {}, {how}", path()?.display()));
    }
    Ok(Exit::Ok)
}

/// JSON without characters that change what a terminal shows.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // In JSON they stand in texts alone.
            '\u{7f}'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text
}

/// All but the secrets.
fn described(server: &str, tokens: &Tokens) -> serde_json::Value {
    json!({
        "server": server, "issuer": tokens.issuer, "scopes": tokens.scopes,
        "expires_at": tokens.expires_at, "renewable": tokens.refresh_token.is_some(),
    })
}

fn row(server: &str, tokens: &Tokens, now: u64) -> String {
    let scopes = match tokens.scopes.is_empty() {
        true => String::new(),
        false => format!(", for {}", tokens.scopes.join(" ")),
    };
    let life = match (tokens.expires_at, tokens.refresh_token.is_some()) {
        (_, true) => "renewed when needed".to_owned(),
        (None, false) => "without an end".to_owned(),
        (Some(ends), false) if ends <= now => "expired".to_owned(),
        (Some(ends), false) => format!("for {} more minutes", (ends - now).div_ceil(60)),
    };
    format!("{server}  by {}{scopes}, {life}", tokens.issuer)
}

async fn logout(server: &str, printer: &Printer) -> Result<Exit, Failure> {
    let url = server_url(server)?;
    let oauth = OAuth::browser(Nobody { server: url.to_string() }).client_name("sabir").store(store()?);
    let done = OAuthSession::from(oauth).logout(url.as_str()).await;
    let done = done.map_err(|error| Failure::new(Exit::Error, error))?;
    // A client that was wrong, or is not known there any more, must not be in the way of the next login.
    store()?.forget_unused_registrations().map_err(|error| unreadable(&error))?;
    let how = match done {
        LoggedOut::NotLoggedIn => {
            return Err(Failure::new(Exit::Error, format_args!("you are not logged in to {server}"))
                .hint("`sabir auth list` shows where you are"));
        }
        LoggedOut::Revoked => "its tokens are revoked, and forgotten here".to_owned(),
        LoggedOut::NotRevoked(error) => format!("its tokens are forgotten here, but not revoked: {error}"),
        _ => "its tokens are forgotten here; their issuer revokes none, so that they last until they expire"
            .to_owned(),
    };
    printer.note(&format!("logged out of {url}: {how}"));
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_tells_no_secret() {
        let mut tokens = Tokens::default();
        tokens.issuer = "https://as.example".to_owned();
        tokens.access_token = "secret".to_owned();
        tokens.scopes = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(row("https://a", &tokens, 0), "https://a  by https://as.example, for a b, without an end");
        tokens.expires_at = Some(61);
        assert_eq!(
            row("https://a", &tokens, 0),
            "https://a  by https://as.example, for a b, for 2 more minutes"
        );
        assert_eq!(row("https://a", &tokens, 61), "https://a  by https://as.example, for a b, expired");
        tokens.refresh_token = Some("secret".to_owned());
        assert_eq!(
            row("https://a", &tokens, 61),
            "https://a  by https://as.example, for a b, renewed when needed"
        );
        assert!(!described("https://a", &tokens).to_string().contains("secret"));
    }
}
