//! `sabir model`: prints a part of the formal model.

use sabir_model::files;

use crate::args::{Draft, ModelArgs, ModelPart};
use crate::exit::{Exit, Failure};
use crate::print::Printer;

pub(crate) fn run(args: &ModelArgs, printer: &Printer) -> Result<Exit, Failure> {
    let name = args.name.as_deref();
    if args.draft.is_some() && args.part != ModelPart::Schema {
        return Err(Failure::usage("--draft is for `sabir model schema`"));
    }
    let text = match args.part {
        ModelPart::Schema => schema(name, args.draft.unwrap_or(Draft::Newest))?,
        ModelPart::Context => match name {
            None | Some("message") => files::CONTEXT,
            Some("session") => files::SESSION_CONTEXT,
            Some(other) => return Err(unknown("context", other, "message or session")),
        },
        ModelPart::Ontology => whole("ontology", name, files::ONTOLOGY)?,
        ModelPart::Shapes => whole("shapes", name, files::SHAPES)?,
        ModelPart::Query => match name {
            None => &list(),
            Some(name) => match files::QUERIES.iter().find(|query| query.name == name) {
                Some(query) => query.text,
                None => return Err(unknown("query", name, "one that `sabir model query` lists")),
            },
        },
    };
    printer.data(text)?;
    Ok(Exit::Ok)
}

fn schema(name: Option<&str>, draft: Draft) -> Result<&'static str, Failure> {
    match (name, draft) {
        (None | Some("json-rpc"), Draft::Newest) => Ok(files::SCHEMA),
        (None | Some("json-rpc"), Draft::Draft07) => Ok(files::SCHEMA_DRAFT_07),
        (Some("mcp-envelope"), Draft::Newest) => Ok(files::MCP_SCHEMA),
        (Some("mcp-envelope"), Draft::Draft07) => Ok(files::MCP_SCHEMA_DRAFT_07),
        (Some(other), _) => Err(unknown("schema", other, "json-rpc or mcp-envelope")),
    }
}

fn whole(part: &str, name: Option<&str>, text: &'static str) -> Result<&'static str, Failure> {
    match name {
        None => Ok(text),
        Some(name) => Err(Failure::usage(format_args!("there is only one {part}: leave out `{name}`"))),
    }
}

fn unknown(part: &str, name: &str, known: &str) -> Failure {
    Failure::usage(format_args!("there is no {part} `{name}`")).hint(format_args!("use {known}"))
}

fn list() -> String {
    files::QUERIES.iter().map(|query| format!("{:<20} {}\n", query.name, query.about())).collect()
}
