//! Who is notified of changes: sessions of the legacy era, and open subscriptions of the modern one.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use sabir::{Peer, WeakPeer};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::broadcast;

use crate::bounded;
use crate::server::session::Session;
use crate::types::Meta;

/// A change that clients can be notified of.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources, or of templates.
    Resources,
    /// The resource at this URI.
    Resource(String),
}

impl Change {
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Change::Tools => "notifications/tools/list_changed",
            Change::Prompts => "notifications/prompts/list_changed",
            Change::Resources => "notifications/resources/list_changed",
            Change::Resource(_) => "notifications/resources/updated",
        }
    }
}

/// URIs that are read of one request, whatever the limits are.
const MOST_URIS: usize = 65_536;

/// What a subscription asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Interests {
    /// Changes of the list of tools.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tools_list_changed: bool,
    /// Changes of the list of prompts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub prompts_list_changed: bool,
    /// Changes of the list of resources.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub resources_list_changed: bool,
    /// Changes of the resources at these URIs.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded::list::<MOST_URIS, _, _>")]
    pub resource_subscriptions: Vec<String>,
    /// Fields of extensions, for a client that asks. A server reads its own.
    #[serde(skip)]
    pub extensions: Meta,
}

impl Interests {
    pub(crate) fn wants(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools_list_changed,
            Change::Prompts => self.prompts_list_changed,
            Change::Resources => self.resources_list_changed,
            Change::Resource(uri) => self.resource_subscriptions.contains(uri),
        }
    }

    /// Everything that is wanted, for one who may have missed some of it.
    pub(crate) fn all(&self) -> Vec<Change> {
        let lists = [Change::Tools, Change::Prompts, Change::Resources];
        let resources = self.resource_subscriptions.iter().cloned().map(Change::Resource);
        lists.into_iter().filter(|change| self.wants(change)).chain(resources).collect()
    }
}

/// Changes that a slow subscription may be behind before it is notified of everything at once.
const BACKLOG: usize = 64;

pub(crate) struct Subscribers {
    sessions: Mutex<Vec<(WeakPeer, Weak<Session>)>>,
    changes: broadcast::Sender<Change>,
}

impl Subscribers {
    pub(crate) fn new() -> Self {
        Subscribers { sessions: Mutex::default(), changes: broadcast::Sender::new(BACKLOG) }
    }

    /// A session of the legacy era, from here on.
    pub(crate) fn join(&self, peer: &Peer, session: &Arc<Session>) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that are gone are put out when their room is wanted.
        if sessions.len() == sessions.capacity() {
            sessions.retain(|(peer, _)| peer.upgrade().is_some());
        }
        sessions.push((peer.downgrade(), Arc::downgrade(session)));
    }

    /// A subscription of the modern era receives every change and filters.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Tells everybody. A session whose peer leaves too much unread misses it.
    pub(crate) fn tell(&self, change: &Change) {
        let _ = self.changes.send(change.clone());
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        for (peer, session) in sessions.iter() {
            let (Some(peer), Some(session)) = (peer.upgrade(), session.upgrade()) else { continue };
            let _ = match change {
                Change::Resource(uri) if session.is_subscribed(uri) => {
                    peer.try_notify(change.method(), json!({"uri": uri}))
                }
                Change::Resource(_) => Ok(()),
                _ => peer.try_notify(change.method(), ()),
            };
        }
    }
}
