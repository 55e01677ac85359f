//! Which core runs what, so that a run measures the servers and not the mood of the scheduler.
//!
//! Whether client and server share a core decides more than anything that either does: waking another
//! core of a virtual machine can take ten times as long as a small call. So both are measured, each
//! with its own table.

use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::thread;

use crate::process::Process;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// The generator has one core, the server all others.
    Apart,
    /// All share one core: nothing runs at once, and what counts is the work alone.
    Together,
}

pub const PLACEMENTS: [Placement; 2] = [Placement::Apart, Placement::Together];

/// Looked up once: afterwards this thread is on fewer.
static ALL: LazyLock<Vec<usize>> =
    LazyLock::new(|| (0..thread::available_parallelism().map_or(1, usize::from)).collect());

impl Placement {
    pub fn title(self) -> &'static str {
        match self {
            Placement::Apart => "generator and server on cores of their own",
            Placement::Together => "generator and server on one core",
        }
    }

    /// In force until the returned value is dropped.
    pub fn apply(self, server: &Process) -> io::Result<Placed> {
        self.apply_to(server, None)
    }

    /// The same for a server, and what is behind it.
    pub fn apply_to(self, server: &Process, behind: Option<&Process>) -> io::Result<Placed> {
        let (own, others) = ALL.split_first().ok_or(io::ErrorKind::NotFound)?;
        let (cores, awake) = match self {
            Placement::Apart if !others.is_empty() => (others, &ALL[..]),
            _ => (std::slice::from_ref(own), &[][..]),
        };
        allow(0, &[*own])?;
        let behind = behind.map_or(Ok(Vec::new()), Process::threads)?;
        for thread in server.threads()?.into_iter().chain(behind) {
            match allow(thread, cores) {
                // It ended after it was listed.
                Err(e) if e.raw_os_error() == Some(libc::ESRCH) => (),
                result => result?,
            }
        }
        Ok(Placed { stop: keep_awake(awake) })
    }
}

pub struct Placed {
    stop: Arc<AtomicBool>,
}

impl Drop for Placed {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        // The next server inherits where this thread may run. A failure would show in the next `apply`.
        let _ = allow(0, &ALL);
    }
}

/// Keeps cores from halting, by threads that give way to anything else.
fn keep_awake(cores: &[usize]) -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    for core in cores {
        let (core, stop) = (*core, stop.clone());
        thread::spawn(move || {
            let parameters = libc::sched_param { sched_priority: 0 };
            // SAFETY: the parameters outlive the call. 0 is this thread.
            let idle = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &parameters) } == 0;
            // At an ordinary priority it would take from what is measured.
            while idle && allow(0, &[core]).is_ok() && !stop.load(Relaxed) {
                (0..10_000).for_each(|_| std::hint::spin_loop());
            }
        });
    }
    stop
}

/// Lets a thread (0 is this one) run on these cores only.
fn allow(thread: libc::pid_t, cores: &[usize]) -> io::Result<()> {
    // SAFETY: all zeroes is the empty set, `CPU_SET` checks its bounds, and the set outlives the call.
    let result = unsafe {
        let mut set: libc::cpu_set_t = mem::zeroed();
        cores.iter().for_each(|core| libc::CPU_SET(*core, &mut set));
        libc::sched_setaffinity(thread, mem::size_of_val(&set), &set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
