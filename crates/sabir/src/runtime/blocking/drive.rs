//! The loop around whatever waits for streams: `poll(2)`, or threads on Windows.

use std::io;
use std::time::Instant;

use sabir_proto::{Cause, Time};

use crate::peer::Peer;
use crate::router::Router;
use crate::runtime::blocking::DRIVING;
use crate::runtime::blocking::platform::StreamIo;
use crate::runtime::blocking::process::Process;
use crate::runtime::blocking::streams::Streams;
use crate::runtime::engine::{Engine, Stop};
use crate::runtime::serve::lost_text;

pub(crate) struct Driver {
    engine: Engine,
    io: StreamIo,
    start: Instant,
    /// Dropped behind the streams: the process loses its input first.
    process: Option<Process>,
}

impl Driver {
    pub(crate) fn new(streams: Streams, router: Router) -> io::Result<(Self, Peer)> {
        let Streams { input, output, config, process } = streams;
        let engine = Engine::new(config, router.into_routes(), None);
        let io = StreamIo::new(input, output)?;
        engine.desk.peer.shared.register(&io.waker());
        let peer = engine.desk.peer.clone();
        Ok((Driver { engine, io, start: Instant::now(), process }, peer))
    }

    /// Runs until the connection ends.
    pub(crate) fn run(mut self) -> Cause {
        let driving = DRIVING.replace(true);
        let cause = self.drive();
        DRIVING.set(driving);
        self.engine.desk.close(cause)
    }

    fn drive(&mut self) -> Cause {
        loop {
            let now = Time::since(self.start.elapsed());
            self.engine.desk.now = now;
            self.engine.resume();
            match self.engine.run() {
                Stop::Done(cause) => return cause,
                Stop::Yielding => continue,
                Stop::Waiting => {}
            }
            let wrote = self.write(now);
            self.engine.tell_congestion();
            // What was written may let the session say more, which only the engine listens to.
            if wrote {
                continue;
            }
            match self.wait(now) {
                Ok(true) => self.read(),
                Ok(false) => {}
                Err(error) => self.lost(&error),
            }
        }
    }

    /// Writes what there is, as far as it goes without waiting. Whether that changed anything.
    fn write(&mut self, now: Time) -> bool {
        let session = &mut self.engine.desk.session;
        let bytes = session.wait().write;
        if bytes.is_empty() {
            return false;
        }
        match self.io.write(bytes) {
            Ok(Some(count)) => session.handle_written(now, count),
            Ok(None) => return false,
            Err(error) => self.lost(&error),
        }
        true
    }

    fn read(&mut self) {
        let now = Time::since(self.start.elapsed());
        let session = &mut self.engine.desk.session;
        match self.io.read(session.space()) {
            Ok(Some(0)) => match self.process.as_mut().and_then(Process::epitaph) {
                Some(cause) => session.handle_lost(now, cause),
                None => {
                    self.engine.desk.now = now;
                    self.engine.desk.handle_eof();
                }
            },
            Ok(Some(count)) => session.handle_read(now, count),
            Ok(None) => {}
            Err(error) => self.lost(&error),
        }
    }

    fn lost(&mut self, error: &io::Error) {
        // A process that has ended says more than the pipe that broke with it.
        let ended = self.process.as_mut().and_then(Process::epitaph);
        let cause = ended.unwrap_or_else(|| lost_text(error));
        self.engine.desk.session.handle_lost(self.engine.desk.now, cause);
    }

    /// Waits for whatever the session waits for. Whether there is something to read.
    fn wait(&mut self, now: Time) -> io::Result<bool> {
        let wait = self.engine.desk.session.wait();
        let timeout = wait.deadline.map(|at| at - now);
        self.io.wait(wait.read, !wait.write.is_empty(), timeout)
    }
}
