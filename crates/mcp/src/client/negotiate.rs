//! Finding out what a server speaks.
//!
//! A server of the modern era answers `server/discover`. One of the legacy era answers with some error or not at
//! all, and is then asked to `initialize`.

use sabir::{CallError, Dialect, Peer, RawJson, Transport};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::session::{Agreed, McpSession};
use super::{McpClient, McpConnectError, McpHeaders};
use crate::McpRevision;
use crate::bounded;
use crate::error::{code, shown};
use crate::server::{CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION};
use crate::types::{Implementation, Meta, ServerCapabilities};

pub(super) async fn connect(client: McpClient, transport: Transport) -> Result<McpSession, McpConnectError> {
    let newest = client.revision.unwrap_or(McpRevision::NEWEST);
    let headers = McpHeaders::default();
    let transport = headers.add_to(transport).dialect(forgiving(newest));
    #[cfg(feature = "auth")]
    let transport = match &client.auth {
        Some(auth) => transport.authorizer(auth.clone()),
        None => transport,
    };
    let peer = sabir::connect(transport, client.router()).await?;
    let session = match client.revision {
        Some(revision) if !revision.is_modern() => initialize(client, peer.clone(), revision).await,
        Some(revision) => match probe(&client, &peer, revision).await? {
            Some(agreed) => Ok(McpSession::new(client, peer.clone(), agreed)),
            None => Err(McpConnectError::Legacy),
        },
        None => match probe(&client, &peer, newest).await? {
            Some(agreed) => Ok(McpSession::new(client, peer.clone(), agreed)),
            None => initialize(client, peer.clone(), McpRevision::NEWEST_LEGACY).await,
        },
    };
    match session {
        Ok(session) => Ok(session.with_headers(headers)),
        Err(error) => {
            peer.shutdown(std::time::Duration::ZERO).await;
            Err(error)
        }
    }
}

/// Revisions that a server may name.
const MOST_VERSIONS: usize = 1024;

/// Servers print what they should not, and send numbers back as strings.
fn forgiving(revision: McpRevision) -> Dialect {
    Dialect { allow_non_json: true, lenient_responses: true, ..revision.dialect() }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Discovered {
    #[serde(deserialize_with = "bounded::list::<MOST_VERSIONS, _, _>")]
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
pub(super) async fn probe(
    client: &McpClient,
    peer: &Peer,
    revision: McpRevision,
) -> Result<Option<Agreed>, McpConnectError> {
    ask(client, peer, revision, true).await
}

/// Asks once more, if the server names a revision that it would rather have.
async fn ask(
    client: &McpClient,
    peer: &Peer,
    revision: McpRevision,
    first: bool,
) -> Result<Option<Agreed>, McpConnectError> {
    let params = json!({"_meta": meta(client, revision)});
    let asked = peer.call::<Discovered>("server/discover", params).timeout(client.probe);
    let discovered = match asked.await {
        Ok(discovered) => discovered,
        Err(CallError::Error(error)) if error.code == code::UNSUPPORTED_REVISION => {
            let supported = error.data.as_ref().and_then(|data| data.get("supported")?.parse().ok());
            let supported: Vec<String> = supported.unwrap_or_default();
            return match common(client, &supported).filter(|_| first) {
                Some(other) => Box::pin(ask(client, peer, other, false)).await,
                None if supported.iter().any(|date| legacy(date)) => Ok(None),
                None => Err(unspoken(&supported.join(", "))),
            };
        }
        Err(error) if error.connection_end().is_some() => return Err(error.into()),
        #[cfg(feature = "auth")]
        Err(CallError::TimedOut) if client.auth.as_ref().is_some_and(crate::OAuthSession::is_busy) => {
            // It is the user who takes their time, not the server.
            if let Some(auth) = &client.auth {
                auth.idle().await;
            }
            return Box::pin(ask(client, peer, revision, first)).await;
        }
        // A server that wants a token which cannot be had says nothing about its era.
        Err(CallError::Undelivered(why)) if why.status == Some(401) => {
            return Err(CallError::Undelivered(why).into());
        }
        // Whatever else comes, or nothing: it is of the legacy era.
        Err(_) => return Ok(None),
    };
    let Some(revision) = common(client, &discovered.supported_versions) else {
        let versions = discovered.supported_versions;
        return match versions.iter().any(|date| legacy(date)) {
            true => Ok(None),
            false => Err(unspoken(&versions.join(", "))),
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

fn unspoken(revisions: &str) -> McpConnectError {
    McpConnectError::Revision(shown(revisions).into_owned())
}

fn legacy(date: &str) -> bool {
    McpRevision::parse(date).is_some_and(|revision| !revision.is_modern())
}

/// The newest modern revision that both speak.
fn common(client: &McpClient, supported: &[String]) -> Option<McpRevision> {
    let mutual = |revision: &McpRevision| client.revision.is_none_or(|only| only == *revision);
    supported
        .iter()
        .filter_map(|date| McpRevision::parse(date))
        .filter(|r| r.is_modern())
        .filter(mutual)
        .max()
}

/// What every request of the modern era says.
fn meta(client: &McpClient, revision: McpRevision) -> Meta {
    let mut meta = Meta::new();
    meta.insert(PROTOCOL_VERSION.to_owned(), json!(revision));
    meta.insert(CLIENT_CAPABILITIES.to_owned(), json!(client.capabilities()));
    meta.insert(CLIENT_INFO.to_owned(), json!(client.info));
    if let Some(level) = client.level {
        meta.insert("io.modelcontextprotocol/logLevel".to_owned(), json!(level));
    }
    meta
}

/// What holds for a server that was not asked.
pub(super) fn assumed(client: &McpClient, revision: McpRevision) -> Agreed {
    Agreed {
        revision,
        capabilities: ServerCapabilities::default(),
        info: None,
        instructions: None,
        meta: if revision.is_modern() { meta(client, revision) } else { Meta::new() },
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Initialize<'a> {
    protocol_version: McpRevision,
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
pub(super) async fn initialize(
    client: McpClient,
    peer: Peer,
    revision: McpRevision,
) -> Result<McpSession, McpConnectError> {
    let asked = Initialize {
        protocol_version: revision,
        capabilities: client.capabilities(),
        client_info: &client.info,
    };
    let answer: Initialized = peer.call("initialize", asked).await?;
    let agreed = McpRevision::parse(&answer.protocol_version)
        .filter(|found| !found.is_modern() && client.revision.is_none_or(|only| only == *found));
    let revision = agreed.ok_or_else(|| unspoken(&answer.protocol_version))?;
    peer.set_dialect(forgiving(revision));
    #[cfg(feature = "http")]
    peer.set_header(crate::headers::PROTOCOL_VERSION, revision.as_str())?;
    let refused = |error| McpConnectError::Call(CallError::NotSent(error));
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
    Ok(McpSession::new(client, peer, agreed))
}
