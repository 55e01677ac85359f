//! What can be read or written, and how a thread that is blocked in that is freed.

#![allow(unsafe_code)]

use std::fmt;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::windows::io::{AsHandle, AsRawHandle, OwnedHandle, OwnedSocket};
use std::process::{ChildStdin, ChildStdout};
use std::ptr::null;
use std::thread;

use windows_sys::Win32::System::IO::CancelIoEx;

use super::overlapped::Overlapped;

/// One direction of a connection: a handle or a socket.
///
/// A handle must not serve both directions, unless it is a socket: Windows lets a write wait for the read before it.
pub struct Stream {
    kind: Kind,
    pub(super) cancel: Option<Cancel>,
}

enum Kind {
    Socket(TcpStream),
    File(File),
    /// Read to its end.
    Drained(Drained),
    Pipe(Overlapped),
    Input(Box<dyn Read + Send>),
    Output(Box<dyn Write + Send>),
}

/// Reads what is left, once it is dropped: many programs crash if they cannot print.
struct Drained(Option<File>);

impl Drop for Drained {
    fn drop(&mut self) {
        if let Some(mut file) = self.0.take() {
            // It ends with the process.
            thread::spawn(move || io::copy(&mut file, &mut io::sink()));
        }
    }
}

/// Frees a thread that is blocked in a stream, when this is dropped.
pub(super) enum Cancel {
    Socket(TcpStream),
    Handle(OwnedHandle),
}

impl Drop for Cancel {
    fn drop(&mut self) {
        match self {
            Cancel::Socket(socket) => drop(socket.shutdown(Shutdown::Both)),
            // SAFETY: the handle is open. No single operation is named, so all that are under way are cancelled.
            Cancel::Handle(handle) => drop(unsafe { CancelIoEx(handle.as_raw_handle(), null()) }),
        }
    }
}

impl Stream {
    /// Something that nothing frees a thread from.
    pub(super) fn input(input: Box<dyn Read + Send>) -> Self {
        Stream { kind: Kind::Input(input), cancel: None }
    }

    /// The same for writing.
    pub(super) fn output(output: Box<dyn Write + Send>) -> Self {
        Stream { kind: Kind::Output(output), cancel: None }
    }

    /// The output of a process. Nothing frees a thread from it but its end, which comes with that of the process.
    pub(super) fn drained(output: ChildStdout) -> Self {
        let file = File::from(OwnedHandle::from(output));
        Stream { kind: Kind::Drained(Drained(Some(file))), cancel: None }
    }

    pub(super) fn pipe(pipe: Overlapped) -> Self {
        let cancel = pipe.as_handle().try_clone_to_owned().ok().map(Cancel::Handle);
        Stream { kind: Kind::Pipe(pipe), cancel }
    }
}

impl From<TcpStream> for Stream {
    fn from(socket: TcpStream) -> Self {
        let cancel = socket.try_clone().ok().map(Cancel::Socket);
        Stream { kind: Kind::Socket(socket), cancel }
    }
}

impl From<OwnedHandle> for Stream {
    fn from(handle: OwnedHandle) -> Self {
        let cancel = handle.try_clone().ok().map(Cancel::Handle);
        Stream { kind: Kind::File(handle.into()), cancel }
    }
}

/// Each of these is a handle or a socket.
macro_rules! from {
    ($($type:ty => $into:ty),*) => {$(
        impl From<$type> for Stream {
            fn from(stream: $type) -> Self {
                <$into>::from(stream).into()
            }
        }
    )*};
}

from!(
    OwnedSocket => TcpStream, File => OwnedHandle, PipeReader => OwnedHandle, PipeWriter => OwnedHandle,
    ChildStdin => OwnedHandle, ChildStdout => OwnedHandle
);

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Socket(socket) => socket.read(buffer),
            Kind::File(file) => file.read(buffer),
            Kind::Drained(Drained(file)) => file.as_mut().map_or(Ok(0), |file| file.read(buffer)),
            Kind::Pipe(pipe) => pipe.read(buffer),
            Kind::Input(input) => input.read(buffer),
            Kind::Output(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.kind {
            Kind::Socket(socket) => socket.write(bytes),
            Kind::File(file) => file.write(bytes),
            Kind::Pipe(pipe) => pipe.write(bytes),
            Kind::Output(output) => output.write(bytes),
            Kind::Input(_) | Kind::Drained(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.kind {
            Kind::Output(output) => output.flush(),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}
