//! The servers that are configured for other programs. Their files are only read.

use std::path::{Path, PathBuf};

use sabir::{McpRevision, error_reason};
use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::entry::{Address, Entry};
use super::fill::Variables;
use super::{Source, file, jsonc, shown};
use crate::exit::Failure;
use crate::json::{MOST_VALUES, has_more_values};
use crate::platform::{app_folders, home};
use crate::session::Protocol;

/// A program that keeps servers, and where.
struct Host {
    name: &'static str,
    /// Below the folder of the user's programs.
    app: &'static [&'static str],
    /// Below the user's own folder.
    home: &'static [&'static str],
    /// Below the folder of a project.
    project: &'static [&'static str],
    /// The member that holds the servers.
    member: &'static str,
    variables: Variables,
}

const HOSTS: [Host; 6] = [
    Host {
        name: "claude-desktop",
        app: &["Claude/claude_desktop_config.json"],
        home: &[],
        project: &[],
        member: "mcpServers",
        variables: Variables::Literal,
    },
    Host {
        name: "claude-code",
        app: &[],
        home: &[".claude.json"],
        project: &[".mcp.json"],
        member: "mcpServers",
        variables: Variables::Filled,
    },
    Host {
        name: "cursor",
        app: &[],
        home: &[".cursor/mcp.json"],
        project: &[".cursor/mcp.json"],
        member: "mcpServers",
        variables: Variables::Filled,
    },
    Host {
        name: "vscode",
        app: &["Code/User/mcp.json"],
        home: &[],
        project: &[".vscode/mcp.json"],
        member: "servers",
        variables: Variables::Filled,
    },
    Host {
        name: "zed",
        app: &["zed/settings.json", "Zed/settings.json"],
        home: &[],
        project: &[".zed/settings.json"],
        member: "context_servers",
        variables: Variables::Literal,
    },
    Host {
        name: "codex",
        app: &[],
        home: &[".codex/config.toml"],
        project: &[],
        member: "mcp_servers",
        variables: Variables::Literal,
    },
];

/// Editors whose servers are not targets: they are only put behind a tap.
const EDITORS: [Host; 1] = [Host {
    name: "helix",
    app: &["helix/languages.toml"],
    home: &[],
    project: &[".helix/languages.toml"],
    member: "language-server",
    variables: Variables::Literal,
}];

/// A file in which a program keeps servers.
#[derive(Debug)]
pub(crate) struct HostFile {
    /// The program; `None` if only the file is known.
    pub(crate) host: Option<&'static str>,
    pub(crate) path: PathBuf,
    pub(crate) is_project: bool,
}

/// All of them, whether they exist or not. `folders` is where a project may be.
pub(crate) fn files(folders: &[PathBuf]) -> Vec<HostFile> {
    let of = |host: &'static Host| {
        host.files(folders).into_iter().map(|(path, source)| HostFile {
            host: Some(host.name),
            path,
            is_project: source.is_project,
        })
    };
    HOSTS.iter().chain(&EDITORS).flat_map(of).collect()
}

/// The text of a file, if there is one.
pub(crate) fn load(file: &HostFile) -> Result<Option<String>, Failure> {
    file::load(&file.path, Source { name: file.host.unwrap_or("file"), is_project: file.is_project })
}

/// The members that hold servers, each once.
pub(crate) fn members() -> impl Iterator<Item = &'static str> {
    let is_new = |at: &usize| HOSTS[..*at].iter().all(|host| host.member != HOSTS[*at].member);
    (0..HOSTS.len()).filter(is_new).map(|at| HOSTS[at].member)
}

/// The servers of every file that exists. `folders` is where a project may be.
pub(super) fn read(folders: &[PathBuf]) -> Vec<Result<Vec<Entry>, Failure>> {
    let of = |host: &'static Host| {
        host.files(folders).into_iter().map(|(path, source)| host.read(&path, source, folders))
    };
    HOSTS.iter().flat_map(of).collect()
}

impl Host {
    /// The user's own files, then the nearest of a project.
    fn files(&self, folders: &[PathBuf]) -> Vec<(PathBuf, Source)> {
        let apps = app_folders();
        let own = apps.iter().flat_map(|folder| self.app.iter().map(move |path| folder.join(path)));
        let home = home();
        let homes = home.iter().flat_map(|folder| self.home.iter().map(move |path| folder.join(path)));
        let own: Vec<PathBuf> = own.chain(homes).collect();
        let nearest =
            |path: &&str| folders.iter().map(|folder| folder.join(path)).find(|path| path.is_file());
        let project: Vec<PathBuf> =
            self.project.iter().filter_map(nearest).filter(|path| !own.contains(path)).collect();
        let source = |is_project| Source { name: self.name, is_project };
        let own = own.into_iter().map(|path| (path, source(false)));
        own.chain(project.into_iter().map(|path| (path, source(true)))).collect()
    }

    fn read(&self, path: &Path, source: Source, folders: &[PathBuf]) -> Result<Vec<Entry>, Failure> {
        let Some(text) = file::load(path, source)? else { return Ok(Vec::new()) };
        let broken = |line: usize, what: &dyn std::fmt::Display| {
            Failure::usage(format_args!("{}:{line}: {what}", shown(path)))
        };
        if has_more_values(&text, MOST_VALUES) {
            return Err(broken(1, &format_args!("it has more than {MOST_VALUES} values")));
        }
        let whole = match path.extension().is_some_and(|extension| extension == "toml") {
            true => from_toml(&text).map_err(|(line, what)| broken(line, &what))?,
            false => serde_json::from_str(&jsonc::plain(&text)).map_err(|error| {
                broken(error.line(), &format!("this is not JSON: {}", error_reason(&error)))
            })?,
        };
        let mut entries = self.servers(whole.get(self.member), path, source);
        // Claude Code keeps those of each project in the same file.
        for folder in folders {
            let project = whole.get("projects").and_then(|projects| projects.get(folder.to_str()?));
            entries.extend(self.servers(project.and_then(|project| project.get(self.member)), path, source));
        }
        Ok(entries)
    }

    fn servers(&self, servers: Option<&Value>, path: &Path, source: Source) -> Vec<Entry> {
        let servers = servers.and_then(Value::as_object).into_iter().flatten();
        servers.filter_map(|(name, server)| self.server(name, server, path, source)).collect()
    }

    /// `None` if it is something that is neither a command nor a URL, such as the settings of an extension.
    fn server(&self, name: &str, server: &Value, path: &Path, source: Source) -> Option<Entry> {
        // Zed has also had an object there.
        let inner = server.get("command").filter(|command| command.is_object()).unwrap_or(server);
        let text = |of: &Value, name: &str| of.get(name).and_then(Value::as_str).map(str::to_owned);
        let command = text(inner, "command").or_else(|| text(inner, "path"));
        let url = ["url", "serverUrl", "httpUrl"].iter().find_map(|name| text(server, name));
        let address = match (command, url) {
            (Some(command), _) => {
                let args = inner.get("args").and_then(Value::as_array).into_iter().flatten();
                let args = args.filter_map(Value::as_str).map(str::to_owned);
                Address::Command(std::iter::once(command).chain(args).collect())
            }
            (None, Some(url)) => Address::Text(url),
            (None, None) => return None,
        };
        let mut entry = Entry::new(name, source, path, address);
        entry.env = pairs(inner.get("env"));
        entry.headers = pairs(server.get("headers").or_else(|| server.get("http_headers")));
        entry.folder = text(server, "cwd").map(PathBuf::from);
        // MCP in its first form over HTTP, whatever the path is.
        let is_stream = ["type", "transport"].iter().any(|name| text(server, name).as_deref() == Some("sse"));
        entry.protocol = Some(Protocol::Mcp(is_stream.then_some(McpRevision::V2024_11_05)));
        entry.variables = self.variables;
        if let Some(token) = text(server, "bearer_token_env_var") {
            entry.headers.push(("Authorization".to_owned(), format!("Bearer ${{{token}}}")));
            entry.variables = Variables::Filled;
        }
        Some(entry)
    }
}

fn pairs(value: Option<&Value>) -> Vec<(String, String)> {
    let pairs = value.and_then(Value::as_object).into_iter().flatten();
    pairs
        .filter_map(|(name, value)| match value {
            Value::String(text) => Some((name.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => Some((name.clone(), value.to_string())),
            _ => None,
        })
        .collect()
}

/// The parts that matter here: tables, lists and strings. The error has its line.
fn from_toml(text: &str) -> Result<Value, (usize, String)> {
    let table = DeTable::parse(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        (before.matches('\n').count() + 1, error.message().to_owned())
    })?;
    Ok(object(table.get_ref()))
}

fn object(table: &DeTable<'_>) -> Value {
    let members = table.iter().map(|(name, value)| (name.get_ref().to_string(), json(value.get_ref())));
    Value::Object(members.collect::<Map<_, _>>())
}

fn json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => object(table),
        DeValue::Boolean(value) => Value::Bool(*value),
        _ => Value::Null,
    }
}
