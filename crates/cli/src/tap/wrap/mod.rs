//! `sabir tap wrap` and `sabir tap unwrap`: put a tap before the command of a server that is configured for another
//! program, and take it away again.
//!
//! The text is changed in place, so that comments and layout stay. What it was is kept, and comes back byte for byte if
//! nobody has changed the file in between; otherwise only the entry is changed back.

mod backup;
mod diff;
mod document;
mod edit;
mod entry;
mod save;

use std::fs;
use std::path::{Path, PathBuf};

use document::{Node, Syntax};
use entry::{Entry, Found};

use crate::args::{UnwrapArgs, WhereArgs, WrapArgs};
use crate::exit::{Exit, Failure};
use crate::platform::{state_folder, word};
use crate::print::Printer;
use crate::suggest;
use crate::targets::{self, HostFile};

/// The program whose configuration is code: what is to be written there is printed.
const NEOVIM: &str = "neovim";

/// A file with an entry of the name that is looked for.
struct Place {
    host: Option<&'static str>,
    /// Where it really is, if the path is a link.
    path: PathBuf,
    text: String,
    syntax: Syntax,
    tree: Node,
}

impl Place {
    fn shown(&self) -> String {
        targets::shown(&self.path)
    }

    /// The program, as it is called in messages.
    fn whose(&self) -> &'static str {
        self.host.unwrap_or("the program that reads it")
    }
}

pub(crate) fn wrap(args: &WrapArgs, printer: &Printer) -> Result<Exit, Failure> {
    let name = &args.place.name;
    let record =
        match (&args.record, args.view) {
            (Some(path), _) => Some(std::path::absolute(path).map_err(|error| {
                Failure::usage(format_args!("cannot record to {}: {error}", path.display()))
            })?),
            (None, true) => None,
            (None, false) => Some(default_record(name)?),
        };
    let tap = tap_words(record.as_deref(), args.view)?;
    if args.place.host.as_deref() == Some(NEOVIM) {
        make_folder(record.as_deref(), args.dry_run)?;
        printer.data(&neovim(name, &tap))?;
        return Ok(Exit::Ok);
    }
    let _lock = lock(args.dry_run)?;
    let places = places(&args.place)?;
    let (place, entry) = choose(
        &places,
        &args.place,
        |entry| entry.tapped().is_none(),
        || {
            Failure::usage(format_args!("`{name}` is behind a tap already"))
                .hint(format_args!("`sabir tap unwrap {}` takes it away", word(name)))
        },
    )?;
    let unable = || {
        Failure::usage(format_args!("`{name}` in {} cannot be changed in place", place.shown()))
            .hint(format_args!("put {} before its command by hand", crate::platform::command(&tap)))
    };
    let after = edit::wrap(&place.text, &entry, &tap).ok_or_else(unable)?;
    // Nothing is written that does not say what it should, or could not be undone.
    let words: Vec<&str> = tap.iter().map(String::as_str).chain(entry.words()).collect();
    let tree = place.syntax.parse(&after).map_err(|_| unable())?;
    let wrapped = Entry::at(&tree, place.syntax, &entry.path).filter(|wrapped| wrapped.words() == words);
    wrapped.and_then(|wrapped| edit::unwrap(&after, &wrapped)).ok_or_else(unable)?;
    if args.dry_run {
        printer.data(&diff::unified(&place.shown(), &place.text, &after))?;
        return Ok(Exit::Ok);
    }
    make_folder(record.as_deref(), false)?;
    let kept = backup::keep(&place.path, &entry.path, &place.text, &after)?;
    write(place, &after)?;
    let what = record.map_or_else(
        || "`sabir view` shows it while it runs".to_owned(),
        |path| format!("recorded to {}", targets::shown(&path)),
    );
    printer.note(&format!("`{name}` in {} is behind a tap now: {what}", place.shown()));
    printer.note(&format!("the file as it was is in {}", targets::shown(&kept)));
    printer.hint(&format!("restart {}; `sabir tap unwrap {}` undoes it", place.whose(), word(name)));
    Ok(Exit::Ok)
}

pub(crate) fn unwrap(args: &UnwrapArgs, printer: &Printer) -> Result<Exit, Failure> {
    let name = &args.place.name;
    if args.place.host.as_deref() == Some(NEOVIM) {
        return Err(Failure::usage("the configuration of Neovim is not changed by `sabir tap wrap`")
            .hint("take the lines that it has printed out of it again"));
    }
    let _lock = lock(args.dry_run)?;
    let places = places(&args.place)?;
    let (place, entry) = choose(
        &places,
        &args.place,
        |entry| entry.tapped().is_some(),
        || {
            Failure::usage(format_args!("`{name}` is not behind a tap"))
                .hint(format_args!("`sabir tap wrap {}` puts it there", word(name)))
        },
    )?;
    let kept = backup::find(&place.path, &entry.path);
    let restored = kept
        .as_ref()
        .and_then(|kept| edit::restore(&place.text, &kept.before, &kept.after, &entry.path, place.syntax));
    let is_exact = restored.is_some();
    let after = restored.or_else(|| edit::unwrap(&place.text, &entry));
    let is_sound = |after: &String| {
        let tree = place.syntax.parse(after).ok();
        let now = tree.as_ref().and_then(|tree| Entry::at(tree, place.syntax, &entry.path));
        now.is_some_and(|now| now.tapped().is_none())
    };
    let after = after.filter(is_sound).ok_or_else(|| {
        Failure::usage(format_args!("`{name}` in {} cannot be changed in place", place.shown()))
            .hint("take the words up to and with `--` out by hand")
    })?;
    if args.dry_run {
        printer.data(&diff::unified(&place.shown(), &place.text, &after))?;
        return Ok(Exit::Ok);
    }
    write(place, &after)?;
    let as_before = match &kept {
        Some(kept) if after == kept.before => "the file is as it was",
        _ if is_exact => "the entry is as it was",
        _ => "the entry runs its own command again",
    };
    if let Some(kept) = kept {
        kept.remove();
    }
    printer.note(&format!("`{name}` in {} is no longer behind a tap: {as_before}", place.shown()));
    printer.hint(&format!("restart {}", place.whose()));
    Ok(Exit::Ok)
}

/// From reading a file to writing it no other `sabir` changes one: of two at once, one would undo what the other did.
/// Without a place for the lock there is none for a backup, and that says why nothing is changed.
fn lock(dry_run: bool) -> Result<Option<fs::File>, Failure> {
    let Some(folder) = state_folder().filter(|_| !dry_run) else { return Ok(None) };
    match save::lock(&folder.join("sabir").join("wrap.lock")) {
        Ok(None) => Err(Failure::new(Exit::Connect, "another `sabir tap wrap` or `unwrap` does not end")),
        Ok(locked) => Ok(locked),
        Err(_) => Ok(None),
    }
}

/// The words of the tap, with this program's own path: programs with windows do not have the path of a shell.
fn tap_words(record: Option<&Path>, is_viewed: bool) -> Result<Vec<String>, Failure> {
    let text = |path: &Path| {
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::usage(format_args!("{} cannot be written into a text file", path.display()))
        })
    };
    let own = std::env::current_exe().map_err(|error| {
        Failure::new(Exit::Connect, format_args!("cannot find this program's own file: {error}"))
    })?;
    let mut words = vec![text(&own)?, "tap".to_owned()];
    if let Some(record) = record {
        words.extend(["--record".to_owned(), text(record)?]);
    }
    words.extend(is_viewed.then(|| "--view".to_owned()));
    words.push("--".to_owned());
    Ok(words)
}

fn default_record(name: &str) -> Result<PathBuf, Failure> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let file: String = name.chars().map(plain).take(64).collect();
    let folder = state_folder()
        .ok_or_else(|| Failure::usage("there is no place for a record").hint("name a file with --record"))?;
    Ok(folder.join("sabir").join("records").join(format!("{file}.jrl")))
}

/// A tap that cannot record does not start.
fn make_folder(record: Option<&Path>, dry_run: bool) -> Result<(), Failure> {
    let Some(folder) = record.and_then(Path::parent).filter(|_| !dry_run) else { return Ok(()) };
    save::own_folder(folder).map_err(|error| {
        Failure::new(Exit::Connect, format_args!("cannot make the folder {}: {error}", folder.display()))
    })
}

/// The files that may have the entry.
fn places(args: &WhereArgs) -> Result<Vec<Place>, Failure> {
    let files = match &args.file {
        Some(path) => vec![HostFile { host: None, path: path.clone(), is_project: false }],
        None => {
            let mut files = targets::host_files();
            files.retain(|file| {
                args.host.as_deref().is_none_or(|host| {
                    file.host.is_some_and(|name| {
                        name == host || name.strip_prefix(host).is_some_and(|rest| rest.starts_with('-'))
                    })
                })
            });
            files
        }
    };
    let mut places = Vec::new();
    for file in files {
        let Some(text) = targets::load_host_file(&file)? else {
            match args.file {
                Some(_) => {
                    return Err(Failure::usage(format_args!(
                        "there is no file {}",
                        targets::shown(&file.path)
                    )));
                }
                None => continue,
            }
        };
        let syntax = Syntax::of(&file.path);
        let tree = match syntax.parse(&text) {
            Ok(tree) => tree,
            // Others may have the entry.
            Err(_) if args.file.is_none() && !text.contains(args.name.as_str()) => continue,
            Err((line, what)) => {
                return Err(Failure::usage(format_args!("{}:{line}: {what}", targets::shown(&file.path))));
            }
        };
        let path = fs::canonicalize(&file.path).unwrap_or(file.path);
        places.push(Place { host: file.host, path, text, syntax, tree });
    }
    Ok(places)
}

/// The one entry of this name that can be changed. If there are some, and none can, `none` says why.
fn choose<'p>(
    places: &'p [Place],
    args: &WhereArgs,
    is_it: impl Fn(&Entry<'_>) -> bool,
    none: impl Fn() -> Failure,
) -> Result<(&'p Place, Entry<'p>), Failure> {
    let folders = targets::folder_names();
    let name = &args.name;
    let (mut fit, mut others, mut is_any_command) = (Vec::new(), None, false);
    for place in places {
        for found in entry::named(&place.tree, place.syntax, name, &folders) {
            match found {
                Found::Command(entry) => {
                    is_any_command = true;
                    if is_it(&entry) {
                        fit.push((place, entry));
                    }
                }
                Found::Url(url) => {
                    let what = format!("`{name}` in {} has a URL and no command", place.shown());
                    let url = word(&url);
                    let hint = format!(
                        "put its URL behind a tap: `sabir tap --record {name}.jrl --listen http://127.0.0.1:9000 {url}`, \
                         and write http://127.0.0.1:9000 there"
                    );
                    others.get_or_insert_with(|| Failure::usage(what).hint(hint));
                }
                Found::Neither => {
                    let what = format!("`{name}` in {} has no command", place.shown());
                    let hint = "write one there first: a tap can only be put before a command that is known";
                    others.get_or_insert_with(|| Failure::usage(what).hint(hint));
                }
            }
        }
    }
    if fit.len() > 1 {
        let [(first, one), (second, other), ..] = fit.as_slice() else { return Err(none()) };
        let what = match first.path == second.path {
            true => format!("`{}` is twice in {}", one.path.join("."), first.shown()),
            false => format!("`{name}` is in {} and in {}", first.shown(), second.shown()),
        };
        let hint = match first.path == second.path {
            true => format!("change one of the names: the other is {}", other.path.join(".")),
            false => format!("choose one with --file {}", word(&first.path.to_string_lossy())),
        };
        return Err(Failure::usage(what).hint(hint));
    }
    match fit.pop() {
        Some(found) => Ok(found),
        None if is_any_command => Err(none()),
        None => Err(others.unwrap_or_else(|| missing(places, args, &folders))),
    }
}

/// Nothing has this name.
fn missing(places: &[Place], args: &WhereArgs, folders: &[String]) -> Failure {
    let name = &args.name;
    let names: Vec<&str> = places.iter().flat_map(|place| entry::names(&place.tree, folders)).collect();
    let failure = match (&args.file, places) {
        (Some(_), [place]) => {
            Failure::usage(format_args!("no server is called `{name}` in {}", place.shown()))
        }
        (_, []) => Failure::usage("no file with servers was found").hint("name it with --file"),
        _ => Failure::usage(format_args!("no server is called `{name}`")),
    };
    let shown = |names: &[&str]| {
        let mut names: Vec<&str> = names.to_vec();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    };
    match suggest::nearest(name, names.iter().copied()) {
        _ if failure.hint.is_some() => failure,
        Some(near) => failure.hint(format_args!("did you mean {}?", word(near))),
        None if names.is_empty() => failure.hint("name its file with --file"),
        None => failure.hint(format_args!("there are: {}", shown(&names))),
    }
}

/// Writes the file, unless somebody else did.
fn write(place: &Place, after: &str) -> Result<(), Failure> {
    let failed =
        |error: std::io::Error| Failure::file(format_args!("cannot write {}: {error}", place.shown()));
    if fs::read_to_string(&place.path).map_err(failed)? != place.text {
        return Err(Failure::new(Exit::Connect, format_args!("{} has just been changed", place.shown()))
            .hint("run this again"));
    }
    let permissions = fs::metadata(&place.path).map_err(failed)?.permissions();
    save::replace(&place.path, after.as_bytes(), Some(&permissions)).map_err(failed)
}

/// Lines for the configuration of Neovim, which is a program.
fn neovim(name: &str, tap: &[String]) -> String {
    // Lua takes the escapes of JSON that these words can have.
    let quoted = |text: &str| Syntax::Json.quoted(text);
    let words: Vec<String> = tap.iter().map(|word| quoted(word)).collect();
    let name = quoted(name);
    format!(
        "-- Behind the configuration of {name}. Before Neovim 0.11, put these words before those of its `cmd`.\n\
         vim.lsp.config({name}, {{\n  \
         cmd = vim.list_extend({{ {} }}, vim.lsp.config[{name}].cmd),\n\
         }})\n",
        words.join(", ")
    )
}
