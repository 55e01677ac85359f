//! What differs between systems: the standard streams as they are, signals to pass on, the end of a process, files that
//! only one may write to.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{
    asked_to_end, end_as, forward_signals, is_sent, is_taken, lock, make_executable, private, script,
    shim_path, standard_input, standard_output, told, widen,
};
#[cfg(windows)]
pub(super) use windows::{
    asked_to_end, end_as, forward_signals, is_sent, is_taken, lock, make_executable, private, script,
    shim_path, standard_input, standard_output, told, widen,
};
