//! One server of a configuration file: where its command is written.

use super::document::{Member, Node, Syntax, Value};
use crate::targets::members_of_hosts;

/// Tables of servers, and what is in an entry: the way to the command, and the names of its parts.
struct Shape {
    table: &'static str,
    inner: Option<&'static str>,
    command: &'static str,
    args: &'static str,
}

/// Those beside the tables that `sabir targets` reads, in which `command` and `args` are found directly.
const OTHERS: [Shape; 3] = [
    // As Zed had it before.
    Shape { table: "context_servers", inner: Some("command"), command: "path", args: "args" },
    Shape { table: "lsp", inner: Some("binary"), command: "path", args: "arguments" },
    // Helix.
    Shape { table: "language-server", inner: None, command: "command", args: "args" },
];

/// An entry that has a command.
#[derive(Debug)]
pub(super) struct Entry<'d> {
    /// The names on the way to it.
    pub(super) path: Vec<String>,
    pub(super) syntax: Syntax,
    /// The table with the command.
    pub(super) table: &'d Node,
    pub(super) command: &'d Member,
    pub(super) args: Option<&'d Member>,
    /// What the arguments are called.
    pub(super) args_name: &'static str,
}

/// An entry of a name.
#[derive(Debug)]
pub(super) enum Found<'d> {
    Command(Entry<'d>),
    Url(String),
    /// Something that the program starts without being told how, or does not start.
    Neither,
}

/// All entries with this name. `folders` are those that a project may be in.
pub(super) fn named<'d>(whole: &'d Node, syntax: Syntax, name: &str, folders: &[String]) -> Vec<Found<'d>> {
    let mut found: Vec<Found<'d>> = Vec::new();
    for (path, entry, shape) in all(whole, folders) {
        if entry.name != name {
            continue;
        }
        let inner = shape.inner.map_or(Some(&entry.node), |inner| entry.node.member(inner).map(|m| &m.node));
        let command = inner.and_then(|table| Some((table, table.member(shape.command)?)));
        let url =
            ["url", "serverUrl", "httpUrl"].iter().find_map(|name| entry.node.member(name)?.node.text());
        found.push(match (command.filter(|(_, command)| command.node.text().is_some()), url) {
            (Some((table, command)), _) => Found::Command(Entry {
                path: path.iter().copied().chain([name]).map(str::to_owned).collect(),
                syntax,
                table,
                command,
                args: table.member(shape.args),
                args_name: shape.args,
            }),
            (None, Some(url)) => Found::Url(url.to_owned()),
            (None, None) => Found::Neither,
        });
    }
    // A table may have several shapes, of which an entry has one.
    if found.iter().any(|found| !matches!(found, Found::Neither)) {
        found.retain(|found| !matches!(found, Found::Neither));
    }
    found
}

/// The names of all entries.
pub(super) fn names<'d>(whole: &'d Node, folders: &[String]) -> impl Iterator<Item = &'d str> {
    all(whole, folders).into_iter().map(|(_, entry, _)| entry.name.as_str())
}

fn all<'d, 'p>(whole: &'d Node, folders: &'p [String]) -> Vec<(Vec<&'p str>, &'d Member, Shape)> {
    let direct =
        members_of_hosts().map(|table| Shape { table, inner: None, command: "command", args: "args" });
    let mut all = Vec::new();
    for shape in direct.chain(OTHERS) {
        let mut tables = vec![(vec![shape.table], whole.member(shape.table))];
        // Claude Code keeps those of each project in the same file.
        let projects = whole.member("projects");
        for folder in folders {
            let project = projects.and_then(|projects| projects.node.member(folder));
            let table = project.and_then(|project| project.node.member(shape.table));
            tables.push((vec!["projects", folder, shape.table], table));
        }
        for (path, table) in tables {
            for entry in table.map(|table| table.node.members()).unwrap_or_default() {
                let Shape { table, inner, command, args } = shape;
                all.push((path.clone(), entry, Shape { table, inner, command, args }));
            }
        }
    }
    all
}

impl<'d> Entry<'d> {
    /// The entry at a path that was found before, in this or another version of the text.
    pub(super) fn at(whole: &'d Node, syntax: Syntax, path: &[String]) -> Option<Entry<'d>> {
        let (name, way) = path.split_last()?;
        let folders: Vec<String> = match way {
            [projects, folder, _] if projects == "projects" => vec![folder.clone()],
            _ => Vec::new(),
        };
        named(whole, syntax, name, &folders).into_iter().find_map(|found| match found {
            Found::Command(entry) if entry.path == path => Some(entry),
            _ => None,
        })
    }

    /// The arguments as they are written; none if there is no list.
    pub(super) fn elements(&self) -> &'d [Node] {
        match self.args.map(|args| &args.node.value) {
            Some(Value::List(elements)) => elements,
            _ => &[],
        }
    }

    /// The words of the command.
    pub(super) fn words(&self) -> Vec<&'d str> {
        let words = std::iter::once(&self.command.node).chain(self.elements());
        words.map(|word| word.text().unwrap_or_default()).collect()
    }

    /// Where among the arguments the command is that is run behind a tap; `None` if there is no tap.
    pub(super) fn tapped(&self) -> Option<usize> {
        let words = self.words();
        let program = std::path::Path::new(words[0]).file_stem()?;
        if program != "sabir" || words.get(1) != Some(&"tap") {
            return None;
        }
        // The separator is word `end`, so the command behind it is argument `end`.
        let end = words.iter().position(|word| *word == "--")?;
        (end + 1 < words.len()).then_some(end)
    }
}
