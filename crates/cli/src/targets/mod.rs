//! Saved targets: names for URLs and commands, from the user's file, a project's file, and the programs that have
//! servers configured already. Files are read only when a name is used.

mod entry;
mod file;
mod fill;
mod hosts;
mod jsonc;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

pub(crate) use entry::Entry;
pub(crate) use hosts::{HostFile, load as load_host_file, members as members_of_hosts};
pub(crate) use jsonc::plain as plain_json;
use serde_json::json;

use crate::args::TargetsArgs;
use crate::exit::{Exit, Failure};
use crate::json::escape_controls;
use crate::layout::Table;
use crate::paint::Paint;
use crate::peer::Chosen;
use crate::platform::{home, word};
use crate::print::Printer;
use crate::suggest;
use crate::target::Target;

/// The name of the file of a project, and of the user's own.
const FILE: &str = "sabir.toml";

/// What the entries of a file are shown and chosen by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    /// As in `claude-code/NAME`.
    pub(crate) name: &'static str,
    /// Whether the file belongs to a folder, and may have come with it.
    pub(crate) is_project: bool,
}

const USER: Source = Source { name: "user", is_project: false };
const PROJECT: Source = Source { name: "project", is_project: true };

/// All entries, with the files that could not be read.
#[derive(Default)]
struct Saved {
    entries: Vec<Entry>,
    /// The entries of each name, short and whole.
    by_name: HashMap<String, Vec<usize>>,
    broken: Vec<Failure>,
}

impl Saved {
    /// Adds what a file holds, if there is one.
    fn add(&mut self, read: Result<Vec<Entry>, Failure>) {
        match read {
            Ok(entries) => {
                for entry in entries {
                    for name in [entry.name.clone(), entry.whole_name()] {
                        self.by_name.entry(name).or_default().push(self.entries.len());
                    }
                    self.entries.push(entry);
                }
            }
            Err(failure) => self.broken.push(failure),
        }
    }

    /// In the order in which names are looked up: what is the user's own comes first, so that no project can take the
    /// place of it.
    fn load() -> Saved {
        let mut saved = Saved::default();
        saved.add(user_file().map_or(Ok(Vec::new()), |path| file::read(&path, USER)));
        let folders = folders();
        let project = folders.iter().map(|folder| folder.join(FILE)).find(|path| path.is_file());
        saved.add(project.map_or(Ok(Vec::new()), |path| file::read(&path, PROJECT)));
        for read in hosts::read(&folders) {
            saved.add(read);
        }
        saved
    }

    fn named<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Entry> {
        self.by_name.get(name).into_iter().flatten().map(|place| &self.entries[*place])
    }

    /// The shortest name by which an entry is found.
    fn short_name(&self, entry: &Entry) -> String {
        match self.find(&entry.name) {
            Ok(Some(found)) if std::ptr::eq(found, entry) => entry.name.clone(),
            _ => entry.whole_name(),
        }
    }

    /// The entry of this name. Programs that were configured by others have equal rights: a name that two of them use
    /// for different things must say which.
    fn find(&self, name: &str) -> Result<Option<&Entry>, Failure> {
        let mut named = self.named(name);
        let Some(first) = named.next() else { return Ok(None) };
        if first.source == USER || first.source == PROJECT || first.whole_name() == name {
            return Ok(Some(first));
        }
        match named.find(|other| !other.is_same_as(first)) {
            None => Ok(Some(first)),
            Some(other) => {
                let what =
                    format!("`{name}` is configured in {} and in {}", first.source.name, other.source.name);
                let hint = format!("use {} or {}", word(&first.whole_name()), word(&other.whole_name()));
                Err(Failure::usage(what).hint(hint))
            }
        }
    }
}

/// The target that is saved under a name. `None` if nothing is, and nothing is similar.
pub(crate) fn find(name: &str, printer: &Printer) -> Result<Option<Chosen>, Failure> {
    let saved = Saved::load();
    if let Some(entry) = saved.find(name)? {
        let chosen = entry.chosen()?;
        // What it is with its variables filled in: a file cannot hide a command behind one.
        if entry.source.is_project && matches!(chosen.target, Target::Program(_)) {
            printer.remark(&format!("{} names this command: {}", shown(&entry.path), entry.what()));
        }
        return Ok(Some(chosen));
    }
    if let Some(broken) = saved.broken.into_iter().next() {
        return Err(broken);
    }
    let names: Vec<String> =
        saved.entries.iter().flat_map(|entry| [entry.name.clone(), entry.whole_name()]).collect();
    match suggest::nearest(name, names.iter().map(String::as_str)) {
        None => Ok(None),
        Some(near) => Err(Failure::usage(format_args!("no target is saved as `{name}`"))
            .hint(format_args!("did you mean {}?", word(near)))),
    }
}

/// Whether nothing is saved under a name, as far as all files can be read.
pub(crate) fn is_unknown(name: &str) -> bool {
    let saved = Saved::load();
    saved.broken.is_empty() && saved.named(name).next().is_none()
}

/// The same for completion, which says nothing if it fails. Pressing a key is not consent: nothing of the environment goes to a
/// peer that a project's file names.
pub(crate) fn quietly(name: &str) -> Option<Chosen> {
    let saved = Saved::load();
    let entry = saved.find(name).ok().flatten()?;
    let leaks = entry.source.is_project && entry.has_variables();
    (!leaks).then(|| entry.chosen().ok()).flatten()
}

/// `sabir targets`: lists them with the file that each is from.
pub(crate) fn run(args: &TargetsArgs, printer: &Printer) -> Result<Exit, Failure> {
    let saved = Saved::load();
    if args.json {
        for entry in &saved.entries {
            let line = json!({
                "name": saved.short_name(entry),
                "target": entry.what(),
                "as": entry.protocol.map(|protocol| protocol.to_string()),
                "source": entry.source.name,
                "file": entry.path,
            });
            printer.json(&line.to_string())?;
        }
    } else {
        let mut table = Table::new(&["name", "target", "file"]);
        for entry in &saved.entries {
            table.row([
                (Some(Paint::Key), saved.short_name(entry)),
                (None, entry.what()),
                (Some(Paint::Why), shown(&entry.path)),
            ]);
        }
        if !saved.entries.is_empty() {
            printer.page(&table.text(printer.layout()))?;
        }
    }
    for failure in &saved.broken {
        printer.failure(failure);
    }
    if saved.entries.is_empty() && saved.broken.is_empty() {
        printer.note("no targets are saved");
        printer.hint(&format!(
            "write one into {FILE} here, or into {}; `sabir help targets` shows how",
            user_file().map_or_else(|| "your own".to_owned(), |path| shown(&path))
        ));
    }
    Ok(if saved.broken.is_empty() { Exit::Ok } else { Exit::Usage })
}

/// The files in which other programs keep servers, whether they exist or not.
pub(crate) fn host_files() -> Vec<HostFile> {
    hosts::files(&folders())
}

/// The working directory, and the folders that it is in, as text.
pub(crate) fn folder_names() -> Vec<String> {
    folders().iter().filter_map(|folder| folder.to_str().map(str::to_owned)).collect()
}

/// The working directory, and the folders that it is in.
fn folders() -> Vec<PathBuf> {
    std::env::current_dir().map(|folder| folder.ancestors().map(Path::to_owned).collect()).unwrap_or_default()
}

fn user_file() -> Option<PathBuf> {
    crate::platform::config_folder().map(|folder| folder.join("sabir").join(FILE))
}

/// A path as a person writes it.
pub(crate) fn shown(path: &Path) -> String {
    let shorter = |base: Option<PathBuf>, with: &str| {
        let rest = path.strip_prefix(base?).ok()?;
        Some(format!("{with}{}", rest.display()))
    };
    let path = shorter(std::env::current_dir().ok(), "")
        .or_else(|| shorter(home(), "~/"))
        .unwrap_or_else(|| path.display().to_string());
    escape_controls(&path).into_owned()
}
