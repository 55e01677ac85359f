//! The sessions that are open: found by their ids, ended when they are left alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::HeaderValue;
use sabir_proto::{Config, Framing};
use tokio::time::{Instant, sleep_until};

use crate::peer::Peer;
use crate::peer::commands::{Wish, lock};
use crate::runtime::connection::Connection;
use crate::runtime::message_transport::Messages;
use crate::server::http::config::{Identity, Sessions};
use crate::server::http::service::Inner;
use crate::server::http::session::hub::Hub;
use crate::server::http::session::link::SessionLink;
use crate::server::http::session::{Refusal, new_id};
use crate::transport::seed;

pub(crate) struct Session {
    pub(crate) id: HeaderValue,
    pub(crate) hub: Arc<Hub>,
    /// Who opened it.
    pub(crate) owner: Option<Identity>,
    peer: Peer,
}

/// The sessions by their ids.
#[derive(Default)]
pub(crate) struct Table(Mutex<HashMap<HeaderValue, Arc<Session>>>);

impl Table {
    pub(crate) fn get(&self, id: &[u8]) -> Option<Arc<Session>> {
        lock(&self.0).get(&HeaderValue::from_bytes(id).ok()?).cloned()
    }

    /// Ends a session: nobody finds it any more, and what is open is answered with an error.
    pub(crate) fn end(&self, session: &Session) {
        lock(&self.0).remove(&session.id);
        let _ = session.peer.shared.wish(Wish::Shutdown(Duration::ZERO));
    }

    /// Opens a session, which runs in a task of its own.
    pub(crate) fn open(
        inner: &Arc<Inner>,
        sessions: &Sessions,
        owner: Option<Identity>,
    ) -> Result<Arc<Session>, Refusal> {
        inner.sessions.make_room(sessions.most)?;
        let config = Config { framing: Some(Framing::Whole), one_way: false, seed: seed(), ..inner.config };
        let hub = Arc::new(Hub::new(sessions));
        let link = SessionLink::new(Arc::clone(&hub));
        let connection = Connection::new(config, Arc::clone(&inner.routes), Messages::new(link, None), None);
        let peer = connection.peer();
        let session = Arc::new(Session { id: new_id()?, hub, owner, peer });
        lock(&inner.sessions.0).insert(session.id.clone(), Arc::clone(&session));
        tokio::spawn(run(Arc::clone(inner), Arc::clone(&session), connection, sessions.idle));
        Ok(session)
    }

    /// Ends the session that has been idle longest, if there are too many.
    fn make_room(&self, most: usize) -> Result<(), Refusal> {
        let table = lock(&self.0);
        if table.len() < most {
            return Ok(());
        }
        let idle = table.values().filter_map(|session| Some((session.hub.idle_since()?, session)));
        let oldest = idle.min_by_key(|(since, _)| *since).map(|(_, session)| Arc::clone(session));
        drop(table);
        match oldest {
            Some(session) => {
                self.end(&session);
                Ok(())
            }
            None => Err(Refusal::too_many_sessions()),
        }
    }
}

/// Runs a session until it has ended, is left alone, or the server stops.
async fn run(
    inner: Arc<Inner>,
    session: Arc<Session>,
    connection: Connection<Messages<SessionLink>>,
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
                let _ = session.peer.shared.wish(Wish::Shutdown(inner.stop.grace));
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
    lock(&inner.sessions.0).remove(&session.id);
}
