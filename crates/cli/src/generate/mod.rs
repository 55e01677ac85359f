//! `sabir generate`: a typed client as one file, in the language that is asked for.

mod model;
mod names;
mod python;
mod rust;
mod schema;
mod typescript;

use crate::args::{GenerateArgs, Language};
use crate::discovery::{self, Via};
use crate::exit::{Exit, Failure};
use crate::print::Printer;

pub(crate) async fn run(args: GenerateArgs, printer: &Printer) -> Result<Exit, Failure> {
    let (source, rest) = discovery::split(&args.peer, "generate --lang rust")?;
    if let Some(word) = rest.first() {
        return Err(Failure::usage(format_args!("`{word}` has no place here")));
    }
    if let Some(name) = &args.name
        && !names::is_type_name(name)
    {
        return Err(Failure::usage(format_args!("`{name}` is no name for a type")).hint("try --name Client"));
    }
    let found = discovery::find(source.as_deref(), &args.peer, printer).await?;
    if found.via == Via::McpTools {
        return Err(Failure::new(Exit::Error, format_args!("{} has only tools of MCP", found.source))
            .hint("any MCP client can call them; clients are generated from OpenRPC"));
    }
    let api = model::Api::new(&found.document, args.name.as_deref());
    let text = match args.lang {
        Language::Rust => rust::client(&api),
        Language::Typescript => typescript::client(&api),
        Language::Python => python::client(&api),
    };
    match &args.output {
        Some(path) => std::fs::write(path, text).map_err(|error| {
            Failure::new(Exit::Error, format_args!("cannot write `{}`: {error}", path.display()))
        })?,
        None => printer.data(&text)?,
    }
    Ok(Exit::Ok)
}

fn joined(words: impl Iterator<Item = String>, with: &str) -> String {
    words.collect::<Vec<_>>().join(with)
}

/// Text in quotes, as Python and TypeScript read it as well as JSON.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
