//! What differs between systems: how a command is written, where programs and settings are found, colours, and
//! descriptors.
//!
//! `word` quotes text in commands that are shown to be copied. What comes from a peer stays one word.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
#[cfg(any(windows, test))]
mod words;

#[cfg(unix)]
pub(crate) use unix::{
    LISTEN, app_folders, config_folder, enable_colour, home, is_ours, join, open_without_waiting, program,
    raise_descriptor_limit, split, state_folder, typed_ahead, without_first, word,
};
#[cfg(windows)]
pub(crate) use windows::{
    LISTEN, app_folders, config_folder, enable_colour, home, is_ours, join, open_without_waiting, program,
    raise_descriptor_limit, split, state_folder, typed_ahead, without_first, word,
};
