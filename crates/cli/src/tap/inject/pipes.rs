//! The standard streams of a command, with messages of the page in between.
//!
//! A command that does not read must hold up its client alone: whoever writes to it holds only the lock of that, and what
//! the command says is passed on without it. The page's messages have a thread of their own for the same reason.

use std::io::{self, Read, Write};
use std::process::ChildStdin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sabir_model::capture::Event;

use super::{Answers, Injected, Injector, Units, Waiting, channel, send};
use crate::tap::queue::{BUFFER, Queue, Stream};
use crate::view::Sender;

pub(in crate::tap) struct Pipes {
    queue: Arc<Queue>,
    to_command: Mutex<ToCommand>,
    waiting: Waiting,
    injector: Injector,
    injected: Mutex<Option<Injected>>,
}

#[derive(Default)]
struct ToCommand {
    stdin: Option<ChildStdin>,
    units: Units,
    /// Messages that go out where the next one of the client ends.
    held: Vec<Vec<u8>>,
}

impl Pipes {
    pub(in crate::tap) fn new(queue: Arc<Queue>) -> Arc<Self> {
        let (injector, injected) = channel();
        let injected = Mutex::new(Some(injected));
        let (to_command, waiting) = (Mutex::default(), Waiting::default());
        Arc::new(Pipes { queue, to_command, waiting, injector, injected })
    }

    fn to_command(&self) -> MutexGuard<'_, ToCommand> {
        self.to_command.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes on what the client says, and in between what the page does.
    pub(in crate::tap) fn carry_in(self: &Arc<Self>, mut from: impl Read, stdin: ChildStdin, stream: Stream) {
        self.to_command().stdin = Some(stdin);
        let pipes = self.clone();
        let inject = move || pipes.inject(stream);
        // Without the thread nothing can be sent from the page.
        let _ = std::thread::Builder::new().name("inject".to_owned()).spawn(inject);
        let mut buffer = vec![0; BUFFER];
        while let Some(count) = read(&mut from, &mut buffer) {
            let mut to = self.to_command();
            let ticket = self.queue.ticket();
            let written = to.write(&buffer[..count]);
            self.queue.push_copy(ticket, stream, &buffer[..count]);
            if written.is_err() {
                self.queue.event(stream.connection, Event::Mark, "the command no longer reads");
                break;
            }
            to.units.pass(&buffer[..count], |_, _| {});
            if to.units.is_between() {
                for message in std::mem::take(&mut to.held) {
                    let ticket = self.queue.ticket();
                    let _ = to.write(&message);
                    self.queue.push_copy(ticket, stream, &message);
                }
            }
        }
        self.to_command().stdin = None;
        self.queue.end(stream);
    }

    /// Sends what the page wants to send.
    fn inject(&self, stream: Stream) {
        let injected = self.injected.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut injected) = injected else { return };
        while let Some((own, tell)) = injected.blocking_recv() {
            let mut to = self.to_command();
            if to.stdin.is_none() {
                let _ = tell.send(Err("the command has ended, or its input has".to_owned()));
                continue;
            }
            let Some(framed) = self.waiting.begin(own, tell, &to.units) else { continue };
            if to.units.is_between() {
                let ticket = self.queue.ticket();
                let _ = to.write(&framed);
                self.queue.push_copy(ticket, stream, &framed);
            } else {
                to.held.push(framed);
            }
        }
    }

    /// Passes on what the server says, but for the answers to the page.
    pub(in crate::tap) fn carry_out(&self, mut from: impl Read, mut to: impl Write, stream: Stream) {
        let mut buffer = vec![0; BUFFER];
        let mut answers = Answers::new(stream.channel);
        while let Some(count) = read(&mut from, &mut buffer) {
            let ticket = self.queue.ticket();
            let written = to.write_all(&answers.pass(&buffer[..count], &self.waiting));
            self.queue.push_copy(ticket, stream, &buffer[..count]);
            if written.is_err() {
                self.queue.event(stream.connection, Event::Mark, "the client no longer reads");
                break;
            }
        }
        let _ = to.write_all(answers.rest());
        self.queue.end(stream);
    }

    /// For the page.
    pub(in crate::tap) fn sender(&self) -> Sender {
        let injector = self.injector.clone();
        Arc::new(move |_, text| Box::pin(send(injector.clone(), text)))
    }
}

impl ToCommand {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(bytes)
    }
}

/// How many bytes there are now; `None` at the end.
fn read(from: &mut impl Read, buffer: &mut [u8]) -> Option<usize> {
    loop {
        match from.read(buffer) {
            Ok(0) => return None,
            Ok(count) => return Some(count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
