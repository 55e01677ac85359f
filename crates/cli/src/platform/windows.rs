//! As Windows does it.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use super::words::{join, split, word};

/// Where to listen, for example.
pub(crate) const LISTEN: &str = "tcp://127.0.0.1:4000 or pipe:demo";

/// What a program's file ends with. The system itself looks for the first alone, but `npx` and many others are
/// scripts.
const EXTENSIONS: [&str; 3] = ["exe", "cmd", "bat"];

/// The file of a program. A name that is not found is left as it is: starting it says what is wrong.
pub(crate) fn program(name: &str) -> OsString {
    let path = Path::new(name);
    let is_bare = path.extension().is_none() && path.components().count() == 1;
    let folders = std::env::var_os("PATH").filter(|_| is_bare).unwrap_or_default();
    let mut files = std::env::split_paths(&folders)
        .flat_map(|folder| EXTENSIONS.map(|extension| folder.join(name).with_extension(extension)));
    files.find(|file| file.is_file()).map_or_else(|| name.into(), PathBuf::into_os_string)
}

/// The path that follows the first character of a text, which is ASCII.
pub(crate) fn without_first(text: &OsStr) -> PathBuf {
    let rest: Vec<u16> = text.encode_wide().skip(1).collect();
    PathBuf::from(OsString::from_wide(&rest))
}

/// The user's own folder.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::var_os("USERPROFILE").filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// Opens a file to read it.
pub(crate) fn open_without_waiting(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

/// A console is read at once: what has begun to be read cannot be left any more.
pub(crate) fn has_input(_: std::time::Duration) -> bool {
    true
}

/// Where a program keeps the user's settings.
pub(crate) fn config_folder() -> Option<PathBuf> {
    std::env::var_os("APPDATA").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// What opens a URL in the user's browser.
pub(crate) fn browser() -> Option<Command> {
    let mut command = Command::new("rundll32.exe");
    command.arg("url.dll,FileProtocolHandler");
    Some(command)
}

/// Where a program keeps what it remembers.
pub(crate) fn state_folder() -> Option<PathBuf> {
    std::env::var_os("LOCALAPPDATA").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Where programs with windows keep theirs.
pub(crate) fn app_folders() -> Vec<PathBuf> {
    config_folder().into_iter().collect()
}

/// Whether nobody else could have written the file. Who may write is not known here.
pub(crate) fn is_ours(_: &Metadata) -> bool {
    true
}

/// There is no such limit.
pub(crate) fn raise_descriptor_limit() {}

/// A console shows colours once that is enabled.
pub(crate) fn enable_colour() -> bool {
    anstyle_query::windows::enable_ansi_colors().unwrap_or(false)
}

/// Lets a program live on when this one ends, without a console.
pub(crate) fn apart(command: &mut std::process::Command) {
    const DETACHED_PROCESS: u32 = 0x8;
    const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
    std::os::windows::process::CommandExt::creation_flags(
        command,
        DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP,
    );
}

/// Reads from a place in a file, whatever others read from it.
pub(crate) fn read_at(file: &std::fs::File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}

/// Lets other threads go first: they are equal here.
pub(crate) fn give_way(_by: i32) {}

/// Makes a folder, in a place that is the user's own.
pub(crate) fn private_folder(path: &std::path::Path) -> std::io::Result<()> {
    std::fs::create_dir_all(path)
}

/// Makes a file that `is_held` for as long as it is open: others may read and delete it.
pub(crate) fn hold(path: &std::path::Path) -> std::io::Result<std::fs::File> {
    use std::os::windows::fs::OpenOptionsExt;
    const READ_AND_DELETE: u32 = 1 | 4;
    std::fs::OpenOptions::new().write(true).create_new(true).share_mode(READ_AND_DELETE).open(path)
}

/// Whether a process has a file from `hold`.
pub(crate) fn is_held(path: &std::path::Path) -> bool {
    const SHARING_VIOLATION: i32 = 32;
    let opened = std::fs::OpenOptions::new().write(true).open(path);
    opened.is_err_and(|error| error.raw_os_error() == Some(SHARING_VIOLATION))
}
