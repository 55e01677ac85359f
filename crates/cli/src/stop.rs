//! When the program has to stop: at the end of its time, or when it is interrupted, even if it hangs in a write that
//! nobody reads, or in long work.
//!
//! A thread of its own watches the signal and the clock. Usually the main thread sees both as well, says what happened,
//! and ends in order. If it does not react any more, the watching thread ends the process.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::exit::{Exit, Failure};
use crate::print::Printer;

/// How long the main thread may take to show that it does not hang.
const REACTION: Duration = Duration::from_secs(1);

/// How often it is asked while the program ends.
const PAUSE: Duration = Duration::from_millis(250);

/// How long a last message may take to be written.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A process has one signal and one clock, so there is one of this.
static STATE: State = State {
    deadline: Mutex::new(None),
    moved: Notify::const_new(),
    interrupted: AtomicBool::new(false),
    interruption: Notify::const_new(),
    resumed: Notify::const_new(),
    waiting: AtomicUsize::new(0),
    ping: Notify::const_new(),
    pong: Notify::const_new(),
};

struct State {
    deadline: Mutex<Option<Instant>>,
    moved: Notify,
    interrupted: AtomicBool,
    interruption: Notify,
    /// The interrupted work has ended, and the program goes on.
    resumed: Notify,
    /// How many wait for an interruption, to end in order.
    waiting: AtomicUsize,
    /// Whether the main thread hangs.
    ping: Notify,
    pong: Notify,
}

impl State {
    fn deadline(&self) -> Option<Instant> {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_deadline(&self, deadline: Option<Instant>) {
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = deadline;
        self.moved.notify_one();
    }
}

/// Starts to watch. Called in the runtime of the main thread, before anything else is started: from here on, no signal
/// is lost.
pub(crate) fn watch(printer: &Printer) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (ready, is_ready) = mpsc::channel();
    let printer = printer.clone();
    std::thread::Builder::new().name("stop".to_owned()).spawn(move || {
        runtime.block_on(async {
            let mut signal = Signal::armed().await;
            let _ = ready.send(());
            let exit = end(&mut signal).await;
            last_words(exit, &printer);
            std::process::exit(exit as i32);
        })
    })?;
    let _ = is_ready.recv();
    tokio::spawn(async {
        loop {
            STATE.ping.notified().await;
            STATE.pong.notify_one();
        }
    });
    Ok(())
}

/// Waits until the user interrupts the program.
pub(crate) async fn interrupted() -> Failure {
    struct Waiting;
    impl Drop for Waiting {
        fn drop(&mut self) {
            STATE.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }
    STATE.waiting.fetch_add(1, Ordering::SeqCst);
    let _waiting = Waiting;
    loop {
        // Before the look, so that nothing is missed in between.
        let interruption = STATE.interruption.notified();
        if STATE.interrupted.load(Ordering::SeqCst) {
            break;
        }
        interruption.await;
    }
    Failure::new(Exit::Interrupted, "interrupted")
}

/// What was interrupted has ended, and the program goes on.
pub(crate) fn resume() {
    STATE.interrupted.store(false, Ordering::SeqCst);
    STATE.resumed.notify_one();
}

/// The program has until then. Who waits for a peer has a timer of its own; this is for when that cannot fire.
pub(crate) fn at(deadline: Instant) {
    STATE.set_deadline(Some(deadline));
}

/// The work is done. Whoever reads its output may take any time.
pub(crate) fn never() {
    STATE.set_deadline(None);
}

/// Waits until the process has to be ended from here.
async fn end(signal: &mut Signal) -> Exit {
    loop {
        tokio::select! {
            biased;
            () = signal.came() => {
                STATE.interrupted.store(true, Ordering::SeqCst);
                // Nobody would see it: the main thread computes, reads a file, or prints.
                if STATE.waiting.load(Ordering::SeqCst) == 0 {
                    return Exit::Interrupted;
                }
                STATE.interruption.notify_waiters();
                tokio::select! {
                    () = hanging() => {}
                    // A second interrupt ends the process at once.
                    () = signal.came() => {}
                    () = STATE.resumed.notified() => continue,
                }
                return Exit::Interrupted;
            }
            () = STATE.moved.notified() => {}
            () = at_deadline() => return Exit::Timeout,
        }
    }
}

/// Waits for the deadline to pass while the main thread hangs.
async fn at_deadline() {
    match STATE.deadline() {
        Some(deadline) => {
            tokio::time::sleep_until(deadline).await;
            hanging().await;
        }
        None => std::future::pending().await,
    }
}

/// Waits until the main thread does not react.
async fn hanging() {
    loop {
        STATE.ping.notify_one();
        if tokio::time::timeout(REACTION, STATE.pong.notified()).await.is_err() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Says what happened, if that can be written.
fn last_words(exit: Exit, printer: &Printer) {
    let failure = match exit {
        Exit::Interrupted => Failure::new(exit, "interrupted"),
        _ => {
            Failure::new(exit, "the time is up").hint("wait longer with --timeout, or read the output faster")
        }
    };
    let (said, is_said) = mpsc::channel();
    let printer = printer.clone();
    std::thread::spawn(move || {
        printer.failure(&failure);
        let _ = said.send(());
    });
    let _ = is_said.recv_timeout(LAST_WORDS);
}

/// SIGINT, or Ctrl-C of a console.
struct Signal {
    next: std::pin::Pin<Box<dyn Future<Output = std::io::Result<()>> + Send>>,
}

impl Signal {
    /// With its handler installed, which happens when it is first waited for.
    async fn armed() -> Self {
        let mut signal = Signal { next: Box::pin(tokio::signal::ctrl_c()) };
        let first = std::future::poll_fn(|cx| Poll::Ready(signal.next.as_mut().poll(cx))).await;
        if let Poll::Ready(came) = first {
            signal.next = Box::pin(std::future::ready(came));
        }
        signal
    }

    async fn came(&mut self) {
        match (&mut self.next).await {
            Ok(()) => self.next = Box::pin(tokio::signal::ctrl_c()),
            // The handler cannot be installed: the system's own ends the program.
            Err(_) => std::future::pending().await,
        }
    }
}
