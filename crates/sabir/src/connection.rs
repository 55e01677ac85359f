//! The connection on tokio: one task that reads, runs the handlers in place, and writes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use sabir_proto::{Cause, Config, Session, Time};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::engine::{Engine, OnReport, Stop};
use crate::peer::Peer;
use crate::router::Routes;
use crate::transport::{Io, Wire};

/// Drives one session over its streams until it ends.
pub(crate) struct Connection {
    engine: Engine,
    io: Io,
    start: Instant,
    sleep: Pin<Box<Sleep>>,
    /// What `sleep` is set to.
    alarm: Option<Time>,
    /// The input has ended, and the transport is asked why.
    ending: bool,
}

enum Moved {
    Yes,
    No,
}

impl Connection {
    pub(crate) fn new(config: Config, routes: Arc<Routes>, io: Io, on_report: Option<OnReport>) -> Self {
        Connection {
            engine: Engine::new(config, routes, on_report),
            io,
            start: Instant::now(),
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            alarm: None,
            ending: false,
        }
    }

    pub(crate) fn peer(&self) -> Peer {
        self.engine.desk.peer.clone()
    }

    fn session(&mut self) -> &mut Session {
        &mut self.engine.desk.session
    }

    /// Writes what there is. An error on this side ends the connection.
    fn write(&mut self, cx: &mut Context<'_>) -> Moved {
        let now = self.engine.desk.now;
        let wait = self.engine.desk.session.wait();
        if wait.write.is_empty() {
            return Moved::No;
        }
        match Pin::new(&mut self.io.write).poll_write(cx, wait.write) {
            Poll::Pending => Moved::No,
            Poll::Ready(Ok(count)) => {
                if let Some(tap) = &mut self.io.tap {
                    tap(Wire::Sent, &wait.write[..count]);
                }
                self.session().handle_written(now, count);
                Moved::Yes
            }
            Poll::Ready(Err(error)) => {
                self.session().handle_lost(now, error.to_string());
                Moved::Yes
            }
        }
    }

    fn read(&mut self, cx: &mut Context<'_>) -> Moved {
        let now = self.engine.desk.now;
        if !self.session().wait().read {
            return Moved::No;
        }
        if self.ending {
            return self.end(cx);
        }
        let mut buffer = ReadBuf::new(self.engine.desk.session.space());
        match Pin::new(&mut self.io.read).poll_read(cx, &mut buffer) {
            Poll::Pending => Moved::No,
            Poll::Ready(Ok(())) => {
                if let Some(tap) = &mut self.io.tap {
                    tap(Wire::Received, buffer.filled());
                }
                match buffer.filled().len() {
                    0 => self.ending = true,
                    count => self.session().handle_read(now, count),
                }
                Moved::Yes
            }
            Poll::Ready(Err(error)) => {
                self.session().handle_lost(now, error.to_string());
                Moved::Yes
            }
        }
    }

    /// The input has ended. The transport may know more, such as how a process exited.
    fn end(&mut self, cx: &mut Context<'_>) -> Moved {
        let now = self.engine.desk.now;
        let epitaph = match &mut self.io.epitaph {
            Some(epitaph) => match epitaph.as_mut().poll(cx) {
                Poll::Ready(epitaph) => epitaph,
                Poll::Pending => return Moved::No,
            },
            None => None,
        };
        self.io.epitaph = None;
        match epitaph {
            Some(cause) => self.session().handle_lost(now, cause),
            None => self.session().handle_eof(now),
        }
        Moved::Yes
    }

    /// Waits for the session's deadline. Whether it has come.
    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.session().wait().deadline;
        let Some(deadline) = deadline else { return Poll::Pending };
        if self.alarm != Some(deadline) {
            self.alarm = Some(deadline);
            self.sleep.as_mut().reset(self.start + deadline.elapsed());
        }
        ready!(self.sleep.as_mut().poll(cx));
        self.alarm = None;
        Poll::Ready(())
    }
}

impl Future for Connection {
    type Output = Cause;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Cause> {
        let this = self.get_mut();
        this.engine.desk.peer.shared.register(cx.waker());
        this.engine.resume();
        loop {
            this.engine.desk.now = Time::since(this.start.elapsed());
            match this.engine.run() {
                Stop::Done(cause) => return Poll::Ready(this.engine.desk.close(cause)),
                Stop::Yielding => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Stop::Waiting => {}
            }
            // Everything that is ready goes out at once; only then is more taken in.
            let wrote = this.write(cx);
            this.engine.tell_congestion();
            // What was written may let the session say more, which only the engine listens to.
            if let Moved::Yes = wrote {
                continue;
            }
            if let Moved::No = this.read(cx)
                && this.wait(cx).is_pending()
            {
                return Poll::Pending;
            }
        }
    }
}
