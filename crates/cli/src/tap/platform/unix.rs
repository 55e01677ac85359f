//! Descriptors, signals and file locks.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, setrlimit};
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};
use signal_hook::iterator::Signals;
use signal_hook::low_level::{emulate_default_handler, signal_name};

/// A standard stream under a number of its own: when it is dropped, the other side sees that it is closed. In its place
/// is /dev/null, so nothing that prints can disturb the traffic.
pub(in crate::tap) struct Standard(OwnedFd);

pub(in crate::tap) fn standard_input() -> io::Result<Standard> {
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(Standard(own))
}

pub(in crate::tap) fn standard_output() -> io::Result<Standard> {
    let own = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(OpenOptions::new().write(true).open("/dev/null")?)?;
    Ok(Standard(own))
}

/// Bytes that a pipe holds: its ends take turns less often than with the 64 KiB that Linux gives it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const PIPE: usize = 512 << 10;

/// Makes room in a pipe. What is none, or may not have more, stays as it is; so does every pipe on other systems.
pub(in crate::tap) fn widen(end: &impl AsFd) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if rustix::pipe::fcntl_getpipe_size(end).is_ok_and(|size| size < PIPE) {
        let _ = rustix::pipe::fcntl_setpipe_size(end, PIPE);
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = end;
}

/// Whether the system has sent all that was written to a socket, or never will. `None` if it does not say.
pub(in crate::tap) fn is_sent(socket: &tokio::net::TcpStream) -> Option<bool> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        // It counts as writable only once nothing is left to be sent.
        socket2::SockRef::from(socket).set_tcp_notsent_lowat(1).ok()?;
        let mut polled = [PollFd::new(socket, PollFlags::OUT)];
        poll(&mut polled, Some(&rustix::event::Timespec::default())).ok()?;
        Some(!polled[0].revents().is_empty())
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        let _ = socket;
        None
    }
}

impl AsFd for Standard {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Standard {
    /// Others may have made it non-blocking.
    fn wait(&self, flags: PollFlags) -> io::Result<()> {
        match poll(&mut [PollFd::new(&self.0, flags)], None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Read for Standard {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::io::read(&self.0, &mut *buffer) {
                Err(Errno::AGAIN) => self.wait(PollFlags::IN)?,
                read => return Ok(read?),
            }
        }
    }
}

impl Write for Standard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match rustix::io::write(&self.0, bytes) {
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT)?,
                written => return Ok(written?),
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Passes the signals that come to this process on to the group of a child, instead of ending by them.
pub(in crate::tap) fn forward_signals() -> io::Result<impl FnOnce(u32)> {
    // Installed before the child is started: none is lost in between.
    let passed = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH];
    let mut signals = Signals::new(passed)?;
    // A file that may not grow is an error of its write, and no reason to end.
    signals.add_signal(Signal::XFSZ.as_raw())?;
    Ok(move |child: u32| {
        let Some(group) = Pid::from_raw(child.cast_signed()) else { return };
        let pass = move || {
            for signal in signals.forever() {
                if passed.contains(&signal)
                    && let Some(signal) = Signal::from_named_raw(signal)
                {
                    let _ = kill_process_group(group, signal);
                }
            }
        };
        // Without the thread they are ignored, which the child outlives.
        let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(pass);
    })
}

/// Waits until the user, or whoever started it, asks this process to end.
/// What comes from now on counts, also before it is waited for.
pub(in crate::tap) fn asked_to_end() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let signals = signals.map(|kind| signal(kind).ok());
    let waits = signals.map(|signal| {
        Box::pin(async move {
            match signal {
                Some(mut signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        })
    });
    async { drop(futures_util::future::select_all(waits).await) }
}

/// Ends this process as another has ended.
pub(in crate::tap) fn end_as(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        // It has left its own core file.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
        let _ = emulate_default_handler(signal);
        std::process::exit(128 + signal);
    }
    std::process::exit(status.code().unwrap_or(1))
}

/// How a process has ended, for the record.
pub(in crate::tap) fn told(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("code {code}"),
        (None, Some(signal)) => match signal_name(signal) {
            Some(name) => format!("killed by {name}"),
            None => format!("killed by signal {signal}"),
        },
        (None, None) => "ended".to_owned(),
    }
}

/// Whether the file is this process's alone to write to.
pub(in crate::tap) fn lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        // Not every file can be locked.
        Err(_) => Ok(true),
    }
}

/// Whether a file cannot be opened because another has it: locks decide that here.
pub(in crate::tap) fn is_taken(_: &io::Error) -> bool {
    false
}

/// Traffic holds secrets: a new file is the user's own.
pub(in crate::tap) fn private(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// A script that runs the words of a command, with its own arguments behind them.
pub(in crate::tap) fn script(words: &[String]) -> Option<String> {
    Some(format!("#!/bin/sh\nexec {} \"$@\"\n", crate::platform::join(words)))
}

/// Where a script is written: any file can be one.
pub(in crate::tap) fn shim_path(path: &Path) -> PathBuf {
    path.to_owned()
}

pub(in crate::tap) fn make_executable(file: &File) -> io::Result<()> {
    file.set_permissions(std::fs::Permissions::from_mode(0o755))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn pipes_are_widened_and_never_narrowed() -> io::Result<()> {
        let (read, write) = rustix::pipe::pipe()?;
        let file = File::open("/dev/null")?;
        for (size, want) in [(4096, PIPE), (2 * PIPE, 2 * PIPE)] {
            // Whoever has many pipes already may not have larger ones.
            if rustix::pipe::fcntl_setpipe_size(&read, size).is_ok() {
                widen(&write);
                assert_eq!(rustix::pipe::fcntl_getpipe_size(&read)?, want);
            }
        }
        widen(&file);
        Ok(())
    }
}
