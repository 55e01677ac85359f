//! Who is there: services and their instances, by the micro protocol (ADR-32). Those of others are listed, too.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::Event;
use bytes::Bytes;
use futures_util::StreamExt;
use serde::{Deserialize, Deserializer};
use tokio::time::{Instant, timeout_at};

use super::connect::connect;
use super::options::Nats;
use super::wire;
use crate::Error;
use crate::transport::error::{ConnectError, ConnectErrorKind};
use crate::transport::url::Url;

/// Instances that are listed. Who answers is not known before.
const MOST: usize = 10_000;

/// Bytes of an answer that are looked at.
const LONGEST: usize = 256 << 10;

/// A service, and who serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Service {
    /// Its name.
    pub name: String,
    /// Whether it speaks JSON-RPC, so that `nats://HOST/NAME` can be called.
    pub is_jsonrpc: bool,
    /// Those that serve it, in the order of their ids.
    pub instances: Vec<Instance>,
}

/// One that serves a service.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Instance {
    /// The service's name.
    pub name: String,
    /// Its own.
    pub id: String,
    /// Its version.
    #[serde(default, deserialize_with = "text_or_null")]
    pub version: String,
    /// What it is for.
    #[serde(default, deserialize_with = "text_or_null")]
    pub description: String,
    /// What it says of itself.
    #[serde(default)]
    pub metadata: Option<BTreeMap<String, String>>,
    /// Where it is called.
    #[serde(default)]
    pub endpoints: Option<Vec<Endpoint>>,
}

/// Where a service is called.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Endpoint {
    /// Its name.
    pub name: String,
    /// Its subject.
    pub subject: String,
    /// The queue group that shares its messages.
    #[serde(default, deserialize_with = "text_or_null")]
    pub queue_group: String,
}

/// Services of others say `null` for what they do not say.
fn text_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Option::<String>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Asks who is there, and gathers what comes within so long. The URL may name a service, to ask for that alone.
pub async fn services(url: &Url, nats: Nats, within: Duration) -> Result<Vec<Service>, Error> {
    let (client, mut events) = connect(url, &nats, &nats.tls, "sabir").await?;
    let failed = |error: &dyn std::fmt::Display| Error::config(format!("cannot ask `{url}`: {error}"));
    let inbox = format!("{}.{}", nats.inbox_prefix, wire::unique_name());
    let mut answers = client.subscribe(inbox.clone()).await.map_err(|error| failed(&error))?;
    let subject = match url.path() {
        "/" => "$SRV.INFO".to_owned(),
        service => format!("$SRV.INFO.{}", &service[1..]),
    };
    client.publish_with_reply(subject, inbox, Bytes::new()).await.map_err(|error| failed(&error))?;
    let deadline = Instant::now() + within;
    let mut instances = Vec::new();
    while instances.len() < MOST {
        let answer = tokio::select! {
            biased;
            answer = timeout_at(deadline, answers.next()) => answer,
            Some(event) = events.recv() => match event {
                Event::ServerError(error) => {
                    let reason = format!("NATS does not allow to ask for services: {error}");
                    let reason = sabir_proto::escape_controls(&reason);
                    return Err(ConnectError::new(ConnectErrorKind::Credentials, url.as_str(), reason).into());
                }
                _ => continue,
            },
        };
        let Ok(Some(answer)) = answer else { break };
        // Nobody is there.
        if answer.status.is_some() {
            break;
        }
        if let Some(instance) = read(&answer.payload) {
            instances.push(instance);
        }
    }
    Ok(group(instances))
}

/// What an answer says, if it can be read.
fn read(answer: &[u8]) -> Option<Instance> {
    serde_json::from_slice(answer.get(..answer.len().min(LONGEST))?).ok()
}

fn group(instances: Vec<Instance>) -> Vec<Service> {
    let mut services = BTreeMap::<String, Vec<Instance>>::new();
    for instance in instances {
        services.entry(instance.name.clone()).or_default().push(instance);
    }
    let service = |(name, mut instances): (String, Vec<Instance>)| {
        instances.sort_by(|a, b| a.id.cmp(&b.id));
        let subject = wire::calls_subject(&name);
        let is_ours = |endpoint: &Endpoint| endpoint.subject == subject;
        let mut endpoints = instances.iter().flat_map(|instance| instance.endpoints.iter().flatten());
        let is_jsonrpc = endpoints.any(is_ours);
        Service { name, is_jsonrpc, instances }
    };
    services.into_iter().map(service).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_grouped_by_service() {
        let ours = r#"{"name":"demo","id":"b","version":"1.0.0","endpoints":[{"name":"rpc","subject":"jr.demo.rpc"}]}"#;
        let also = r#"{"name":"demo","id":"a"}"#;
        let other =
            r#"{"name":"clock","id":"c","description":null,"metadata":null,"endpoints":null,"more":[1]}"#;
        let read = |text: &str| read(text.as_bytes());
        assert_eq!(read("{}"), None);
        assert_eq!(read("nonsense"), None);
        let found = group([ours, other, also].into_iter().filter_map(read).collect());
        let told: Vec<_> = found
            .iter()
            .map(|service| {
                let ids: Vec<_> = service.instances.iter().map(|instance| instance.id.as_str()).collect();
                (service.name.as_str(), service.is_jsonrpc, ids)
            })
            .collect();
        assert_eq!(told, [("clock", false, vec!["c"]), ("demo", true, vec!["a", "b"])]);
    }
}
