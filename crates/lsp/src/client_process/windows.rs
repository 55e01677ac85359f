//! Processes by a handle, which names the process for good.

#![allow(unsafe_code)]

use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, FALSE, GetLastError, WAIT_OBJECT_0};
use windows_sys::Win32::System::Threading::{OpenProcess, PROCESS_SYNCHRONIZE, WaitForSingleObject};

#[derive(Debug)]
pub(super) struct Process {
    /// `None` for one that belongs to somebody else: it is never seen to end.
    handle: Option<OwnedHandle>,
}

impl Process {
    /// `None` if there is none of this number.
    pub(super) fn find(id: u32) -> Option<Self> {
        // SAFETY: it takes numbers alone.
        let handle = unsafe { OpenProcess(PROCESS_SYNCHRONIZE, FALSE, id) };
        if handle.is_null() {
            // SAFETY: it takes nothing.
            let denied = unsafe { GetLastError() } == ERROR_ACCESS_DENIED;
            return denied.then_some(Process { handle: None });
        }
        // SAFETY: the call has just made it, and nobody else has it.
        Some(Process { handle: Some(unsafe { OwnedHandle::from_raw_handle(handle) }) })
    }

    pub(super) fn is_running(&self) -> bool {
        self.handle.as_ref().is_none_or(|handle| {
            // SAFETY: the handle is open as long as it is borrowed.
            let waited = unsafe { WaitForSingleObject(handle.as_raw_handle(), 0) };
            waited != WAIT_OBJECT_0
        })
    }
}
