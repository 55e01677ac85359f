//! `sabir new`: writes a small project to begin with. It compiles, has tests and a README.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::args::{NewArgs, Project};
use crate::exit::{Exit, Failure};
use crate::print::Printer;

/// What the templates call the project.
const PLACEHOLDER: &str = "project-name";
const PLACEHOLDER_CRATE: &str = "project_name";

/// The files of a project, by path.
fn files(project: Project) -> [(&'static str, &'static str); 6] {
    let ignored = (".gitignore", "/target\n");
    match project {
        Project::McpServer => [
            ("Cargo.toml", include_str!("templates/mcp_server.toml")),
            ("README.md", include_str!("templates/mcp_server.md")),
            ("src/lib.rs", include_str!("templates/mcp_server.rs")),
            ("src/main.rs", include_str!("templates/mcp_server_main.rs")),
            ("tests/server.rs", include_str!("templates/mcp_server_test.rs")),
            ignored,
        ],
        Project::LspServer => [
            ("Cargo.toml", include_str!("templates/lsp_server.toml")),
            ("README.md", include_str!("templates/lsp_server.md")),
            ("src/lib.rs", include_str!("templates/lsp_server.rs")),
            ("src/main.rs", include_str!("templates/lsp_server_main.rs")),
            ("tests/server.rs", include_str!("templates/lsp_server_test.rs")),
            ignored,
        ],
        Project::Service => [
            ("Cargo.toml", include_str!("templates/service.toml")),
            ("README.md", include_str!("templates/service.md")),
            ("src/lib.rs", include_str!("templates/service.rs")),
            ("src/main.rs", include_str!("templates/service_main.rs")),
            ("tests/server.rs", include_str!("templates/service_test.rs")),
            ignored,
        ],
    }
}

pub(crate) fn run(args: &NewArgs, printer: &Printer) -> Result<Exit, Failure> {
    let name = args.name.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let checkout = checkout(args.path.as_deref())?;
    if let Some(fault) = fault(name, args.project) {
        return Err(Failure::usage(format_args!(
            "`{}` is not a name for a crate: {fault}",
            name.escape_debug()
        ))
        .hint("take letters, digits and hyphens, such as my-server"));
    }
    write(&args.name, name, args.project, checkout.as_deref()).map_err(|error| {
        let failure = Failure::new(
            Exit::Error,
            format_args!("cannot write {}: {error}", args.name.display().to_string().escape_debug()),
        );
        match error.kind() {
            ErrorKind::AlreadyExists => failure.hint("choose another name, or remove the folder first"),
            _ => failure,
        }
    })?;
    printer.note(&format!("wrote {}; try: cd {0} && cargo test", args.name.display()));
    if checkout.is_none() {
        printer.note("sabir is not on crates.io yet: `--path CHECKOUT` takes its crates from a checkout");
    }
    Ok(Exit::Ok)
}

/// The checkout that a project takes the crates from: the one that is given, or the one that this program lies in.
fn checkout(given: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    match given {
        Some(folder) => match folder.canonicalize().ok().filter(|folder| has_crates(folder)) {
            Some(folder) => Ok(Some(folder)),
            None => Err(Failure::usage(format_args!(
                "{} is not a checkout of Sabir",
                folder.display().to_string().escape_debug()
            ))
            .hint("give the folder that has `crates/sabir` in it")),
        },
        None => {
            let program = std::env::current_exe().and_then(|program| program.canonicalize()).ok();
            Ok(program.and_then(|program| {
                program.ancestors().find(|folder| has_crates(folder)).map(Path::to_owned)
            }))
        }
    }
}

fn has_crates(folder: &Path) -> bool {
    CRATES.iter().all(|(_, krate)| folder.join("crates").join(krate).join("Cargo.toml").is_file())
}

/// The crates that projects depend on, and their folders in a checkout.
const CRATES: [(&str, &str); 3] = [("sabir", "sabir"), ("sabir-mcp", "mcp"), ("sabir-lsp", "lsp")];

/// The manifest of a project, with the crates of a checkout.
fn manifest(text: &str, checkout: &Path, is_inside: bool) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let found = CRATES.iter().find(|(name, _)| line.starts_with(&format!("{name} = ")));
        let Some((name, folder)) = found else {
            lines.push(line.to_owned());
            continue;
        };
        let path = checkout.join("crates").join(folder);
        // A text in TOML that is in double quotes has the escapes of JSON.
        let path = serde_json::Value::from(path.display().to_string());
        lines.push(match line.split_once("version = \"0.1\"") {
            Some((_, rest)) => format!("{name} = {{ version = \"0.1\", path = {path}{rest}"),
            None => format!("{name} = {{ version = \"0.1\", path = {path} }}"),
        });
    }
    if is_inside {
        // The folder that it lies in is another workspace.
        lines.extend([String::new(), "[workspace]".to_owned()]);
    }
    lines.join("\n") + "\n"
}

/// What cargo would not take.
fn fault(name: &str, project: Project) -> Option<&'static str> {
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Some("it must begin with a letter");
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.chars().all(plain) || name.len() > 64 {
        return Some("it must have at most 64 letters, digits, hyphens and underscores");
    }
    let (_, manifest) = files(project)[0];
    let krate = name.replace('-', "_");
    let depends = manifest
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .any(|(dependency, _)| dependency.replace('-', "_") == krate && !is_key(dependency));
    let taken = matches!(name, "test" | "core" | "std" | "alloc" | "sabir-cli" | "sabir-proto");
    (depends || taken).then_some("another crate has it")
}

/// Whether it is a member of `[package]`.
fn is_key(name: &str) -> bool {
    matches!(name, "name" | "version" | "edition")
}

/// Writes into a folder that is new, and so overwrites nothing.
fn write(folder: &Path, name: &str, project: Project, checkout: Option<&Path>) -> io::Result<()> {
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    fs::create_dir(folder)?;
    for (path, text) in files(project) {
        let text = match checkout.filter(|_| path == "Cargo.toml") {
            Some(checkout) => &manifest(text, checkout, folder.canonicalize()?.starts_with(checkout)),
            None => text,
        };
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text.replace(PLACEHOLDER, name).replace(PLACEHOLDER_CRATE, &name.replace('-', "_")))?;
    }
    Ok(())
}
