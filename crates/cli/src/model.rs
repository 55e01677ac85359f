//! `sabir model`: prints a part of the formal model, or writes its building blocks.

use sabir_model::files;

use crate::args::{Draft, ModelArgs, ModelPart};
use crate::exit::{Exit, Failure};
use crate::print::Printer;

pub(crate) fn run(args: &ModelArgs, printer: &Printer) -> Result<Exit, Failure> {
    let name = args.name.as_deref();
    if args.draft.is_some() && args.part != ModelPart::Schema {
        return Err(Failure::usage("--draft is for `sabir model schema`"));
    }
    #[cfg(all(feature = "graph", feature = "schemas"))]
    if args.base_url.is_some() && args.part != ModelPart::Build {
        return Err(Failure::usage("--base-url is for `sabir model build`"));
    }
    let text = match args.part {
        ModelPart::Schema => schema(name, args.draft.unwrap_or(Draft::Newest))?.to_owned(),
        ModelPart::Context => match name {
            None | Some("message") => files::CONTEXT.to_owned(),
            Some("session") => files::SESSION_CONTEXT.to_owned(),
            Some("ogc-mcp") => block_file("ogc", "mcp-context.jsonld")
                .ok_or_else(|| unknown("context", "ogc-mcp", "message or session"))?,
            Some(other) => block_file(other, "context.jsonld").ok_or_else(|| {
                unknown("context", other, "message, session, json-rpc, mcp, lsp, a2a, ogc or ogc-mcp")
            })?,
        },
        ModelPart::Ontology => match name {
            None | Some("json-rpc") => files::ONTOLOGY.to_owned(),
            Some(other) => block_file(other, "ontology.ttl")
                .ok_or_else(|| unknown("ontology", other, "json-rpc, mcp, lsp or a2a"))?,
        },
        ModelPart::Shapes => match name {
            None | Some("json-rpc") => files::SHAPES.to_owned(),
            Some("mcp") => files::MCP_SHAPES.to_owned(),
            Some(other) => return Err(unknown("shapes", other, "json-rpc or mcp")),
        },
        ModelPart::Query => match name {
            None => list(),
            Some(name) => match files::QUERIES.iter().find(|query| query.name == name) {
                Some(query) => query.text.to_owned(),
                None => return Err(unknown("query", name, "one that `sabir model query` lists")),
            },
        },
        #[cfg(all(feature = "graph", feature = "schemas"))]
        ModelPart::Docs => blocks::docs(name)?,
        #[cfg(all(feature = "graph", feature = "schemas"))]
        ModelPart::Build => return blocks::build(name, args.base_url.as_deref(), printer),
        #[cfg(all(feature = "graph", feature = "schemas"))]
        ModelPart::Mcp => blocks::mcp(name)?,
    };
    printer.data(&text)?;
    Ok(Exit::Ok)
}

fn schema(name: Option<&str>, draft: Draft) -> Result<&'static str, Failure> {
    match (name, draft) {
        (None | Some("json-rpc"), Draft::Newest) => Ok(files::SCHEMA),
        (None | Some("json-rpc"), Draft::Draft07) => Ok(files::SCHEMA_DRAFT_07),
        (Some("mcp-envelope"), Draft::Newest) => Ok(files::MCP_SCHEMA),
        (Some("mcp-envelope"), Draft::Draft07) => Ok(files::MCP_SCHEMA_DRAFT_07),
        (Some("lsp-envelope"), Draft::Newest) => Ok(files::LSP_SCHEMA),
        (Some("a2a-envelope"), Draft::Newest) => Ok(files::A2A_SCHEMA),
        (Some(name @ ("lsp-envelope" | "a2a-envelope")), Draft::Draft07) => {
            Err(Failure::usage(format_args!("`{name}` is not there in draft 07")))
        }
        (Some(other), _) => Err(unknown(
            "schema",
            other,
            "json-rpc, mcp-envelope, lsp-envelope or a2a-envelope; `sabir model build FOLDER` writes those of MCP's revisions, \
             which refer to each other",
        )),
    }
}

fn unknown(part: &str, name: &str, known: &str) -> Failure {
    Failure::usage(format_args!("there is no {part} `{name}`")).hint(format_args!("use {known}"))
}

fn list() -> String {
    files::QUERIES.iter().map(|query| format!("{:<20} {}\n", query.name, query.about())).collect()
}

#[cfg(not(all(feature = "graph", feature = "schemas")))]
fn block_file(_: &str, _: &str) -> Option<String> {
    None
}

#[cfg(all(feature = "graph", feature = "schemas"))]
use blocks::block_file;

#[cfg(all(feature = "graph", feature = "schemas"))]
mod blocks {
    use std::path::Path;

    use sabir_model::blocks::{self, DocsFormat};

    use super::unknown;
    use crate::exit::{Exit, Failure};
    use crate::print::Printer;

    /// A file of a building block.
    pub(super) fn block_file(block: &str, name: &str) -> Option<String> {
        let path = format!("{block}/{name}");
        blocks::build(None).ok()?.into_iter().find(|file| file.path == path).map(|file| file.text)
    }

    pub(super) fn docs(format: Option<&str>) -> Result<String, Failure> {
        match format {
            None | Some("html") => Ok(blocks::docs(DocsFormat::Html)),
            Some("markdown") => Ok(blocks::docs(DocsFormat::Markdown)),
            Some(other) => Err(unknown("format", other, "html or markdown")),
        }
    }

    /// Writes all blocks. Files that are there already are replaced, others are left alone.
    pub(super) fn build(
        folder: Option<&str>,
        base_url: Option<&str>,
        printer: &Printer,
    ) -> Result<Exit, Failure> {
        let folder = Path::new(folder.filter(|folder| !folder.is_empty()).ok_or_else(|| {
            Failure::usage("`sabir model build` needs a folder to write to")
                .hint("sabir model build building-blocks")
        })?);
        let files = blocks::build(base_url).map_err(|error| Failure::new(Exit::Error, error))?;
        for file in &files {
            let path = folder.join(&file.path);
            write(folder, &file.path, &file.text).map_err(|error| {
                Failure::new(Exit::Connect, format_args!("cannot write `{}`: {error}", path.display()))
            })?;
        }
        printer.note(&format!("wrote {} files to {}", files.len(), folder.display()));
        Ok(Exit::Ok)
    }

    /// Writes a file beside its place and moves it there: nothing is torn, and a link is replaced, not followed.
    fn write(folder: &Path, file: &str, text: &str) -> std::io::Result<()> {
        std::fs::create_dir_all(folder)?;
        let path = folder.join(file);
        let mut inner = folder.to_owned();
        for part in Path::new(file).parent().into_iter().flat_map(Path::iter) {
            inner.push(part);
            match std::fs::symlink_metadata(&inner) {
                Ok(found) if !found.is_dir() => {
                    let why = format!("`{}` is not a folder", inner.display());
                    return Err(std::io::Error::new(std::io::ErrorKind::NotADirectory, why));
                }
                Ok(_) => {}
                Err(_) => std::fs::create_dir(&inner)?,
            }
        }
        let beside = path.with_extension(format!("{}.part", std::process::id()));
        let _ = std::fs::remove_file(&beside);
        let written = std::fs::File::options().write(true).create_new(true).open(&beside);
        let written = written.and_then(|mut out| std::io::Write::write_all(&mut out, text.as_bytes()));
        written.and_then(|()| std::fs::rename(&beside, &path)).inspect_err(|_| {
            let _ = std::fs::remove_file(&beside);
        })
    }

    /// The definitions of MCP from a folder that has `REVISION/schema.json`.
    pub(super) fn mcp(folder: Option<&str>) -> Result<String, Failure> {
        let folder = Path::new(folder.ok_or_else(|| {
            Failure::usage("`sabir model mcp` needs the folder of the protocol's schemas")
                .hint("it has a file REVISION/schema.json for each revision, such as 2025-11-25/schema.json")
        })?);
        let unreadable = |path: &Path, error: &dyn std::fmt::Display| {
            Failure::new(Exit::Connect, format_args!("cannot read `{}`: {error}", path.display()))
        };
        let is_revision =
            |name: &str| name.len() == 10 && name.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        let entries = std::fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
        let mut revisions: Vec<_> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| is_revision(name))
            .collect();
        revisions.sort();
        let mut schemas = Vec::new();
        for revision in revisions {
            let path = folder.join(&revision).join("schema.json");
            let text = crate::files::document(&path).map_err(|error| unreadable(&path, &error))?;
            schemas.push((revision, text));
        }
        if schemas.is_empty() {
            return Err(unreadable(folder, &"it has no folder REVISION/schema.json"));
        }
        let schemas: Vec<_> =
            schemas.iter().map(|(revision, text)| (revision.as_str(), text.as_str())).collect();
        blocks::mcp_definitions(&schemas).map_err(Failure::usage)
    }
}
