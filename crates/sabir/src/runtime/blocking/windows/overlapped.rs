//! A named pipe that is read and written at the same time.
//!
//! With a plain handle a write would wait for the read that is under way. An overlapped one has an event for each.

#![allow(unsafe_code)]

use std::fs::OpenOptions;
use std::io::{self, Read, Write};
use std::mem::zeroed;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::{AsHandle, AsRawHandle, BorrowedHandle, FromRawHandle, OwnedHandle};
use std::ptr::null;
use std::thread;
use std::time::{Duration, Instant};

use windows_sys::Win32::Foundation::{ERROR_IO_PENDING, ERROR_PIPE_BUSY, FALSE, TRUE};
use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_OVERLAPPED, ReadFile, SECURITY_IDENTIFICATION, WriteFile,
};
use windows_sys::Win32::System::IO::{GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Threading::CreateEventW;

use super::stream::Stream;
use crate::Error;
use crate::runtime::blocking::Streams;
use crate::transport::endpoint::CONNECT_TIMEOUT;
use crate::transport::{ConnectError, local};

/// How often a pipe is tried whose instances are all taken.
const RETRY: Duration = Duration::from_millis(20);

/// Connects to a named pipe: by its name alone, as in `sabir`, or by its whole path, as in `\\.\pipe\sabir`.
pub fn pipe(name: impl AsRef<str>) -> Result<Streams, Error> {
    let url = format!("pipe:{}", name.as_ref());
    Ok(open(name.as_ref()).map_err(|error| ConnectError::socket(&url, error))?)
}

fn open(name: &str) -> io::Result<Streams> {
    let path = local::path(name);
    let end = Instant::now() + CONNECT_TIMEOUT;
    let handle: OwnedHandle = loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(FILE_FLAG_OVERLAPPED);
        // The server learns who we are, and cannot act as us.
        match options.security_qos_flags(SECURITY_IDENTIFICATION).open(&path) {
            Ok(file) => break file.into(),
            Err(error)
                if error.raw_os_error() == Some(ERROR_PIPE_BUSY.cast_signed()) && Instant::now() < end =>
            {
                thread::sleep(RETRY);
            }
            Err(error) => return Err(error),
        }
    };
    let input = Overlapped::new(handle.try_clone()?)?;
    Ok(Streams::new(Stream::pipe(input), Stream::pipe(Overlapped::new(handle)?)))
}

/// One direction of an overlapped handle.
pub(super) struct Overlapped {
    handle: OwnedHandle,
    /// Set when the operation is done.
    event: OwnedHandle,
}

impl Overlapped {
    fn new(handle: OwnedHandle) -> io::Result<Self> {
        // SAFETY: neither attributes nor a name are given. It is reset by hand, as the kernel wants it.
        let event = unsafe { CreateEventW(null(), TRUE, FALSE, null()) };
        if event.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has just made it.
        let event = unsafe { OwnedHandle::from_raw_handle(event) };
        Ok(Overlapped { handle, event })
    }

    /// Starts an operation, and waits for it. How many bytes it has moved.
    fn run(&self, start: impl FnOnce(*mut OVERLAPPED) -> i32) -> io::Result<usize> {
        // SAFETY: it consists of numbers and an empty handle.
        let mut operation: OVERLAPPED = unsafe { zeroed() };
        operation.hEvent = self.event.as_raw_handle();
        let operation = &raw mut operation;
        if start(operation) == FALSE {
            let error = io::Error::last_os_error();
            if error.raw_os_error() != Some(ERROR_IO_PENDING.cast_signed()) {
                return Err(error);
            }
        }
        let mut count = 0;
        // SAFETY: this returns once the operation is over, so what it needs lives for as long as it does.
        match unsafe { GetOverlappedResult(self.handle.as_raw_handle(), operation, &raw mut count, TRUE) } {
            FALSE => Err(io::Error::last_os_error()),
            _ => Ok(count as usize),
        }
    }
}

impl AsHandle for Overlapped {
    fn as_handle(&self) -> BorrowedHandle<'_> {
        self.handle.as_handle()
    }
}

impl Read for Overlapped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let (handle, place) = (self.handle.as_raw_handle(), buffer.as_mut_ptr());
        // SAFETY: the buffer is as large as we say, and lives until `run` returns, when the operation is over.
        let read =
            self.run(|operation| unsafe { ReadFile(handle, place, size, std::ptr::null_mut(), operation) });
        match read {
            // The peer has closed its end, and everything is read.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
            read => read,
        }
    }
}

impl Write for Overlapped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let (handle, place) = (self.handle.as_raw_handle(), bytes.as_ptr());
        // SAFETY: the bytes are as many as we say, and live until `run` returns, when the operation is over.
        self.run(|operation| unsafe { WriteFile(handle, place, size, std::ptr::null_mut(), operation) })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
