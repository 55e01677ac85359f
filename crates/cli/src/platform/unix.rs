//! As shells do it.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Where to listen, for example.
pub(crate) const LISTEN: &str = "tcp://127.0.0.1:4000 or unix:/tmp/demo.sock";

/// The words of a command. `None` if a quote is never closed.
pub(crate) fn split(command: &str) -> Option<Vec<String>> {
    shlex::split(command)
}

/// A command from its words.
pub(crate) fn join(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// One word of a shell.
pub(crate) fn word(text: &str) -> String {
    let text = text.replace('\0', "");
    shlex::try_quote(&text).map_or_else(|_| "…".to_owned(), std::borrow::Cow::into_owned)
}

/// The path that follows the first character of a text, which is ASCII.
pub(crate) fn without_first(text: &OsStr) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(text.as_bytes().get(1..).unwrap_or_default()))
}

/// The system finds programs by itself.
pub(crate) fn program(name: &str) -> &str {
    name
}

/// The user's own folder.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// What was typed while nobody read the terminal: a line, or a part of one that came while the terminal changed its mode.
pub(crate) fn typed_ahead() -> Option<String> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = std::io::stdin();
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let waiting = poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&now)).ok()?;
    let mut text = [0; 4096];
    // Only once: there may be no end of a line to wait for.
    let count = if waiting > 0 { rustix::io::read(&stdin, &mut text).ok()? } else { 0 };
    (count > 0).then(|| String::from_utf8_lossy(&text[..count]).into_owned())
}

/// Where a program keeps the user's settings.
pub(crate) fn config_folder() -> Option<PathBuf> {
    let set = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    set.or_else(|| home().map(|home| home.join(".config")))
}

/// Where a program keeps what it remembers.
pub(crate) fn state_folder() -> Option<PathBuf> {
    let set = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    set.or_else(|| home().map(|home| home.join(".local/state")))
}

/// Where programs with windows keep theirs: the second is for macOS.
pub(crate) fn app_folders() -> Vec<PathBuf> {
    let library = home().map(|home| home.join("Library/Application Support"));
    config_folder().into_iter().chain(library).collect()
}

/// Whether nobody else could have written the file, except for the administrator.
pub(crate) fn is_ours(about: &Metadata) -> bool {
    const OTHERS_WRITE: u32 = 0o002;
    let owner = about.uid();
    (owner == 0 || owner == rustix::process::geteuid().as_raw()) && about.mode() & OTHERS_WRITE == 0
}

/// Every terminal has colours.
pub(crate) fn enable_colour() -> bool {
    true
}

/// Each connection needs a descriptor. The limit that most systems set is low because of programs that use
/// `select(2)`; this one does not.
pub(crate) fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, fewer connections are served.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_keeps_a_space() {
        assert_eq!(split(r"a b\ c"), Some(vec!["a".to_owned(), "b c".to_owned()]));
    }

    #[test]
    fn a_word_stays_one() {
        for text in ["demo:", "a b", "$(touch x)", "`x`", "it's", "a;b", "", "\"", "!x", "a\nb", "é"] {
            assert_eq!(split(&word(text)), Some(vec![text.to_owned()]), "{text}");
        }
        assert_eq!(word("demo:"), "demo:");
        assert_eq!(word("http://127.0.0.1:4000/rpc"), "http://127.0.0.1:4000/rpc");
    }
}
