//! What one caller says to one worker: a connection in its own task.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use async_nats::Message;
use sabir_proto::{Config, Framing};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::Instant;

use crate::runtime::connection::Connection;
use crate::runtime::message_transport::MessageTransport;
use crate::server::nats::Settings;
use crate::server::nats::link::{SessionEnd, WorkerLink};
use crate::transport::seed;

/// Something for a session.
pub(super) enum Item {
    Message(Message),
    /// The caller is gone.
    Close,
}

/// What a session and those who send to it share.
pub(super) struct Load {
    /// Bytes that it was sent, and has not looked at.
    pub(super) queued: AtomicUsize,
    /// The same of all sessions.
    all_queued: Arc<AtomicUsize>,
    /// It has something to answer.
    busy: AtomicBool,
    /// It is more than its requests: a caller sticks to it, or has subscribed.
    held: AtomicBool,
    /// When it last did something, in milliseconds since the worker started.
    active: AtomicU64,
    /// Is told when a session has answered everything.
    pub(super) idle: Arc<Notify>,
}

impl Load {
    /// So many bytes are on their way to it.
    pub(super) fn add(&self, bytes: usize) {
        self.queued.fetch_add(bytes, Ordering::AcqRel);
        self.all_queued.fetch_add(bytes, Ordering::AcqRel);
    }

    fn taken(&self, bytes: usize) {
        self.queued.fetch_sub(bytes, Ordering::Release);
        self.all_queued.fetch_sub(bytes, Ordering::Release);
    }

    /// Whether everything that was sent is answered.
    pub(super) fn is_idle(&self) -> bool {
        self.queued.load(Ordering::Acquire) == 0 && !self.busy.load(Ordering::Acquire)
    }

    /// Whether nothing would be lost if it ended, and nothing was done for so long.
    pub(super) fn is_unused(&self, now: u64, for_millis: u64) -> bool {
        let silent = now.saturating_sub(self.active.load(Ordering::Relaxed)) >= for_millis;
        silent && self.is_idle() && !self.held.load(Ordering::Relaxed)
    }
}

/// What all sessions of a connection share.
pub(super) struct Shared {
    /// When the worker started.
    pub(super) began: Instant,
    /// Is told when a session has answered everything.
    pub(super) idle: Arc<Notify>,
    /// Bytes that wait for any of them.
    pub(super) queued: Arc<AtomicUsize>,
}

/// The dispatcher's end of a session.
pub(super) struct Handle {
    pub(super) send: mpsc::UnboundedSender<Item>,
    pub(super) load: Arc<Load>,
}

pub(super) struct Session {
    connection: Connection<MessageTransport<WorkerLink>>,
    load: Arc<Load>,
    began: Instant,
    stop: Pin<Box<dyn Future<Output = ()> + Send>>,
    is_stopping: bool,
    ended: bool,
}

impl Session {
    /// A session with its caller, or what answers a single message.
    pub(super) fn new(
        settings: &Arc<Settings>,
        Shared { began, idle, queued }: Shared,
        mut stop: watch::Receiver<bool>,
        is_single: bool,
        link: impl FnOnce(mpsc::UnboundedReceiver<Item>) -> WorkerLink,
    ) -> (Session, Handle) {
        let (send, inbox) = mpsc::unbounded_channel();
        let load = Arc::new(Load {
            queued: AtomicUsize::new(0),
            all_queued: queued,
            busy: AtomicBool::new(false),
            held: AtomicBool::new(false),
            active: AtomicU64::new(began.elapsed().as_millis() as u64),
            idle,
        });
        // Several workers may call one caller: their ids must differ. JavaScript counts to 2^53.
        let ids_above = if is_single { 0 } else { (seed() >> 13) & !0xff_ffff };
        let config = Config {
            framing: Some(Framing::Whole),
            one_way: is_single,
            seed: seed(),
            ids_above,
            ..settings.config
        };
        let io = MessageTransport::new(link(inbox), None);
        let connection = Connection::new(config, Arc::clone(&settings.routes), io, None);
        connection.set_network(Arc::clone(&settings.network));
        let session = Session {
            connection,
            load: Arc::clone(&load),
            began,
            stop: Box::pin(async move {
                let _ = stop.wait_for(|stop| *stop).await;
            }),
            is_stopping: false,
            ended: false,
        };
        (session, Handle { send, load })
    }

    /// Runs it, and cancels what nobody waits for any more.
    fn poll_run(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.connection.poll_run(cx).is_ready() {
                return Poll::Ready(());
            }
            let Some(origin) = self.connection.io.link.poll_expired(cx) else { return Poll::Pending };
            self.connection.expire(origin);
        }
    }

    /// Tells those who wait for it what it has open.
    fn publish_load(&mut self) {
        let usage = self.connection.usage();
        let link = &mut self.connection.io.link;
        let busy = usage.requests > 0 || usage.unsent > 0 || link.has_unsent();
        let load = &self.load;
        load.held.store(usage.sinks > 0 || usage.calls > 0 || link.is_sticky(), Ordering::Relaxed);
        load.busy.store(busy, Ordering::Release);
        let taken = link.take_taken();
        if taken > 0 {
            load.active.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
            load.taken(taken);
        }
        if !busy {
            load.idle.notify_waiters();
        }
    }
}

impl Future for Session {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let session = self.get_mut();
        if !session.ended && session.poll_run(cx).is_ready() {
            session.ended = true;
            let end = if session.is_stopping { SessionEnd::Stopped } else { SessionEnd::Over };
            session.connection.io.link.end(end);
        }
        let usage = session.connection.usage();
        let is_open = !session.ended && (usage.requests > 0 || usage.sinks > 0 || usage.calls > 0);
        let sent = session.connection.io.link.tend(cx, is_open);
        session.publish_load();
        if session.ended {
            return sent;
        }
        if !session.is_stopping && session.stop.as_mut().poll(cx).is_ready() {
            session.is_stopping = true;
            // It had its grace before it was told.
            session.connection.shut_down(Duration::ZERO);
        }
        Poll::Pending
    }
}
