//! Who may open a pipe. By default everybody may read it; ours are for the user who makes them.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::io;
use std::mem::size_of;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::{from_mut, null_mut};

use tokio::net::windows::named_pipe::{NamedPipeServer, ServerOptions};
use windows_sys::Win32::Foundation::{FALSE, LocalFree};
use windows_sys::Win32::Security::Authorization::{
    ConvertSidToStringSidW, ConvertStringSecurityDescriptorToSecurityDescriptorW, SDDL_REVISION_1,
};
use windows_sys::Win32::Security::{
    GetTokenInformation, PSECURITY_DESCRIPTOR, SECURITY_ATTRIBUTES, TOKEN_QUERY, TOKEN_USER, TokenUser,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// Makes an instance of a pipe that only this user can open.
pub(super) fn create(options: &ServerOptions, path: &str) -> io::Result<NamedPipeServer> {
    let descriptor = only_this_user()?;
    let mut attributes = SECURITY_ATTRIBUTES {
        nLength: size_of::<SECURITY_ATTRIBUTES>() as u32,
        lpSecurityDescriptor: descriptor.0,
        bInheritHandle: FALSE,
    };
    // SAFETY: the attributes and the descriptor in them live until the call is done.
    unsafe { options.create_with_security_attributes_raw(path, from_mut(&mut attributes).cast()) }
}

/// Memory that the system has allocated.
struct Local(*mut c_void);

impl Drop for Local {
    fn drop(&mut self) {
        // SAFETY: it was allocated by a call that says to free it like this, and nobody else does.
        unsafe { LocalFree(self.0) };
    }
}

/// A descriptor that allows everything to the user of this process, and nothing to others.
fn only_this_user() -> io::Result<Local> {
    let sddl = format!("D:P(A;;GA;;;{})\0", user()?);
    let sddl: Vec<u16> = sddl.encode_utf16().collect();
    let mut descriptor: PSECURITY_DESCRIPTOR = null_mut();
    // SAFETY: the text ends in a zero, and the descriptor goes where the pointer says.
    let converted = unsafe {
        ConvertStringSecurityDescriptorToSecurityDescriptorW(
            sddl.as_ptr(),
            SDDL_REVISION_1,
            &raw mut descriptor,
            null_mut(),
        )
    };
    if converted == FALSE { Err(io::Error::last_os_error()) } else { Ok(Local(descriptor)) }
}

/// The security identifier of the user of this process, as text.
fn user() -> io::Result<String> {
    let mut token = null_mut();
    // SAFETY: the handle of this process needs no closing; that of the token goes where the pointer says.
    if unsafe { OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &raw mut token) } == FALSE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has just opened it.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    // A structure with a pointer, and what that points to: aligned as a pointer is, and larger than any identifier.
    let mut buffer = [0usize; 32];
    let (size, mut needed) = (size_of_val(&buffer) as u32, 0);
    // SAFETY: the buffer is as large as we say.
    let asked = unsafe {
        let place = buffer.as_mut_ptr().cast();
        GetTokenInformation(token.as_raw_handle(), TokenUser, place, size, &raw mut needed)
    };
    if asked == FALSE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has put this structure there.
    let user = unsafe { &*buffer.as_ptr().cast::<TOKEN_USER>() };
    let mut text = null_mut();
    // SAFETY: the identifier is inside the buffer; the text goes where the pointer says.
    if unsafe { ConvertSidToStringSidW(user.User.Sid, &raw mut text) } == FALSE {
        return Err(io::Error::last_os_error());
    }
    let _freed = Local(text.cast());
    // SAFETY: the text ends in a zero.
    let text = unsafe { std::slice::from_raw_parts(text, (0..).take_while(|&i| *text.add(i) != 0).count()) };
    Ok(String::from_utf16_lossy(text))
}
