//! As shells do it.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use sabir_proto::is_terminal_control;

/// Where to listen, for example.
pub(crate) const LISTEN: &str = "tcp://127.0.0.1:4000 or unix:/tmp/demo.sock";

/// The words of a command. `None` if a quote is never closed.
pub(crate) fn split(command: &str) -> Option<Vec<String>> {
    shlex::split(command)
}

/// A command from its words, for `split` and for files.
pub(crate) fn join(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// One word of a shell. Quotes do not help against control characters: a terminal acts on them before the shell reads
/// the line, so they are written as numbers. A shell that does not know `$'…'` sees one quoted word, or an error.
pub(crate) fn word(text: &str) -> String {
    let text = text.replace('\0', "");
    if text.contains(is_terminal_control) {
        return with_numbers(&text);
    }
    shlex::try_quote(&text).map_or_else(|_| "…".to_owned(), std::borrow::Cow::into_owned)
}

/// A word in the notation `$'…'`, in visible characters alone.
fn with_numbers(text: &str) -> String {
    let mut out = String::from("$'");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            // A number, as a shell that does not know the notation would end the word at a quote. An interactive one replaces
            // `!` even here.
            '\'' | '!' => out.push_str(&format!("\\{:03o}", u32::from(c))),
            c if is_terminal_control(c) => {
                let bytes = c
                    .encode_utf8(&mut [0; 4])
                    .bytes()
                    .map(|byte| format!("\\{byte:03o}"))
                    .collect::<String>();
                out.push_str(&bytes);
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
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

/// Opens a file to read it. A pipe that nobody writes to is opened all the same.
pub(crate) fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    File::options().read(true).custom_flags(flags).open(path)
}

/// Whether standard input has something to read, which is waited for.
pub(crate) fn has_input(wait: std::time::Duration) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = rustix::stdio::stdin();
    let timeout = Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
    match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => ready > 0,
        // What cannot be waited for is read at once.
        Err(error) => error != rustix::io::Errno::INTR,
    }
}

/// Where a program keeps the user's settings.
pub(crate) fn config_folder() -> Option<PathBuf> {
    let set = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
    set.or_else(|| home().map(|home| home.join(".config")))
}

/// What opens a URL in the user's browser, if there is a screen.
pub(crate) fn browser() -> Option<Command> {
    if cfg!(target_os = "macos") {
        return Some(Command::new("/usr/bin/open"));
    }
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    has_screen.then(|| Command::new("xdg-open"))
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

/// Whether nobody else could have written the file, except for the administrator. A group may write to it if it is the
/// user's own: the one that the user is in first, and has the same number. Systems that give everybody such a group let
/// it write to new files. A link belongs to whoever made it.
pub(crate) fn is_ours(about: &Metadata) -> bool {
    const OTHERS_WRITE: u32 = 0o002;
    const GROUP_WRITES: u32 = 0o020;
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    let is_mine = about.uid() == 0 || about.uid() == user;
    let is_own_group = about.gid() == group && group == user;
    let group_writes = about.mode() & GROUP_WRITES != 0 && !is_own_group && about.gid() != 0;
    is_mine && (about.is_symlink() || (about.mode() & OTHERS_WRITE == 0 && !group_writes))
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

/// Lets a program live on when this one ends, whatever the terminal or the parent does to it.
pub(crate) fn apart(command: &mut std::process::Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

/// Reads from a place in a file, whatever others read from it.
pub(crate) fn read_at(file: &std::fs::File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

/// Lets the other threads of this process go before this one. Only Linux has priorities of threads that any user can lower.
pub(crate) fn give_way(by: i32) {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    if let Ok(own) = rustix::process::getpriority_process(None) {
        let _ = rustix::process::setpriority_process(None, own + by);
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let _ = by;
}

/// Makes a folder that is the user's own.
pub(crate) fn private_folder(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes a file that is the user's own, and that `is_held` for as long as it is open.
pub(crate) fn hold(path: &std::path::Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // Where files cannot be locked, it looks as if nobody had it.
    let _ = rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
    Ok(file)
}

/// Whether a process has a file from `hold`.
pub(crate) fn is_held(path: &std::path::Path) -> bool {
    use rustix::fs::FlockOperation::NonBlockingLockShared;
    std::fs::File::open(path).is_ok_and(|file| {
        rustix::fs::flock(&file, NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK)
    })
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
        for text in ["demo:", "a b", "$(touch x)", "`x`", "it's", "a;b", "", "\"", "!x", "é"] {
            assert_eq!(split(&word(text)), Some(vec![text.to_owned()]), "{text}");
        }
        assert_eq!(word("demo:"), "demo:");
        assert_eq!(word("http://127.0.0.1:4000/rpc"), "http://127.0.0.1:4000/rpc");
    }

    /// A shell is asked itself: nothing else knows what it makes of a line.
    #[test]
    fn control_characters_are_written_as_numbers() {
        for (text, want) in [
            ("a\nb", "$'a\\012b'"),
            ("\u{3}\u{1b}[201~", "$'\\003\\033[201~'"),
            ("it's\t\\ $(x) `x` \"!", "$'it\\047s\\011\\\\ $(x) `x` \"\\041'"),
            ("é\u{9b}\u{202e}", "$'é\\302\\233\\342\\200\\256'"),
            ("\r\n0", "$'\\015\\0120'"),
        ] {
            let quoted = word(text);
            assert_eq!(quoted, want);
            assert!(!quoted.contains(is_terminal_control), "{quoted}");
            let print = |shell: &str| {
                let script = format!("printf '<%s>' {quoted}");
                let said = Command::new(shell).args(["-c", &script]).output().expect("a shell");
                String::from_utf8_lossy(&said.stdout).into_owned()
            };
            assert_eq!(print("bash"), format!("<{text}>"));
            // One that does not know the notation still sees one word, and runs nothing.
            assert_eq!(print("sh").matches('<').count(), 1, "{quoted}");
        }
    }
}
