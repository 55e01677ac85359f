//! The handles of standard input and output.
//!
//! They cannot be polled: whoever started the process has decided that reading and writing them blocks. So threads
//! do that ([`thread_io`](crate::transport::thread_io)).

#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::os::windows::io::{AsHandle, IntoRawHandle, OwnedHandle, RawHandle};
use std::sync::Mutex;

use windows_sys::Win32::Foundation::FALSE;
use windows_sys::Win32::System::Console::{STD_HANDLE, STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, SetStdHandle};

use crate::sync::lock;
use crate::transport::ByteTransport;
use crate::transport::thread_io::{ThreadReader, ThreadWriter};

/// Standard input.
pub(crate) type Input = Box<dyn Read + Send>;
/// Standard output.
pub(crate) type Output = Box<dyn Write + Send>;

/// Opens standard input and output for a connection.
pub(crate) fn open((input, output): (Input, Output)) -> io::Result<ByteTransport> {
    let (read, write) =
        (ThreadReader::new("sabir-stdin", input)?, ThreadWriter::new("sabir-stdout", output)?);
    Ok(ByteTransport::new(read, write))
}

/// Standard input and output for ourselves. A console is read and written by the standard library, which turns what
/// is typed there into UTF-8.
pub(crate) fn streams(guarded: bool) -> io::Result<(Input, Output)> {
    let input: Input = match real(&INPUT, io::stdin()) {
        Some(input) => Box::new(File::from(input?)),
        None => Box::new(io::stdin()),
    };
    let output: Output = match real(&OUTPUT, io::stdout()) {
        Some(output) => Box::new(File::from(output?)),
        None => Box::new(io::stdout()),
    };
    if guarded {
        guard()?;
    }
    Ok((input, output))
}

/// Where standard input and output led before they were guarded.
static INPUT: Mutex<Option<OwnedHandle>> = Mutex::new(None);
static OUTPUT: Mutex<Option<OwnedHandle>> = Mutex::new(None);

/// A copy of a standard handle as it was before it was guarded. `None` if it is a console.
fn real(
    guarded: &Mutex<Option<OwnedHandle>>,
    handle: impl AsHandle + IsTerminal,
) -> Option<io::Result<OwnedHandle>> {
    match &*lock(guarded) {
        Some(real) => Some(real.try_clone()),
        None if handle.is_terminal() => None,
        None => Some(handle.as_handle().try_clone_to_owned()),
    }
}

/// From here to the end of the process, what is printed goes to standard error, and whoever reads standard input is
/// at its end: a process that inherited it could not even ask what kind of file it is while our thread reads it.
fn guard() -> io::Result<()> {
    let mut input = lock(&INPUT);
    if input.is_none() && !io::stdin().is_terminal() {
        let real = io::stdin().as_handle().try_clone_to_owned()?;
        replace(STD_INPUT_HANDLE, File::open("NUL")?.into_raw_handle())?;
        *input = Some(real);
    }
    let mut output = lock(&OUTPUT);
    if output.is_none() && !io::stdout().is_terminal() {
        let real = io::stdout().as_handle().try_clone_to_owned()?;
        let errors = match io::stderr().as_handle().try_clone_to_owned() {
            Ok(errors) => errors.into_raw_handle(),
            // There is no standard error: nobody will miss it.
            Err(_) => File::options().write(true).open("NUL")?.into_raw_handle(),
        };
        c::redirect_stdout();
        replace(STD_OUTPUT_HANDLE, errors)?;
        *output = Some(real);
    }
    Ok(())
}

/// Puts another handle into the place of a standard one. It stays open for as long as the process lives.
fn replace(which: STD_HANDLE, handle: RawHandle) -> io::Result<()> {
    // SAFETY: the handle is open, and nobody closes it.
    match unsafe { SetStdHandle(which, handle) } {
        FALSE => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The C library has descriptors of its own, which it takes from the handles when the process starts.
mod c {
    use std::ffi::c_int;

    // SAFETY: `int _dup2(int, int)` of the C library that Rust's standard library is linked to.
    unsafe extern "C" {
        fn _dup2(from: c_int, to: c_int) -> c_int;
    }

    /// What C code prints goes to standard error, too. This closes the handle that descriptor 1 had.
    pub(super) fn redirect_stdout() {
        // SAFETY: descriptors 1 and 2 are always there, even if nothing is behind them.
        unsafe { _dup2(2, 1) };
    }
}
