//! Finding out what a server speaks.
//!
//! A server of the modern era answers `server/discover`. One of the legacy era answers with some error or not at
//! all, and is then asked to `initialize`.

use sabir::{CallError, Dialect, Peer, RawJson, Transport};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::session::{Agreed, Session};
use super::{Client, ConnectError};
use crate::Revision;
use crate::error::code;
use crate::server::{CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION};
use crate::types::{Implementation, Meta, ServerCapabilities};

pub(super) async fn connect(client: Client, transport: Transport) -> Result<Session, ConnectError> {
    let newest = client.revision.unwrap_or(Revision::NEWEST);
    #[cfg(feature = "http")]
    let (transport, headers) = super::headers::said_in(transport);
    let peer = sabir::connect(transport.dialect(forgiving(newest)), client.callbacks.router()).await?;
    let session = match client.revision {
        Some(revision) if !revision.is_modern() => initialize(client, peer.clone(), revision).await,
        Some(revision) => match probe(&client, &peer, revision).await? {
            Some(agreed) => Ok(Session::new(client, peer.clone(), agreed)),
            None => Err(ConnectError::Legacy),
        },
        None => match probe(&client, &peer, newest).await? {
            Some(agreed) => Ok(Session::new(client, peer.clone(), agreed)),
            None => initialize(client, peer.clone(), Revision::NEWEST_LEGACY).await,
        },
    };
    match session {
        Ok(session) => {
            #[cfg(feature = "http")]
            let session = session.with_headers(headers);
            Ok(session)
        }
        Err(error) => {
            peer.shutdown(std::time::Duration::ZERO).await;
            Err(error)
        }
    }
}

/// Servers print what they should not, and send numbers back as strings.
fn forgiving(revision: Revision) -> Dialect {
    Dialect { allow_non_json: true, lenient_responses: true, ..revision.dialect() }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    supported_versions: Vec<String>,
    capabilities: ServerCapabilities,
    instructions: Option<String>,
    #[serde(rename = "_meta", default)]
    meta: DiscoveredMeta,
}

#[derive(Deserialize, Default)]
struct DiscoveredMeta {
    #[serde(rename = "io.modelcontextprotocol/serverInfo", default)]
    info: Option<Implementation>,
}

/// Asks for the modern era. `None`: the server is not of it.
async fn probe(client: &Client, peer: &Peer, revision: Revision) -> Result<Option<Agreed>, ConnectError> {
    ask(client, peer, revision, true).await
}

/// Asks once more, if the server names a revision that it would rather have.
async fn ask(
    client: &Client,
    peer: &Peer,
    revision: Revision,
    first: bool,
) -> Result<Option<Agreed>, ConnectError> {
    let params = json!({"_meta": meta(client, revision)});
    let asked = peer.call::<_, _, Discovered>("server/discover", params).timeout(client.probe);
    let discovered = match asked.await {
        Ok(discovered) => discovered,
        Err(CallError::Error(error)) if error.code == code::UNSUPPORTED_REVISION => {
            let supported = error.data.as_ref().and_then(|data| data.get("supported")?.parse().ok());
            let supported: Vec<String> = supported.unwrap_or_default();
            return match common(client, &supported).filter(|_| first) {
                Some(other) => Box::pin(ask(client, peer, other, false)).await,
                None if supported.iter().any(|date| legacy(date)) => Ok(None),
                None => Err(ConnectError::Revision(supported.join(", "))),
            };
        }
        Err(error @ CallError::Closed(_)) => return Err(error.into()),
        // Whatever else comes, or nothing: it is of the legacy era.
        Err(_) => return Ok(None),
    };
    let Some(revision) = common(client, &discovered.supported_versions) else {
        let versions = discovered.supported_versions;
        return match versions.iter().any(|date| legacy(date)) {
            true => Ok(None),
            false => Err(ConnectError::Revision(versions.join(", "))),
        };
    };
    Ok(Some(Agreed {
        revision,
        capabilities: discovered.capabilities,
        info: discovered.meta.info,
        instructions: discovered.instructions,
        meta: meta(client, revision),
    }))
}

fn legacy(date: &str) -> bool {
    Revision::parse(date).is_some_and(|revision| !revision.is_modern())
}

/// The newest modern revision that both speak.
fn common(client: &Client, supported: &[String]) -> Option<Revision> {
    let mutual = |revision: &Revision| client.revision.is_none_or(|only| only == *revision);
    supported.iter().filter_map(|date| Revision::parse(date)).filter(|r| r.is_modern()).filter(mutual).max()
}

/// What every request of the modern era says.
fn meta(client: &Client, revision: Revision) -> Meta {
    let mut meta = Meta::new();
    meta.insert(PROTOCOL_VERSION.to_owned(), json!(revision));
    meta.insert(CLIENT_CAPABILITIES.to_owned(), json!(client.callbacks.capabilities()));
    meta.insert(CLIENT_INFO.to_owned(), json!(client.info));
    if let Some(level) = client.level {
        meta.insert("io.modelcontextprotocol/logLevel".to_owned(), json!(level));
    }
    meta
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Initialize<'a> {
    protocol_version: Revision,
    capabilities: crate::ClientCapabilities,
    client_info: &'a Implementation,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Initialized {
    protocol_version: String,
    #[serde(default)]
    capabilities: ServerCapabilities,
    server_info: Option<Implementation>,
    instructions: Option<String>,
}

/// The handshake of the legacy era.
async fn initialize(client: Client, peer: Peer, revision: Revision) -> Result<Session, ConnectError> {
    let asked = Initialize {
        protocol_version: revision,
        capabilities: client.callbacks.capabilities(),
        client_info: &client.info,
    };
    let answer: Initialized = peer.call("initialize", asked).await?;
    let agreed = Revision::parse(&answer.protocol_version)
        .filter(|found| !found.is_modern() && client.revision.is_none_or(|only| only == *found));
    let revision = agreed.ok_or(ConnectError::Revision(answer.protocol_version))?;
    peer.speak(forgiving(revision));
    #[cfg(feature = "http")]
    peer.set_header(crate::headers::PROTOCOL_VERSION, revision.as_str())?;
    let refused = |error| ConnectError::Call(CallError::NotSent(error));
    peer.notify("notifications/initialized", ()).await.map_err(refused)?;
    let logs = answer.capabilities.logging.is_some();
    if let Some(level) = client.level.filter(|_| logs) {
        let _: RawJson<'static> = peer.call("logging/setLevel", json!({"level": level})).await?;
    }
    let agreed = Agreed {
        revision,
        capabilities: answer.capabilities,
        info: answer.server_info,
        instructions: answer.instructions,
        meta: Meta::new(),
    };
    Ok(Session::new(client, peer, agreed))
}
