//! A server's process: bounded by one deadline, ended with its owner, and what the kernel counted for it.
//!
//! When the deadline passes, the process is killed, and whoever waits for it sees the end of a pipe or a
//! connection.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(2);

pub struct Process {
    child: Arc<Mutex<Child>>,
    id: u32,
    /// Its end tells the watchdog that there is nothing left to watch.
    _watched: mpsc::Sender<()>,
}

impl Process {
    /// The pipes that the command asks for are left in the child that `take` is given.
    pub fn start<T>(command: &mut Command, take: impl FnOnce(&mut Child) -> T) -> io::Result<(Process, T)> {
        // Servers on sockets see no end of input when this process is killed.
        // SAFETY: `prctl` may be called between fork and exec, and here it takes no pointers.
        unsafe {
            command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
        let mut child = command.spawn()?;
        let (id, taken) = (child.id(), take(&mut child));
        let child = Arc::new(Mutex::new(child));
        let (watched, watch) = mpsc::channel::<()>();
        let doomed = child.clone();
        thread::spawn(move || {
            if watch.recv_timeout(DEADLINE) == Err(RecvTimeoutError::Timeout) {
                kill(&doomed);
            }
        });
        Ok((Process { child, id, _watched: watched }, taken))
    }

    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its input is closed, so it must end by itself.
    pub fn ends(&self) -> io::Result<()> {
        let deadline = Instant::now() + GRACE;
        while self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait()?.is_none() {
            if Instant::now() > deadline {
                return Err(io::Error::other("still running after its input was closed"));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Its own, and those of the processes that it has started.
    pub(crate) fn threads(&self) -> io::Result<Vec<libc::pid_t>> {
        let (mut found, mut processes) = (Vec::new(), vec![self.id.to_string()]);
        while let Some(process) = processes.pop() {
            for task in fs::read_dir(format!("/proc/{process}/task"))? {
                let task = task?;
                found.push(task.file_name().to_string_lossy().parse().map_err(io::Error::other)?);
                // It may end in between, and is then of no interest.
                let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                processes.extend(children.split_whitespace().map(str::to_owned));
            }
        }
        Ok(found)
    }

    /// What it has taken so far, without the processes that it has started.
    pub fn cpu(&self) -> io::Result<Duration> {
        cpu_of(self.id)
    }

    /// The most that was ever resident, in bytes.
    pub fn peak_memory(&self) -> io::Result<f64> {
        self.bytes_in("status", "VmHWM:")
    }

    /// What is resident now, in bytes. The figure in `status` may lag behind.
    pub fn memory(&self) -> io::Result<f64> {
        self.bytes_in("smaps_rollup", "Rss:")
    }

    fn bytes_in(&self, file: &str, name: &str) -> io::Result<f64> {
        let text = fs::read_to_string(format!("/proc/{}/{file}", self.id))?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        kib.map(|kib| kib * 1024.0).ok_or_else(|| io::Error::other(format!("no {name} in {file}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        kill(&self.child);
    }
}

fn kill(child: &Mutex<Child>) {
    let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
    // It may have ended already, which is all that was wanted.
    let _ = child.kill();
    let _ = child.wait();
}

/// Of all its threads that are still there. The ticks of `/proc/PID/stat` are too coarse for short runs.
pub fn cpu_of(id: u32) -> io::Result<Duration> {
    let mut sum = Duration::ZERO;
    for task in fs::read_dir(format!("/proc/{id}/task"))? {
        // A thread may end between the listing and the look.
        sum += cpu_in(&task?.path().join("schedstat")).unwrap_or_default();
    }
    Ok(sum)
}

pub fn cpu_of_this_thread() -> io::Result<Duration> {
    cpu_in("/proc/thread-self/schedstat".as_ref())
}

fn cpu_in(schedstat: &Path) -> io::Result<Duration> {
    let text = fs::read_to_string(schedstat)?;
    let ns = text.split(' ').next().and_then(|ns| ns.parse().ok());
    ns.map(Duration::from_nanos).ok_or_else(|| io::Error::other("no time in schedstat"))
}
