//! Streams that can only block, read and written by a thread each.

use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::sync::lock;

/// What is read at once, at the most, and kept until somebody takes it.
const READ: usize = 64 * 1024;

/// What is written at once, at the most.
const WRITE: usize = 256 * 1024;

/// The driver's side of both threads.
pub(crate) struct ThreadIo {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// The driver waits for this.
    happened: Condvar,
    /// The threads wait for this.
    wanted: Condvar,
}

#[derive(Default)]
struct State {
    /// Somebody has woken the driver.
    woken: bool,
    /// What was read, up to `taken`, is done with.
    input: Vec<u8>,
    taken: usize,
    /// The input has ended, and perhaps why.
    ended: Option<Option<io::Error>>,
    output: Output,
    /// The driver has gone.
    closed: bool,
}

#[derive(Default)]
enum Output {
    /// Nothing is written, and here is memory for it.
    Idle(Vec<u8>),
    /// To be written.
    Wanted(Vec<u8>),
    #[default]
    Writing,
    Done(Vec<u8>, io::Result<()>),
}

impl ThreadIo {
    pub(crate) fn new(
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
    ) -> io::Result<Self> {
        let state = State { output: Output::Idle(Vec::new()), ..State::default() };
        let shared =
            Arc::new(Shared { state: Mutex::new(state), happened: Condvar::new(), wanted: Condvar::new() });
        let (reader, writer) = (Arc::clone(&shared), Arc::clone(&shared));
        thread::Builder::new().name("sabir-read".to_owned()).spawn(move || reader.read(input))?;
        thread::Builder::new().name("sabir-write".to_owned()).spawn(move || writer.write(output))?;
        Ok(ThreadIo { shared })
    }

    pub(crate) fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.shared))
    }

    /// How much was written. `None` while that is under way: it is asked again with the same bytes, to which more
    /// may be added.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let mut state = lock(&self.shared.state);
        match std::mem::take(&mut state.output) {
            Output::Idle(mut chunk) => {
                chunk.clear();
                chunk.extend_from_slice(&bytes[..bytes.len().min(WRITE)]);
                state.output = Output::Wanted(chunk);
                self.shared.wanted.notify_all();
                Ok(None)
            }
            Output::Done(chunk, written) => {
                let count = chunk.len();
                state.output = Output::Idle(chunk);
                written.map(|()| Some(count))
            }
            under_way => {
                state.output = under_way;
                Ok(None)
            }
        }
    }

    /// How much was read: nothing at the end. `None` if there is nothing, for now.
    pub(crate) fn read(&mut self, space: &mut [u8]) -> io::Result<Option<usize>> {
        let mut state = lock(&self.shared.state);
        let unread = &state.input[state.taken..];
        if unread.is_empty() {
            return match &mut state.ended {
                Some(error) => error.take().map_or(Ok(Some(0)), Err),
                None => Ok(None),
            };
        }
        let count = unread.len().min(space.len());
        space[..count].copy_from_slice(&unread[..count]);
        state.taken += count;
        if state.taken == state.input.len() {
            state.taken = 0;
            state.input.clear();
            self.shared.wanted.notify_all();
        }
        Ok(Some(count))
    }

    /// Waits until something was read or written, as far as that is wanted, or somebody wakes us. Whether there is
    /// something to read.
    pub(crate) fn wait(&mut self, read: bool, write: bool, timeout: Option<Duration>) -> io::Result<bool> {
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = lock(&self.shared.state);
        loop {
            let readable = read && (state.taken < state.input.len() || state.ended.is_some());
            let written = write && matches!(state.output, Output::Done(..));
            if std::mem::take(&mut state.woken) || readable || written {
                return Ok(readable);
            }
            state = match until {
                None => wait(&self.shared.happened, state),
                Some(until) => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Ok(false);
                    }
                    let waited = self.shared.happened.wait_timeout(state, left);
                    waited.unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
            };
        }
    }
}

/// The threads end once they are not blocked any more.
impl Drop for ThreadIo {
    fn drop(&mut self) {
        lock(&self.shared.state).closed = true;
        self.shared.wanted.notify_all();
    }
}

fn wait<'a, T>(condition: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condition.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Shared {
    fn read(&self, mut input: impl Read) {
        let mut chunk = vec![0; READ];
        loop {
            let read = match input.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read,
            };
            let mut state = lock(&self.state);
            while !state.input.is_empty() && !state.closed {
                state = wait(&self.wanted, state);
            }
            match read {
                _ if state.closed => return,
                Ok(0) => state.ended = Some(None),
                Ok(count) => state.input.extend_from_slice(&chunk[..count]),
                Err(error) => state.ended = Some(Some(error)),
            }
            self.happened.notify_all();
            if state.ended.is_some() {
                return;
            }
        }
    }

    fn write(&self, mut output: impl Write) {
        let mut state = lock(&self.state);
        loop {
            let chunk = match std::mem::take(&mut state.output) {
                Output::Wanted(chunk) => chunk,
                _ if state.closed => return,
                other => {
                    state.output = other;
                    state = wait(&self.wanted, state);
                    continue;
                }
            };
            drop(state);
            let written = output.write_all(&chunk).and_then(|()| output.flush());
            state = lock(&self.state);
            state.output = Output::Done(chunk, written);
            self.happened.notify_all();
        }
    }
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        lock(&self.state).woken = true;
        self.happened.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A pair of streams and what is at the other end of them.
    fn streams() -> (ThreadIo, io::PipeWriter, io::PipeReader) {
        let ((input, theirs), (their_input, output)) = (io::pipe().unwrap(), io::pipe().unwrap());
        (ThreadIo::new(input, output).unwrap(), theirs, their_input)
    }

    #[test]
    fn everything_is_read_in_order_and_then_the_end() {
        let (mut io, mut theirs, _input) = streams();
        let text: Vec<u8> = (0..1_000_000u32).map(|n| n.to_le_bytes()[0]).collect();
        let sent = text.clone();
        let sending = thread::spawn(move || theirs.write_all(&sent).unwrap());
        let mut got = Vec::new();
        loop {
            if !io.wait(true, false, None).unwrap() {
                continue;
            }
            let mut space = [0; 1000];
            match io.read(&mut space).unwrap() {
                Some(0) => break,
                Some(count) => got.extend_from_slice(&space[..count]),
                None => {}
            }
        }
        assert!(got == text);
        sending.join().unwrap();
        assert_eq!(io.read(&mut [0]).unwrap(), Some(0));
    }

    #[test]
    fn a_write_is_done_once_it_was_taken() {
        let (mut io, _theirs, mut input) = streams();
        let bytes = vec![b'x'; WRITE + 1];
        assert_eq!(io.write(&bytes).unwrap(), None);
        // More than a pipe holds, so it cannot be done.
        assert!(!io.wait(false, true, Some(Duration::from_millis(100))).unwrap());
        assert_eq!(io.write(&bytes).unwrap(), None);
        input.read_exact(&mut vec![0; WRITE]).unwrap();
        io.wait(false, true, None).unwrap();
        assert_eq!(io.write(&bytes).unwrap(), Some(WRITE));
        drop(input);
        assert_eq!(io.write(b"x").unwrap(), None);
        io.wait(false, true, None).unwrap();
        assert_eq!(io.write(b"x").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn anybody_can_wake_it() {
        let (mut io, _theirs, _input) = streams();
        let waker = io.waker();
        let waking = thread::spawn(move || waker.wake());
        assert!(!io.wait(true, true, None).unwrap());
        waking.join().unwrap();
    }

    /// The reader of our output sees its end at once.
    #[test]
    fn dropping_it_closes_the_output() {
        let (io, theirs, mut input) = streams();
        drop(io);
        assert_eq!(input.read(&mut [0]).unwrap(), 0);
        drop(theirs);
    }
}
