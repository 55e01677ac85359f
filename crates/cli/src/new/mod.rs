//! `sabir new`: writes a small project to begin with. It compiles, has tests and a README.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

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
    if let Some(fault) = fault(name) {
        return Err(Failure::usage(format_args!(
            "`{}` is not a name for a crate: {fault}",
            name.escape_debug()
        ))
        .hint("take letters, digits and hyphens, such as my-server"));
    }
    write(&args.name, name, args.project).map_err(|error| {
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
    Ok(Exit::Ok)
}

/// What cargo would not take.
fn fault(name: &str) -> Option<&'static str> {
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return Some("it must begin with a letter");
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.chars().all(plain) || name.len() > 64 {
        return Some("it must have at most 64 letters, digits, hyphens and underscores");
    }
    matches!(name, "test" | "core" | "std" | "alloc" | "sabir" | "sabir-mcp" | "sabir-lsp")
        .then_some("another crate has it")
}

/// Writes into a folder that is new, and so overwrites nothing.
fn write(folder: &Path, name: &str, project: Project) -> io::Result<()> {
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)?;
    }
    fs::create_dir(folder)?;
    for (path, text) in files(project) {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text.replace(PLACEHOLDER, name).replace(PLACEHOLDER_CRATE, &name.replace('-', "_")))?;
    }
    Ok(())
}
