//! Takes messages from NATS, and passes them on to the session that they belong to.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use async_nats::connection::State;
use async_nats::message::OutboundMessage;
use async_nats::{Client, Event, Message, ServerError, StatusCode, SubscribeError, Subscriber};
use bytes::Bytes;
use foldhash::fast::RandomState;
use futures_util::stream::{SelectAll, select_all};
use futures_util::{FutureExt, Sink, StreamExt};
use sabir_proto::ErrorCode;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::server::budget::MemoryBudget;
use crate::server::nats::link::{LinkParts, WorkerLink, refusal};
use crate::server::nats::micro::{Identity, Stats, Verb, digest};
use crate::server::nats::session::{Handle, Item, Session, Shared};
use crate::server::nats::{Settings, leaving};
use crate::transport::nats::connect::{Events, Reopening, connect_reopening};
use crate::transport::nats::wire::{self, Status};
use crate::{Error, ErrorObject, Observed, WorkerEvent};

/// How often it is looked for sessions that nobody uses, and after how long they are ended.
const SWEEP: Duration = Duration::from_secs(10);
const UNUSED_MILLIS: u64 = 60_000;

/// How often and after how long, if there is little room for others.
const SWEEP_WHEN_FULL: Duration = Duration::from_millis(100);

/// What a message takes beside its bytes.
const PER_MESSAGE: usize = 256;

/// How long what was said last may take to be written.
const FLUSH: Duration = Duration::from_secs(2);

/// Messages that are passed on before others have their turn.
const AT_ONCE: usize = 64;

/// Refusals that wait for the server before nothing more is taken: what comes then waits in its subscription.
const MOST_UNSENT: usize = 1024;

/// Why a worker no longer takes messages.
pub(super) enum End {
    Stopped,
    /// The server is about to stop.
    Moving,
    Lost(String),
}

/// One connection of a worker.
pub(super) struct Dispatcher {
    settings: Arc<Settings>,
    client: Client,
    events: Events,
    reopening: Reopening,
    /// Nothing while the connection is lost, and once the group is left.
    calls: Option<Subscriber>,
    direct: Subscriber,
    micro: SelectAll<Subscriber>,
    identity: Identity,
    /// Where this worker alone is reached. A session follows.
    own_subject: String,
    stats: Arc<Stats>,
    sessions: HashMap<Box<str>, Handle, RandomState>,
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
    began: Instant,
    idle: Arc<Notify>,
    /// Bytes that wait for all sessions.
    queued: Arc<AtomicUsize>,
    /// What all sessions hold of messages that have come in part.
    parts: Arc<MemoryBudget>,
    /// What the sessions do not say themselves: refusals, and who is here.
    outbox: VecDeque<OutboundMessage>,
    /// When it was last looked for sessions that nobody uses.
    swept: Instant,
    /// Messages to the group since it was joined.
    delivered: u64,
    /// The server has counted from the same message on.
    counts_agree: bool,
    /// The connection was lost, and is not back yet.
    is_lost: bool,
}

impl Dispatcher {
    /// Connects to one of the servers that the URL names or that are known otherwise, and joins the group there.
    pub(super) async fn start(settings: Arc<Settings>, known: &[String]) -> Result<Dispatcher, Error> {
        let Settings { url, nats, service, .. } = &*settings;
        let (client, events, reopening) = connect_reopening(url, nats, &nats.tls, service, known).await?;
        let failed = |error: &dyn std::fmt::Display| {
            let source = std::io::Error::other(error.to_string());
            Error::Bind { url: settings.url.to_string(), source }
        };
        let identity = Identity {
            service: settings.service.clone(),
            instance: wire::unique_name(),
            version: settings.nats.version.clone(),
            description: settings.nats.description.clone(),
            dialect: settings.config.dialect.name,
            openrpc: settings.routes.document().and_then(|document| digest(document.as_str())),
            subject: wire::calls_subject(&settings.service),
            started: SystemTime::now(),
        };
        let own_subject = wire::instance_subject(&identity.service, &identity.instance);
        let direct = client.subscribe(format!("{own_subject}.*")).await.map_err(|error| failed(&error))?;
        let mut micro = Vec::new();
        for subject in identity.subjects() {
            micro.push(client.subscribe(subject).await.map_err(|error| failed(&error))?);
        }
        // Calls may come from here on.
        let joined = client.queue_subscribe(identity.subject.clone(), wire::QUEUE.to_owned()).await;
        let calls = joined.map_err(|error| failed(&error))?;
        let mut dispatcher = Dispatcher {
            client,
            events,
            reopening,
            calls: Some(calls),
            direct,
            micro: select_all(micro),
            identity,
            own_subject,
            stats: Arc::default(),
            sessions: HashMap::default(),
            tasks: JoinSet::new(),
            stop: watch::channel(false).0,
            began: Instant::now(),
            idle: Arc::default(),
            queued: Arc::default(),
            parts: MemoryBudget::new(settings.connections.total_bytes / 2),
            outbox: VecDeque::new(),
            swept: Instant::now(),
            delivered: 0,
            counts_agree: true,
            is_lost: false,
            settings: Arc::clone(&settings),
        };
        dispatcher.wait_until_subscribed().await.map_err(|reason| failed(&reason))?;
        Ok(dispatcher)
    }

    /// The servers of the cluster, as the one that it is connected to has told.
    pub(super) fn known_servers(&self) -> Vec<String> {
        self.client.server_info().connect_urls
    }

    /// The server takes things in order: once a message to ourselves is back, or was refused, it has seen all the rest.
    async fn wait_until_subscribed(&mut self) -> Result<(), String> {
        let echo = format!("{}.echo", self.own_subject);
        let published = self.client.publish(echo.clone(), Bytes::new()).await;
        published.map_err(|error| error.to_string())?;
        loop {
            tokio::select! {
                message = self.direct.next() => match message {
                    Some(message) if message.subject.as_str() == echo => {
                        // What was refused was refused before.
                        while let Ok(event) = self.events.try_recv() {
                            check_subscribed(&event)?;
                        }
                        return Ok(());
                    }
                    Some(message) => self.take_direct(message),
                    None => return Err("the connection was closed".to_owned()),
                },
                event = self.events.recv() => match event {
                    Some(Event::ServerError(ServerError::Other(text))) if text.contains("for Publish to") => {
                        return Ok(());
                    }
                    Some(event) => check_subscribed(&event)?,
                    None => return Err("the connection was closed".to_owned()),
                },
            }
        }
    }

    /// Passes messages on until it is told to stop, or has to leave the server.
    pub(super) async fn run(&mut self, stop: &mut watch::Receiver<bool>) -> End {
        let mut sweep = tokio::time::interval(SWEEP);
        loop {
            let has_room = self.outbox.len() < MOST_UNSENT;
            tokio::select! {
                () = send(&mut self.client, &mut self.outbox), if !self.outbox.is_empty() => {}
                message = next_call(&mut self.calls), if has_room => match message {
                    Some(message) => self.take_calls(message),
                    None => return End::Lost("the connection to NATS was closed".to_owned()),
                },
                Some(message) = self.direct.next(), if has_room => self.take_direct(message),
                Some(message) = self.micro.next(), if has_room => self.answer_micro(&message),
                Some(ready) = self.reopening.recv() => self.leave_lost_group(ready),
                Some(event) = self.events.recv() => {
                    if let Some(end) = self.happened(&event) {
                        return end;
                    }
                    if event == Event::Connected && self.calls.is_none() && let Err(error) = self.join().await {
                        return End::Lost(error.to_string());
                    }
                }
                Some(_) = self.tasks.join_next() => {}
                _ = sweep.tick() => self.sweep(UNUSED_MILLIS),
                () = stopped(stop) => return End::Stopped,
            }
        }
    }

    fn happened(&mut self, event: &Event) -> Option<End> {
        match event {
            Event::LameDuckMode => {
                self.tell(WorkerEvent::ServerStopping);
                return Some(End::Moving);
            }
            Event::Closed => return Some(End::Lost("the connection to NATS was closed".to_owned())),
            Event::Disconnected => {
                self.counts_agree = false;
                if !std::mem::replace(&mut self.is_lost, true) {
                    self.tell(WorkerEvent::ConnectionLost);
                }
            }
            Event::Connected => {
                if std::mem::take(&mut self.is_lost) {
                    self.tell(WorkerEvent::ConnectionRestored);
                }
            }
            // Each attempt to open the connection again fails like the one before.
            Event::ClientError(_) if self.is_lost => {
                #[cfg(feature = "tracing")]
                tracing::debug!(service = self.identity.service, "NATS: {event}");
            }
            Event::SlowConsumer(_) | Event::ServerError(_) | Event::ClientError(_) => {
                let text = event.to_string();
                self.stats.failed(&text);
                let text = sabir_proto::escape_controls(&text);
                self.tell(match event {
                    Event::SlowConsumer(_) | Event::ServerError(ServerError::SlowConsumer(_)) => {
                        WorkerEvent::SlowConsumer
                    }
                    Event::ServerError(_) => WorkerEvent::Refused(&text),
                    _ => WorkerEvent::Failed(&text),
                });
            }
            _ => {}
        }
        None
    }

    /// Says what has happened to the connection, to observers and in the log.
    fn tell(&self, event: WorkerEvent<'_>) {
        #[cfg(feature = "tracing")]
        {
            let service = &*self.identity.service;
            match event {
                WorkerEvent::ConnectionLost => {
                    tracing::warn!(service, "the connection to NATS was lost: it is opened again");
                }
                WorkerEvent::ConnectionRestored => {
                    tracing::warn!(service, "the connection to NATS is back");
                }
                WorkerEvent::ServerStopping => {
                    tracing::warn!(service, "the server of NATS is about to stop");
                }
                WorkerEvent::SlowConsumer => {
                    tracing::warn!(service, "messages from NATS came faster than they were read");
                }
                WorkerEvent::Refused(text) | WorkerEvent::Failed(text) => {
                    tracing::warn!(service, "NATS: {text}");
                }
            }
        }
        self.settings.routes.tell(&Observed::Worker(event));
    }

    /// Takes what the lost connection has brought, before it is opened again. Nothing more comes of it, and the client
    /// forgets the subscription: another one begins to count where the next server does.
    fn leave_lost_group(&mut self, ready: oneshot::Sender<()>) {
        // It was opened meanwhile, without waiting any longer.
        if ready.is_closed() {
            return;
        }
        while let Some(calls) = &mut self.calls {
            // All of it, however much a task may do at once.
            match tokio::task::unconstrained(calls.next()).now_or_never() {
                Some(Some(message)) => self.take_call(message),
                Some(None) | None => self.calls = None,
            }
        }
        // Whoever opens the connection again waits for this.
        drop(ready);
    }

    /// Joins the group again.
    async fn join(&mut self) -> Result<(), SubscribeError> {
        let subject = self.identity.subject.clone();
        self.calls = Some(self.client.queue_subscribe(subject, wire::QUEUE.to_owned()).await?);
        (self.delivered, self.counts_agree) = (0, true);
        Ok(())
    }

    /// Passes on what is there, for a while.
    fn take_calls(&mut self, message: Message) {
        self.delivered += 1;
        self.take_call(message);
        for _ in 0..AT_ONCE.min(MOST_UNSENT.saturating_sub(self.outbox.len())) {
            let Some(Some(message)) = next_call(&mut self.calls).now_or_never() else { return };
            self.delivered += 1;
            self.take_call(message);
        }
    }

    fn take_call(&mut self, message: Message) {
        if leaving::is_filler(&message) {
            return;
        }
        let reply = message.reply.clone();
        let session = reply.as_deref().and_then(wire::session_of).map(|(session, _)| session);
        self.pass_on(session, message);
    }

    /// Something for this worker alone.
    fn take_direct(&mut self, message: Message) {
        let Some((_, session)) = message.subject.rsplit_once('.') else { return };
        let session = session.to_owned();
        // Nobody takes what was sent to the caller, or it has said goodbye.
        if message.status == Some(StatusCode::NO_RESPONDERS) || Status::of(&message) == Some(Status::Closed) {
            if let Some(handle) = self.sessions.remove(session.as_str()) {
                let _ = handle.send.send(Item::Close);
            }
            return;
        }
        if !message.payload.is_empty() {
            self.pass_on(Some(&session), message);
        }
    }

    fn pass_on(&mut self, session: Option<&str>, message: Message) {
        let Some(session) = session else { return self.answer_single(message) };
        let limit = 2 * self.settings.config.limits.message_bytes;
        let handle = match self.sessions.get(session) {
            Some(handle) => handle,
            None => {
                if self.is_full() {
                    return self.refuse(message);
                }
                let own_subject = format!("{}.{session}", self.own_subject);
                let handle = self.spawn(Some(own_subject));
                &*self.sessions.entry(session.into()).or_insert(handle)
            }
        };
        let all = self.settings.connections.total_bytes / 2;
        let length = weight(&message);
        if handle.load.queued.load(Ordering::Acquire) > limit || self.queued.load(Ordering::Acquire) > all {
            return self.refuse(message);
        }
        handle.load.add(length);
        if let Err(unsent) = handle.send.send(Item::Message(message)) {
            // It has ended meanwhile; another one takes its place.
            self.sessions.remove(session);
            if let Item::Message(message) = unsent.0 {
                self.pass_on(Some(session), message);
            }
        }
    }

    /// Answers somebody who knows of no sessions.
    fn answer_single(&mut self, message: Message) {
        if self.is_full() {
            return self.refuse(message);
        }
        let handle = self.spawn(None);
        handle.load.add(weight(&message));
        let _ = handle.send.send(Item::Message(message));
    }

    /// Whether there is no room for another session. Those that nobody uses make some, before it comes to that.
    fn is_full(&mut self) -> bool {
        let (open, most) = (self.tasks.len(), self.settings.connections.total);
        if open >= most - most / 4 && self.swept.elapsed() > SWEEP_WHEN_FULL {
            let unused_for = if open >= most { 0 } else { SWEEP_WHEN_FULL.as_millis() as u64 };
            self.sweep(unused_for);
        }
        open >= most
    }

    fn spawn(&mut self, own_subject: Option<String>) -> Handle {
        let parts = LinkParts {
            client: self.client.clone(),
            nats: self.settings.nats.clone(),
            stats: Arc::clone(&self.stats),
            message_bytes: self.settings.config.limits.message_bytes,
            parts: Arc::clone(&self.parts),
            own_subject: own_subject.map(Into::into),
        };
        let is_single = parts.own_subject.is_none();
        let at = Shared { began: self.began, idle: Arc::clone(&self.idle), queued: Arc::clone(&self.queued) };
        let link = |inbox| WorkerLink::new(parts, inbox);
        let (session, handle) = Session::new(&self.settings, at, self.stop.subscribe(), is_single, link);
        self.tasks.spawn(session);
        handle
    }

    /// There is no room for a message.
    fn refuse(&mut self, message: Message) {
        let error = ErrorObject::standard(ErrorCode::OVERLOADED);
        self.stats.failed(&error.message);
        let Some(reply) = message.reply else { return };
        let (text, headers) = refusal(&error);
        let refusal = OutboundMessage { subject: reply, reply: None, payload: text, headers: Some(headers) };
        self.outbox.push_back(refusal);
    }

    fn answer_micro(&mut self, message: &Message) {
        let (Some(verb), Some(reply)) = (Verb::of(&message.subject), message.reply.clone()) else { return };
        let payload = self.identity.answer(verb, &self.stats).into();
        self.outbox.push_back(OutboundMessage { subject: reply, reply: None, payload, headers: None });
    }

    /// Ends sessions that nobody has used for so long.
    fn sweep(&mut self, millis: u64) {
        self.swept = Instant::now();
        let now = self.began.elapsed().as_millis() as u64;
        self.sessions.retain(|_, handle| !handle.send.is_closed() && !handle.load.is_unused(now, millis));
    }

    /// Takes no more calls, finishes those that are there, and says goodbye. They have time without end until the worker
    /// is told to stop, and then as much as it grants.
    pub(super) async fn finish(mut self, grace: Duration, mut stop: watch::Receiver<bool>) {
        let stopped_at = stop.borrow().then(Instant::now);
        // Whoever takes over answers them.
        self.micro = SelectAll::new();
        self.leave().await;
        let limit = async {
            stopped(&mut stop).await;
            tokio::time::sleep_until(stopped_at.unwrap_or_else(Instant::now) + grace).await;
        };
        let mut limit = std::pin::pin!(limit);
        // What is open may finish. Messages for this worker alone still come: cancels, and the rest of large ones.
        let idle = Arc::clone(&self.idle);
        loop {
            let told = idle.notified();
            let mut told = std::pin::pin!(told);
            told.as_mut().enable();
            while self.tasks.try_join_next().is_some() {}
            self.sessions.retain(|_, handle| !handle.send.is_closed());
            if self.sessions.values().all(|handle| handle.load.is_idle())
                && self.tasks.len() <= self.sessions.len()
            {
                break;
            }
            tokio::select! {
                () = told => {}
                Some(_) = self.tasks.join_next() => {}
                Some(message) = self.direct.next() => self.take_direct(message),
                () = &mut limit => break,
            }
        }
        self.stop.send_replace(true);
        let within = self.goodbye();
        let ending = async {
            while !self.tasks.is_empty() {
                tokio::select! {
                    _ = self.tasks.join_next() => {}
                    Some(message) = self.direct.next() => {
                        // They have been told to stop: only the news that a caller is gone matters.
                        if message.status == Some(StatusCode::NO_RESPONDERS) {
                            self.take_direct(message);
                        }
                    }
                }
            }
        };
        let _ = tokio::time::timeout(within, ending).await;
        let within = self.goodbye();
        let flushing = async {
            send(&mut self.client, &mut self.outbox).await;
            let _ = self.client.flush().await;
        };
        let _ = tokio::time::timeout(within, flushing).await;
    }

    /// How long the last messages may take. Without a server nobody takes them.
    fn goodbye(&self) -> Duration {
        match self.client.connection_state() {
            State::Connected => FLUSH,
            _ => Duration::ZERO,
        }
    }

    /// Leaves the group of workers. What still comes is passed on.
    async fn leave(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.happened(&event);
        }
        // The connection is not held up any more. If it is lost already, there is nothing to leave.
        if let Ok(ready) = std::mem::replace(&mut self.reopening, mpsc::channel(1).1).try_recv() {
            self.leave_lost_group(ready);
        }
        let Some(mut calls) = self.calls.take() else { return };
        let (client, subject, grace) =
            (self.client.clone(), self.identity.subject.clone(), self.settings.grace);
        let (delivered, counts_agree) = (self.delivered, self.counts_agree);
        let mut events = std::mem::replace(&mut self.events, mpsc::channel(1).1);
        let take = |message| self.take_call(message);
        let leaving = async {
            match counts_agree {
                true => {
                    leaving::leave(&client, &mut calls, &subject, delivered, &mut events, take).await;
                }
                false => leaving::drain(&mut calls, take).await,
            }
        };
        // While there is no server, the client takes what it has room for and then nothing more.
        let _ = tokio::time::timeout(leaving::WITHIN.min(grace), leaving).await;
    }
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// What a message takes while it waits.
pub(super) fn weight(message: &Message) -> usize {
    message.length + PER_MESSAGE
}

/// Hands over what waits for the server. Nobody is there to be told if that fails.
async fn send(client: &mut Client, outbox: &mut VecDeque<OutboundMessage>) {
    let mut client = Pin::new(client);
    while !outbox.is_empty() {
        if std::future::poll_fn(|cx| client.as_mut().poll_ready(cx)).await.is_err() {
            return outbox.clear();
        }
        if let Some(message) = outbox.pop_front() {
            let _ = client.as_mut().start_send(message);
        }
    }
}

async fn next_call(calls: &mut Option<Subscriber>) -> Option<Message> {
    match calls {
        Some(calls) => calls.next().await,
        None => std::future::pending().await,
    }
}

/// Fails if the server has refused a subscription.
fn check_subscribed(event: &Event) -> Result<(), String> {
    match event {
        Event::ServerError(error) => Err(sabir_proto::escape_controls(&error.to_string()).into_owned()),
        Event::Disconnected | Event::Closed => Err("the connection was lost".to_owned()),
        _ => Ok(()),
    }
}
