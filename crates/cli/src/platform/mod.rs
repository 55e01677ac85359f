//! What differs between systems: how a command is written, where programs and settings are found, colours, and
//! descriptors.
//!
//! `word` quotes text in commands that are shown to be copied, and `command` does it for each word of one. What comes from
//! a peer stays one word, without a character that a terminal obeys. `join` is for `split` and for files: it keeps
//! such characters.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
#[cfg(any(windows, test))]
mod words;

#[cfg(unix)]
pub(crate) use unix::{
    LISTEN, apart, app_folders, browser, config_folder, enable_colour, give_way, has_input, hold, home,
    is_held, is_ours, join, open_without_waiting, private_folder, program, raise_descriptor_limit, read_at,
    split, state_folder, without_first, word,
};
#[cfg(windows)]
pub(crate) use windows::{
    LISTEN, apart, app_folders, browser, config_folder, enable_colour, give_way, has_input, hold, home,
    is_held, is_ours, join, open_without_waiting, private_folder, program, raise_descriptor_limit, read_at,
    split, state_folder, without_first, word,
};

/// A command that is shown to be copied.
pub(crate) fn command(words: &[String]) -> String {
    words.iter().map(|text| word(text)).collect::<Vec<_>>().join(" ")
}
