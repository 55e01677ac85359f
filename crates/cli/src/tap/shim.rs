//! `sabir tap --make-shim`: a script that stands for a command, for programs in which only a path can be set.

use std::ffi::{OsStr, OsString};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::platform;
use crate::args::TapArgs;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::targets::shown;

/// Writes the script. It holds the options of this command line, so that none can be forgotten here.
pub(super) fn make(path: &Path, args: &TapArgs, printer: &Printer) -> Result<Exit, Failure> {
    let path = platform::shim_path(path);
    let cannot = |error: io::Error| Failure::file(format_args!("cannot write {}: {error}", shown(&path)));
    let own = std::env::current_exe().map_err(cannot)?;
    let mut words = vec![own.into_os_string(), OsString::from("tap")];
    words.extend(options(std::env::args_os().skip(1)).map_err(cannot)?);
    words.push(OsString::from("--"));
    words.push(command(&args.command[0], &path)?);
    words.extend(args.command[1..].iter().cloned());
    let words = words.iter().map(|word| word.to_str().map(str::to_owned)).collect::<Option<Vec<String>>>();
    let words =
        words.ok_or_else(|| Failure::usage("a word that is not UTF-8 cannot be written into a script"))?;
    let script = platform::script(&words).ok_or_else(|| {
        Failure::usage("a word with a line break or a quote cannot be written into a script of cmd.exe")
    })?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let written = options.open(&path).and_then(|mut file| {
        file.write_all(script.as_bytes())?;
        platform::make_executable(&file)
    });
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Failure::usage(format_args!("{} exists already", shown(&path)))
                .hint("remove it first, or choose another name"))
        }
        written => {
            written.map_err(cannot)?;
            printer.note(&format!(
                "{} runs {} behind a tap",
                shown(&path),
                args.command[0].to_string_lossy()
            ));
            if args.record.is_none() && !args.view && !args.print && !args.check {
                printer.note("it keeps and shows nothing: add --record FILE or --view");
            }
            Ok(Exit::Ok)
        }
    }
}

/// The options of this command line, without `--make-shim`. A script may run in any folder, so paths become whole.
fn options(typed: impl Iterator<Item = OsString>) -> io::Result<Vec<OsString>> {
    let mut options = Vec::new();
    let mut typed = typed.skip_while(|word| word != "tap").skip(1).take_while(|word| word != "--");
    while let Some(word) = typed.next() {
        let text = word.to_string_lossy();
        if text == "--make-shim" {
            typed.next();
        } else if text == "--record" {
            let file = typed.next().unwrap_or_default();
            options.extend([word, std::path::absolute(file)?.into_os_string()]);
        } else if let Some(file) = text.strip_prefix("--record=") {
            options.extend(["--record".into(), std::path::absolute(file)?.into_os_string()]);
        } else if !text.starts_with("--make-shim=") {
            options.push(word);
        }
    }
    Ok(options)
}

/// The program, so that it is found from any folder, and is not the script itself.
fn command(name: &OsStr, shim: &Path) -> Result<OsString, Failure> {
    let path = Path::new(name);
    if path.components().count() > 1 {
        return Ok(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).into_os_string());
    }
    if shim.file_stem() != path.file_stem() {
        return Ok(name.to_owned());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(path)).find(|file| {
        let is_shim = || std::path::absolute(shim).ok() == std::path::absolute(file).ok();
        file.is_file() && !is_shim()
    });
    found.map(PathBuf::into_os_string).ok_or_else(|| {
        Failure::usage(format_args!("{} would run itself", shown(shim)))
            .hint("give the whole path of the command, or another name to the file")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_stay_as_they_are_typed() {
        let own =
            std::path::absolute("s.jrl").map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
        for (typed, want) in [
            ("sabir tap --make-shim f --print -- x --record a", vec!["--print"]),
            ("sabir tap --record s.jrl --check --make-shim=f -- x", vec!["--record", &own, "--check"]),
            ("sabir tap --record=s.jrl --make-shim f -- x", vec!["--record", &own]),
        ] {
            let options = options(typed.split(' ').map(OsString::from)).unwrap_or_default();
            assert_eq!(options, want, "{typed}");
        }
    }
}
