//! Processes by their number. On Linux a descriptor names the process for good, also when its number is used again.

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

#[derive(Debug)]
pub(super) struct Process {
    id: Pid,
    #[cfg(target_os = "linux")]
    descriptor: Option<std::os::fd::OwnedFd>,
}

impl Process {
    /// `None` if there is none of this number.
    pub(super) fn find(id: u32) -> Option<Self> {
        let id = Pid::from_raw(i32::try_from(id).ok()?)?;
        exists(id).then(|| Process {
            id,
            // Kernels before 5.3 have none.
            #[cfg(target_os = "linux")]
            descriptor: rustix::process::pidfd_open(id, rustix::process::PidfdFlags::empty()).ok(),
        })
    }

    pub(super) fn is_running(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(descriptor) = &self.descriptor {
            return !has_ended(descriptor);
        }
        exists(self.id)
    }
}

/// A process that has ended makes its descriptor readable, also before its parent has asked how it ended.
#[cfg(target_os = "linux")]
fn has_ended(descriptor: &std::os::fd::OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = [PollFd::new(descriptor, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
}

/// One that belongs to somebody else exists, too.
fn exists(id: Pid) -> bool {
    !matches!(test_kill_process(id), Err(Errno::SRCH))
}
