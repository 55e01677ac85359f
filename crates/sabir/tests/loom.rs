//! The flags between the connection's task and other threads, under loom: in all orders in which threads can run,
//! and with all that each may or may not see of the others.
//!
//! Each test of how the flags are used has one beside it that uses them wrongly, and must fail: so the models
//! are known to find what they look for.

#![allow(clippy::unwrap_used, dead_code)]

#[path = "../src/sync/flags.rs"]
mod flags;

/// What the flags are made of here.
mod sync {
    pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};
}

use flags::{Flag, Queued};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

/// Things behind a lock, and the flag that says that there are some: `has_commands`, `has_ready`.
#[derive(Default)]
struct Inbox {
    flag: Flag,
    things: Mutex<Vec<u32>>,
}

impl Inbox {
    fn put(&self, thing: u32) {
        self.things.lock().unwrap().push(thing);
        self.flag.raise();
    }

    fn take(&self) -> Vec<u32> {
        if !self.flag.is_up() {
            return Vec::new();
        }
        self.flag.lower();
        std::mem::take(&mut *self.things.lock().unwrap())
    }

    fn take_wrongly(&self) -> Vec<u32> {
        if !self.flag.is_up() {
            return Vec::new();
        }
        let taken = std::mem::take(&mut *self.things.lock().unwrap());
        self.flag.lower();
        taken
    }
}

fn nothing_is_left(take: fn(&Inbox) -> Vec<u32>) {
    loom::model(move || {
        let inbox = Arc::new(Inbox::default());
        let senders = [1, 2].map(|thing| {
            let inbox = Arc::clone(&inbox);
            thread::spawn(move || inbox.put(thing))
        });
        let mut taken = take(&inbox);
        for sender in senders {
            sender.join().unwrap();
        }
        taken.extend(take(&inbox));
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}

#[test]
fn commands_are_not_overlooked() {
    nothing_is_left(Inbox::take);
}

#[test]
#[should_panic(expected = "assertion")]
fn commands_are_overlooked_if_the_flag_is_lowered_late() {
    nothing_is_left(Inbox::take_wrongly);
}

/// Whoever finds the flag up relies on the one who raised it to wake the connection.
fn the_connection_is_woken(take: fn(&Inbox) -> Vec<u32>) {
    loom::model(move || {
        let (inbox, woken) = (Arc::new(Inbox::default()), Arc::new(AtomicBool::new(false)));
        let senders = [1, 2].map(|thing| {
            let (inbox, woken) = (Arc::clone(&inbox), Arc::clone(&woken));
            thread::spawn(move || {
                inbox.things.lock().unwrap().push(thing);
                if inbox.flag.raise() {
                    woken.swap(true, Ordering::AcqRel);
                }
            })
        });
        // A turn that may have other reasons. As on any runtime, it sees what was done before the wake.
        woken.swap(false, Ordering::AcqRel);
        let mut taken = take(&inbox);
        for sender in senders {
            sender.join().unwrap();
        }
        if woken.swap(false, Ordering::SeqCst) {
            taken.extend(take(&inbox));
        }
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}

#[test]
fn a_connection_is_woken_for_all_that_it_has_not_taken() {
    the_connection_is_woken(Inbox::take);
}

#[test]
#[should_panic(expected = "assertion")]
fn a_connection_sleeps_on_if_the_flag_is_lowered_late() {
    the_connection_is_woken(Inbox::take_wrongly);
}

/// Requests that are taken over or have hooks, and `has_hooks`.
#[derive(Default)]
struct Hooks {
    has_hooks: Flag,
    of: Mutex<Vec<u32>>,
}

impl Hooks {
    fn take_over(&self, request: u32) {
        let mut of = self.of.lock().unwrap();
        of.push(request);
        self.has_hooks.raise();
    }

    fn take_over_wrongly(&self, request: u32) {
        self.has_hooks.raise();
        self.of.lock().unwrap().push(request);
    }

    fn finished(&self, request: u32) {
        if self.has_hooks.is_up() {
            let mut of = self.of.lock().unwrap();
            of.retain(|other| *other != request);
            if of.is_empty() {
                self.has_hooks.lower();
            }
        }
    }
}

fn a_takeover_is_seen(take_over: fn(&Hooks, u32)) {
    loom::model(move || {
        let hooks = Arc::new(Hooks::default());
        hooks.take_over(1);
        let other = Arc::clone(&hooks);
        let handler = thread::spawn(move || take_over(&other, 2));
        // The connection answers another request meanwhile.
        hooks.finished(1);
        handler.join().unwrap();
        assert!(hooks.has_hooks.is_up(), "the cancel of request 2 would drop its handler");
    });
}

#[test]
fn a_takeover_is_seen_while_another_request_ends() {
    a_takeover_is_seen(Hooks::take_over);
}

#[test]
#[should_panic(expected = "would drop its handler")]
fn a_takeover_is_lost_if_the_flag_is_raised_early() {
    a_takeover_is_seen(Hooks::take_over_wrongly);
}

/// A task that is queued already is woken once more while it is about to be polled. Whoever wakes it relies on
/// the poll that is due.
fn a_wake_is_seen(leave: fn(&Queued)) {
    loom::model(move || {
        let queued = Arc::new(Queued::default());
        let ready = Arc::new(Inbox::default());
        let data = Arc::new(AtomicBool::new(false));
        assert!(queued.enter());
        ready.put(0);
        let waker = {
            let (queued, ready, data) = (Arc::clone(&queued), Arc::clone(&ready), Arc::clone(&data));
            thread::spawn(move || {
                data.store(true, Ordering::Relaxed);
                if queued.enter() {
                    ready.put(0);
                }
            })
        };
        assert_eq!(ready.take(), [0]);
        leave(&queued);
        let seen = data.load(Ordering::Relaxed);
        waker.join().unwrap();
        assert!(seen || ready.take() == [0], "the task is not polled again");
    });
}

#[test]
fn a_wake_right_before_a_poll_is_not_lost() {
    a_wake_is_seen(Queued::leave);
}

#[test]
#[should_panic(expected = "not polled again")]
fn a_wake_is_lost_if_nothing_is_read_before_a_poll() {
    a_wake_is_seen(Queued::reset);
}
