//! Job objects.
//!
//! A process starts suspended, is put into a job, and only then runs: nothing that it starts can be outside. The
//! job's one handle is ours, so the kernel closes it when this process dies, and ends all that is in the job.

#![allow(unsafe_code)]

use std::io;
use std::mem::{size_of, zeroed};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::process::Command;
use std::ptr::{from_mut, from_ref, null, null_mut};

use windows_sys::Win32::Foundation::{FALSE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent, GetConsoleCP};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectBasicAccountingInformation, JobObjectExtendedLimitInformation, QueryInformationJobObject,
    SetInformationJobObject, TerminateJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, CREATE_SUSPENDED, OpenProcess, OpenThread, PROCESS_SET_QUOTA,
    PROCESS_TERMINATE, ResumeThread, THREAD_SUSPEND_RESUME, TerminateProcess,
};

use super::Signal;

/// What a process that is ended from outside exits with.
const KILLED: u32 = 1;

/// Whether a call succeeded, or why not.
fn check(succeeded: i32) -> io::Result<()> {
    if succeeded == FALSE { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The handle that a call has returned, which is ours from now on.
fn owned(handle: windows_sys::Win32::Foundation::HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just made it, and nobody else has it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// A group of its own, which Ctrl-C in our console does not reach and Ctrl-Break can be sent to. A program without a
/// console, such as an editor, does not get a window for it.
pub(crate) fn prepare(command: &mut Command) {
    // SAFETY: it takes nothing, and returns 0 where there is no console.
    let has_console = unsafe { GetConsoleCP() } != 0;
    let window = if has_console { 0 } else { CREATE_NO_WINDOW };
    command.creation_flags(CREATE_SUSPENDED | CREATE_NEW_PROCESS_GROUP | window);
}

/// Starts a process that was prepared. `id` is how its number is asked for.
pub(crate) fn spawn<P: Send + 'static>(
    start: impl FnOnce() -> io::Result<P> + Send + 'static,
    id: impl FnOnce(&P) -> Option<u32>,
) -> io::Result<(P, ProcessGroup)> {
    let job = job()?;
    let process = start()?;
    let id = id(&process).ok_or_else(|| io::Error::other("the process has no number"))?;
    // SAFETY: plain numbers go in. `process` has a handle of its own, so the number cannot be another's.
    let handle = owned(unsafe { OpenProcess(PROCESS_SET_QUOTA | PROCESS_TERMINATE, FALSE, id) })?;
    // SAFETY: both handles are open.
    let assigned = check(unsafe { AssignProcessToJobObject(job.as_raw_handle(), handle.as_raw_handle()) });
    if let Err(error) = assigned.and_then(|()| resume(id)) {
        // It would stay suspended for ever.
        // SAFETY: the handle is open, and may terminate.
        unsafe { TerminateProcess(handle.as_raw_handle(), KILLED) };
        return Err(error);
    }
    Ok((process, ProcessGroup { job, id }))
}

/// A job that ends with its last handle.
fn job() -> io::Result<OwnedHandle> {
    // SAFETY: neither attributes nor a name are given.
    let job = owned(unsafe { CreateJobObjectW(null(), null()) })?;
    // SAFETY: it consists of numbers, for which zero means that nothing is limited.
    let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { zeroed() };
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    let size = size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32;
    let (handle, kind) = (job.as_raw_handle(), JobObjectExtendedLimitInformation);
    // SAFETY: the pointer and the size are those of the structure that this kind of information has.
    check(unsafe { SetInformationJobObject(handle, kind, from_ref(&limits).cast(), size) })?;
    Ok(job)
}

/// Lets a suspended process run. Its one thread has to be found first: the standard library keeps no handle.
fn resume(process: u32) -> io::Result<()> {
    // SAFETY: plain numbers go in.
    let snapshot = owned(unsafe { CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0) })?;
    // SAFETY: it consists of numbers.
    let mut entry: THREADENTRY32 = unsafe { zeroed() };
    entry.dwSize = size_of::<THREADENTRY32>() as u32;
    // SAFETY: the entry is as large as it says, in this call and in the one below.
    let mut found = unsafe { Thread32First(snapshot.as_raw_handle(), &raw mut entry) };
    while found != FALSE {
        if entry.th32OwnerProcessID == process {
            // SAFETY: plain numbers go in.
            let thread = owned(unsafe { OpenThread(THREAD_SUSPEND_RESUME, FALSE, entry.th32ThreadID) })?;
            // SAFETY: the handle is open, and may resume.
            if unsafe { ResumeThread(thread.as_raw_handle()) } == u32::MAX {
                return Err(io::Error::last_os_error());
            }
            return Ok(());
        }
        found = unsafe { Thread32Next(snapshot.as_raw_handle(), &raw mut entry) };
    }
    Err(io::Error::other("the process has no thread"))
}

/// A process with everything that it starts: a process group, on Windows a job object.
#[derive(Debug)]
pub struct ProcessGroup {
    job: OwnedHandle,
    id: u32,
}

impl ProcessGroup {
    pub(crate) fn signal(&self, signal: Signal) {
        match signal {
            // The number must not be another's, which it cannot be while somebody is in the group.
            Signal::Terminate if self.has_ended() => {}
            // SAFETY: plain numbers go in.
            Signal::Terminate => drop(unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, self.id) }),
            // SAFETY: the handle is open.
            Signal::Kill => drop(unsafe { TerminateJobObject(self.job.as_raw_handle(), KILLED) }),
        }
    }

    /// Whether all processes have ended.
    pub(super) fn has_ended(&self) -> bool {
        // SAFETY: it consists of numbers.
        let mut counts: JOBOBJECT_BASIC_ACCOUNTING_INFORMATION = unsafe { zeroed() };
        let size = size_of::<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION>() as u32;
        let (handle, kind) = (self.job.as_raw_handle(), JobObjectBasicAccountingInformation);
        // SAFETY: the pointer and the size are those of the structure that this kind of information has.
        let asked = unsafe {
            QueryInformationJobObject(handle, kind, from_mut(&mut counts).cast(), size, null_mut())
        };
        asked == FALSE || counts.ActiveProcesses == 0
    }
}
