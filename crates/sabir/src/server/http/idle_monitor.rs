//! Watches over a connection of HTTP: what takes too long is ended.
//!
//! One look every few seconds costs less than a timer for each request would.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use http_body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::runtime::turn::TURN;
use crate::server::activity::{Activity, Doing};
use crate::server::http::{HeadWatch, sse};
use crate::server::lingering_close::LingeringClose;
use crate::transport::Duplex;

/// How often is looked.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

/// What may take how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeouts {
    /// From the first byte of a request to the end of its head.
    pub(crate) head: Duration,
    /// From the end of an answer to the next request.
    pub(crate) idle: Duration,
    /// From the end of a head to the end of its body.
    pub(crate) body: Duration,
    /// While the peer reads nothing of what is to be sent.
    pub(crate) stall: Duration,
    /// From the moment that the server stops to the end of what is open.
    pub(crate) stop: Duration,
}

/// What is known of a connection: moments are in milliseconds since its start, and 0 is never.
pub(crate) struct ActivityMonitor {
    start: Instant,
    /// What others know of it.
    activity: Arc<Activity>,
    /// Since when a head is being read.
    head: AtomicU64,
    /// When the last answer ended, or something was read.
    active: AtomicU64,
    /// Since when nothing can be written.
    write_blocked_since: AtomicU64,
    /// When the connection was last given a turn, in microseconds.
    turn: AtomicU64,
    /// Requests that are being answered.
    busy: AtomicUsize,
    /// Frames that belong to no request may come at any time: only before the first request are bytes the start of
    /// one.
    framed: bool,
    pending: AtomicBool,
    /// Answers of HTTP/2 of which the peer takes nothing for now, although it reads what else there is.
    held: AtomicUsize,
    /// When it last took something of any of them.
    last_taken: AtomicU64,
}

impl ActivityMonitor {
    /// Watches over HTTP/1, or over the frames of HTTP/2.
    pub(crate) fn new(framed: bool, activity: Arc<Activity>) -> Arc<Self> {
        Arc::new(ActivityMonitor {
            start: Instant::now(),
            activity,
            head: AtomicU64::new(0),
            active: AtomicU64::new(1),
            write_blocked_since: AtomicU64::new(0),
            turn: AtomicU64::new(0),
            busy: AtomicUsize::new(0),
            framed,
            pending: AtomicBool::new(false),
            held: AtomicUsize::new(0),
            last_taken: AtomicU64::new(0),
        })
    }

    fn now(&self) -> u64 {
        self.moment(Instant::now())
    }

    fn moment(&self, now: Instant) -> u64 {
        ((now - self.start).as_millis() as u64).max(1)
    }

    /// A request has come. It is busy until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> Busy {
        self.head.store(0, Relaxed);
        self.pending.store(true, Relaxed);
        self.busy.fetch_add(1, Relaxed);
        self.activity.set(Doing::Waiting);
        Busy(Arc::clone(self))
    }

    /// The connection is given a turn.
    pub(crate) fn begin_turn(&self) {
        self.turn.store(self.start.elapsed().as_micros() as u64, Relaxed);
    }

    /// Whether requests that follow one another have kept the thread for so long that others come first. In HTTP/2
    /// each request has a task to itself, and the runtime shares the time out.
    pub(crate) fn is_turn_over(&self) -> bool {
        let turn = Duration::from_micros(self.turn.load(Relaxed));
        !self.framed && self.start.elapsed().saturating_sub(turn) >= TURN
    }

    /// Something was read: of a head, unless a request is being answered.
    fn read(&self) -> bool {
        let is_head = self.busy.load(Relaxed) == 0 && !(self.framed && self.pending.load(Relaxed));
        if is_head && self.head.load(Relaxed) == 0 {
            self.head.store(self.now(), Relaxed);
        }
        is_head
    }

    /// Whether nothing is open, so that it can end gracefully.
    pub(crate) fn is_idle(&self) -> bool {
        self.busy.load(Relaxed) == 0
    }

    /// Whether something has taken too long.
    fn is_expired(&self, timeouts: Timeouts) -> bool {
        let now = self.now();
        let past =
            |since: u64, limit: Duration| since > 0 && Duration::from_millis(now - since.min(now)) > limit;
        let waiting = self.busy.load(Relaxed) == 0;
        past(self.write_blocked_since.load(Relaxed), timeouts.stall)
            || self.held.load(Relaxed) > 0 && past(self.last_taken.load(Relaxed), timeouts.stall)
            || waiting && past(self.head.load(Relaxed), timeouts.head)
            || waiting && self.head.load(Relaxed) == 0 && past(self.active.load(Relaxed), timeouts.idle)
    }

    /// Waits until something has taken too long.
    pub(crate) async fn wait_until_expired(&self, timeouts: Timeouts) {
        let mut look = tokio::time::interval(CHECK_INTERVAL);
        loop {
            look.tick().await;
            if self.is_expired(timeouts) {
                return;
            }
        }
    }
}

/// A request that is being answered.
pub(crate) struct Busy(Arc<ActivityMonitor>);

impl Drop for Busy {
    fn drop(&mut self) {
        let now = Instant::now();
        self.0.active.store(self.0.moment(now), Relaxed);
        self.0.activity.touch(now);
        if self.0.busy.fetch_sub(1, Relaxed) == 1 {
            self.0.activity.set(Doing::Nothing);
        }
    }
}

/// A stream that is watched.
pub(crate) struct Watched<S> {
    pub(crate) stream: S,
    pub(crate) monitor: Arc<ActivityMonitor>,
    pub(crate) heads: HeadWatch,
    pub(crate) linger: LingeringClose,
    /// The input has ended, and the next read says so.
    pub(crate) ended: bool,
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        // At the end of the input hyper drops the request at hand, also if its answer only waits to be polled once more.
        // So the service has a turn first.
        if buffer.filled().len() == before && buffer.remaining() > 0 && !self.ended {
            self.ended = true;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.monitor.read() {
            self.heads.watch(&buffer.filled()[before..]);
        } else {
            self.heads.reset();
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Watched<S> {
    fn wrote<T>(&self, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.monitor.write_blocked_since.store(0, Relaxed);
        } else if self.monitor.write_blocked_since.load(Relaxed) == 0 {
            self.monitor.write_blocked_since.store(self.monitor.now(), Relaxed);
        }
        written
    }
}

impl<S: Duplex> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.wrote(flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Watched { stream, linger, .. } = &mut *self;
        linger.poll_close(cx, stream)
    }
}

/// The body of an answer: as long as it is there, its connection is busy.
pub(crate) struct BusyBody<B> {
    body: B,
    busy: Busy,
    /// In HTTP/2 each answer is read at its own pace, which the socket does not show.
    paced: bool,
    /// Something was handed over, and nothing more is asked for yet.
    held: bool,
}

impl<B> BusyBody<B> {
    pub(crate) fn new(body: B, busy: Busy, version: Version) -> Self {
        BusyBody { body, busy, paced: version == Version::HTTP_2, held: false }
    }

    fn hold(&mut self, hold: bool) {
        let monitor = &self.busy.0;
        match (self.held, hold) {
            (false, true) => {
                monitor.last_taken.store(monitor.now(), Relaxed);
                monitor.held.fetch_add(1, Relaxed);
            }
            (true, false) => {
                monitor.last_taken.store(monitor.now(), Relaxed);
                monitor.held.fetch_sub(1, Relaxed);
            }
            _ => {}
        }
        self.held = hold;
    }
}

impl<B> Drop for BusyBody<B> {
    fn drop(&mut self) {
        self.hold(false);
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for BusyBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.hold(false);
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        // Each event of a stream is a message, but for keep-alive comments.
        if let Poll::Ready(Some(Ok(event))) = &frame
            && !self.body.is_end_stream()
            && event.data_ref().is_some_and(|event| *event != sse::COMMENT)
        {
            self.busy.0.activity.touch(Instant::now());
        }
        if self.paced && matches!(frame, Poll::Ready(Some(Ok(_)))) {
            self.hold(true);
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
