//! The kernel kills a process when its parent dies, if the process has asked for it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::{Mutex, mpsc};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::sync::lock;

type Job = Box<dyn FnOnce() + Send>;

/// To the thread that starts all processes. What the kernel takes for the parent is the thread, and the
/// threads of a program come and go: this one stays.
static JOBS: Mutex<Option<mpsc::Sender<Job>>> = Mutex::new(None);

/// Starts a process from the thread that stays.
pub(crate) fn spawn<T: Send + 'static>(
    start: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (done, spawned) = mpsc::channel();
    let mut jobs = lock(&JOBS);
    let sender = match &*jobs {
        Some(sender) => sender,
        None => jobs.insert(start_thread()?),
    };
    let gone = || io::Error::other("the thread that starts processes has gone");
    let job = move || drop(done.send(start()));
    sender.send(Box::new(job)).map_err(|_| gone())?;
    drop(jobs);
    spawned.recv().map_err(|_| gone())?
}

fn start_thread() -> io::Result<mpsc::Sender<Job>> {
    let (sender, jobs) = mpsc::channel::<Job>();
    let run = move || jobs.into_iter().for_each(|job| job());
    std::thread::Builder::new().name("sabir-spawn".to_owned()).spawn(run)?;
    Ok(sender)
}

/// Only the child itself can ask to be killed with its parent, between fork and exec.
#[allow(unsafe_code)]
pub(crate) fn prepare(command: &mut Command) {
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. These are two plain
    // system calls; nothing is allocated and no lock is taken.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have died before that took effect.
            if getppid() != Some(parent) {
                return Err(io::ErrorKind::NotConnected.into());
            }
            Ok(())
        });
    }
}

/// The kernel needs nobody else to remember it.
#[derive(Debug)]
pub(crate) struct Guard;

pub(crate) fn guard(_: Pid) -> Guard {
    Guard
}
