//! The sessions that are open: found by their ids, ended when they are left alone.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::HeaderValue;
use sabir_proto::{Config, Framing};
use tokio::time::{Instant, sleep_until};

use crate::peer::Peer;
use crate::peer::commands::Command;
use crate::runtime::caller::HttpCaller;
use crate::runtime::connection::Connection;
use crate::runtime::message_transport::MessageTransport;
use crate::server::http::config::{Identity, Remote, Sessions};
use crate::server::http::service::Inner;
use crate::server::http::session::hub::Hub;
use crate::server::http::session::link::SessionLink;
use crate::server::http::session::{Refusal, new_id};
use crate::server::limiter::network;
use crate::server::metered::Metered;
use crate::sync::lock;
use crate::transport::seed;

pub(crate) struct Session {
    pub(crate) id: HeaderValue,
    pub(crate) hub: Arc<Hub>,
    /// Who opened it.
    pub(crate) owner: Option<Identity>,
    /// From which address, where that is known.
    from: Option<IpAddr>,
    /// The number of whoever opened it.
    opener: u64,
    peer: Peer,
}

/// The sessions that are open.
#[derive(Default)]
pub(crate) struct Table(Mutex<Open>);

#[derive(Default)]
struct Open {
    by_id: HashMap<HeaderValue, Arc<Session>>,
    /// The number of the last new opener.
    openers: u64,
}

impl Table {
    pub(crate) fn get(&self, id: &[u8]) -> Option<Arc<Session>> {
        lock(&self.0).by_id.get(&HeaderValue::from_bytes(id).ok()?).cloned()
    }

    /// Ends a session: nobody finds it any more, and what is open is answered with an error.
    pub(crate) fn end(&self, session: &Session) {
        lock(&self.0).by_id.remove(&session.id);
        session.shut_down();
    }

    /// Opens a session, which runs in a task of its own.
    pub(crate) fn open(
        inner: &Arc<Inner>,
        sessions: &Sessions,
        caller: &HttpCaller,
    ) -> Result<Arc<Session>, Refusal> {
        let owner = caller.identity.clone();
        let from = caller.parts().extensions.get::<Remote>().map(|Remote(address)| network(address.ip()));
        let config = Config { framing: Some(Framing::Whole), one_way: false, seed: seed(), ..inner.config };
        let hub = Arc::new(Hub::new(sessions, config.limits.outbound_bytes));
        let link = SessionLink::new(Arc::clone(&hub));
        let id = new_id()?;

        let mut open = lock(&inner.sessions.0);
        let opener = open.opener(inner, owner.as_ref(), from);
        let ended = open.make_room(sessions, opener, owner.is_some() || from.is_some())?;
        let connection =
            Connection::new(config, Arc::clone(&inner.routes), MessageTransport::new(link, None), None);
        let peer = connection.peer();
        let session = Arc::new(Session { id, hub, owner, from, opener, peer });
        open.by_id.insert(session.id.clone(), Arc::clone(&session));
        drop(open);

        if let Some(ended) = ended {
            ended.shut_down();
        }
        let connection = Metered::new(connection, Arc::clone(&inner.budget), |io| io.link.held());
        tokio::spawn(run(Arc::clone(inner), Arc::clone(&session), connection, sessions.idle));
        Ok(session)
    }
}

impl Session {
    fn shut_down(&self) {
        let _ = self.peer.shared.command(Command::Shutdown(Duration::ZERO));
    }
}

impl Open {
    /// The number of whoever opens a session: the same identity, or without any the same address, has the same one.
    fn opener(&mut self, inner: &Inner, owner: Option<&Identity>, from: Option<IpAddr>) -> u64 {
        let same = |session: &&Arc<Session>| match (&session.owner, owner, &inner.http.auth) {
            (Some(one), Some(other), Some(auth)) => (auth.same)(&**one, &**other),
            (None, None, _) => session.from == from,
            _ => false,
        };
        let known = self.by_id.values().find(same).map(|session| session.opener);
        known.unwrap_or_else(|| {
            self.openers += 1;
            self.openers
        })
    }

    /// Takes out the session that has been idle longest, if there are too many: of those that the same opener has, or
    /// else of those of the opener that has the most. So nobody loses a session to somebody who opens many.
    fn make_room(
        &mut self,
        sessions: &Sessions,
        opener: u64,
        is_known: bool,
    ) -> Result<Option<Arc<Session>>, Refusal> {
        let mut counts: HashMap<u64, usize> = HashMap::new();
        self.by_id.values().for_each(|session| *counts.entry(session.opener).or_default() += 1);
        let has_too_many = is_known && counts.get(&opener).is_some_and(|&own| own >= sessions.per_caller);
        if !has_too_many && self.by_id.len() < sessions.most {
            return Ok(None);
        }
        let oldest_of = |opener: u64| {
            let its = self.by_id.values().filter(|session| session.opener == opener);
            let idle = its.filter_map(|session| Some((session.hub.idle_since()?, session)));
            idle.min_by_key(|(since, _)| *since).map(|(_, session)| Arc::clone(session))
        };
        let oldest = if has_too_many {
            oldest_of(opener)
        } else {
            let mut openers: Vec<_> = counts.into_iter().collect();
            openers.sort_unstable_by_key(|&(opener, count)| (Reverse(count), opener));
            // Whoever has fewer than the one who asks does not make room for it.
            let own = openers.iter().find(|(known, _)| *known == opener).map_or(0, |(_, count)| *count);
            openers.into_iter().filter(|(_, count)| *count >= own).find_map(|(opener, _)| oldest_of(opener))
        };
        let oldest = oldest.ok_or_else(Refusal::too_many_sessions)?;
        self.by_id.remove(&oldest.id);
        Ok(Some(oldest))
    }
}

/// Runs a session until it has ended, is left alone, or the server stops.
async fn run(
    inner: Arc<Inner>,
    session: Arc<Session>,
    connection: Metered<MessageTransport<SessionLink>>,
    idle: Duration,
) {
    let mut connection = std::pin::pin!(connection);
    let mut stop = std::pin::pin!(inner.stop.clone().wait());
    let mut stopping = false;
    loop {
        let since = session.hub.idle_since();
        let deadline = since.unwrap_or_else(Instant::now) + idle;
        tokio::select! {
            _ = &mut connection => break,
            () = &mut stop, if !stopping => {
                stopping = true;
                let _ = session.peer.shared.command(Command::Shutdown(inner.stop.grace));
            }
            () = sleep_until(deadline), if !stopping => {
                if since.is_some() && session.hub.idle_since() == since {
                    stopping = true;
                    inner.sessions.end(&session);
                }
            }
        }
    }
    session.hub.close();
    lock(&inner.sessions.0).by_id.remove(&session.id);
}
