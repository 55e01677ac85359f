//! Connecting to servers of NATS, and what they tell about the connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind as NatsErrorKind, ConnectOptions, Event};
use tokio::sync::{mpsc, oneshot};

use super::options::{Credentials, Nats};
use crate::Error;
use crate::transport::error::{ConnectError, ConnectErrorKind};
use crate::transport::tls::{Settings, handshake_failure};
use crate::transport::url::Url;

/// Events that nobody has looked at. One that finds no room says nothing new.
const EVENTS: usize = 256;

/// Messages that wait for a connection. Its session has limits of its own, and what is read is moved there at once.
const UNREAD: usize = 64 * 1024;

/// How long a connection waits for its owner before it is opened again.
const READY_WITHIN: Duration = Duration::from_secs(1);

/// What happens to a connection.
pub(crate) type Events = mpsc::Receiver<Event>;

/// Comes when a connection is lost, before it is opened again: that waits until the sender is dropped, or a second.
pub(crate) type Reopening = mpsc::Receiver<oneshot::Sender<()>>;

/// The service that a URL names.
pub(crate) fn service(url: &Url) -> Result<&str, Error> {
    match url.path().strip_prefix('/').unwrap_or_default() {
        "" => {
            let host = url.as_str().trim_end_matches('/');
            Err(Error::config(format!("`{url}` names no service: write it as {host}/SERVICE")))
        }
        service => Ok(service),
    }
}

/// What went wrong in the handshake of TLS, if that is where it went wrong.
fn handshake(error: &async_nats::ConnectError, url: &Url) -> Option<(ConnectErrorKind, String)> {
    let source = std::error::Error::source(error)?.downcast_ref::<std::io::Error>()?;
    handshake_failure(source, url.authority())
}

/// Connects to one of the servers that a URL names.
pub(crate) async fn connect(
    url: &Url,
    nats: &Nats,
    tls: &Settings,
    name: &str,
) -> Result<(Client, Events), Error> {
    let (options, events) = options(url, nats, tls, name)?;
    Ok((open(url, &[], options).await?, events))
}

/// Connects for somebody who has something to do before a lost connection is opened again, and who knows of more servers
/// than the URL names.
pub(crate) async fn connect_reopening(
    url: &Url,
    nats: &Nats,
    tls: &Settings,
    name: &str,
    known: &[String],
) -> Result<(Client, Events, Reopening), Error> {
    let (options, events) = options(url, nats, tls, name)?;
    let (tell, reopening) = mpsc::channel(1);
    let was_opened = Arc::new(AtomicBool::new(false));
    // Called before each attempt, also the first. Which server is next is left to the client.
    let options = options.reconnect_to_server_callback(move |_, _| {
        let again = was_opened.swap(true, Ordering::Relaxed);
        let (ready, waiting) = oneshot::channel();
        let is_told = again && tell.try_send(ready).is_ok();
        async move {
            if is_told {
                let _ = tokio::time::timeout(READY_WITHIN, waiting).await;
            }
            None
        }
    });
    Ok((open(url, known, options).await?, events, reopening))
}

fn options(url: &Url, nats: &Nats, tls: &Settings, name: &str) -> Result<(ConnectOptions, Events), Error> {
    let (told, events) = mpsc::channel(EVENTS);
    let mut options = ConnectOptions::new()
        .name(name)
        .subscription_capacity(UNREAD)
        .ping_interval(nats.ping_every)
        .custom_inbox_prefix(&nats.inbox_prefix)
        .require_tls(url.scheme().is_secure())
        .event_callback(move |event| {
            let _ = told.try_send(event);
            std::future::ready(())
        });
    if url.scheme().is_secure() || !tls.is_default() {
        options = options.tls_client_config(tls.client_config(&[]).map_err(Error::config)?);
    }
    options = match nats.clone().with_userinfo(url.userinfo()).credentials {
        Some(Credentials::User { name, password }) => options.user_and_password(name, password),
        Some(Credentials::Token(token)) => options.token(token),
        #[cfg(feature = "nkeys")]
        Some(Credentials::Nkey(seed)) => options.nkey(seed),
        #[cfg(feature = "nkeys")]
        Some(Credentials::File(text)) => options
            .credentials(&text)
            .map_err(|error| Error::config(format!("the credentials for NATS cannot be used: {error}")))?,
        None => options,
    };
    Ok((options, events))
}

async fn open(url: &Url, known: &[String], options: ConnectOptions) -> Result<Client, Error> {
    let hosts = url.authority().split(',').chain(known.iter().map(String::as_str));
    let servers: Vec<_> = hosts.map(|host| format!("nats://{host}")).collect();
    let connected = options.connect(servers.as_slice()).await;
    connected.map_err(|error| {
        let kind = match error.kind() {
            NatsErrorKind::Dns => ConnectErrorKind::Resolve,
            NatsErrorKind::TimedOut => ConnectErrorKind::Timeout,
            NatsErrorKind::Tls => ConnectErrorKind::Tls,
            NatsErrorKind::Authentication | NatsErrorKind::AuthorizationViolation => {
                ConnectErrorKind::Credentials
            }
            NatsErrorKind::ServerParse => ConnectErrorKind::Protocol,
            NatsErrorKind::Io | NatsErrorKind::MaxReconnects => {
                handshake(&error, url).map_or(ConnectErrorKind::Refused, |(kind, _)| kind)
            }
        };
        // The source alone: the error would say its kind again, as in "authorization violation: authorization violation".
        let source = handshake(&error, url)
            .map(|(_, reason)| reason)
            .or_else(|| std::error::Error::source(&error).map(ToString::to_string));
        let reason = source.unwrap_or_else(|| error.to_string());
        ConnectError::new(kind, url.as_str(), sabir_proto::escape_controls(&reason)).into()
    })
}
