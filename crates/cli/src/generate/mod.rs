//! `sabir generate`: a typed client as one file, in the language that is asked for.

mod circles;
mod escape;
mod format;
mod model;
mod names;
mod python;
mod rust;
mod schema;
mod typescript;

use model::Flavour;
use sabir::openrpc::{Document, DocumentError};

use crate::args::{GenerateArgs, Language};
use crate::discovery::{self, DiscoverySource};
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::stop;

pub(crate) async fn run(args: GenerateArgs, printer: &Printer) -> Result<Exit, Failure> {
    let (source, rest) = discovery::split(&args.peer, "generate --lang rust")?;
    if let Some(word) = rest.first() {
        return Err(Failure::usage(format_args!("unexpected argument `{word}`")));
    }
    if let Some(name) = &args.name
        && (!names::is_type_name(name) || model::is_reserved(name))
    {
        return Err(Failure::usage(format_args!("`{name}` cannot be the name of a client's type"))
            .hint("try --name Client"));
    }
    let found = discovery::find(source.as_deref(), &args.peer, printer).await?;
    if found.via == DiscoverySource::Lsp {
        let failure = Failure::usage(format_args!("{} is a language server", found.source));
        return Err(failure.hint("generated clients do not speak LSP; the crate sabir-lsp has a client"));
    }
    let flavour = if found.via == DiscoverySource::Mcp { Flavour::Mcp } else { Flavour::JsonRpc };
    let text = of_document(&found.document, args.lang, args.name.as_deref(), flavour);
    stop::never();
    match &args.output {
        Some(path) => std::fs::write(path, text)
            .map_err(|error| Failure::file(format_args!("cannot write `{}`: {error}", path.display())))?,
        None => printer.data(&text)?,
    }
    Ok(Exit::Ok)
}

fn joined(words: impl Iterator<Item = String>, with: &str) -> String {
    words.collect::<Vec<_>>().join(with)
}

/// The client for an OpenRPC document, if the text is one. Its type is called `name`, or as the document says.
///
/// # Errors
/// If the text is not an OpenRPC document.
pub fn client(document: &str, lang: Language, name: Option<&str>) -> Result<String, DocumentError> {
    Ok(of_document(&Document::from_json(document)?, lang, name, Flavour::JsonRpc))
}

fn of_document(document: &Document, lang: Language, name: Option<&str>, flavour: Flavour) -> String {
    let api = model::Api::new(document, name, flavour);
    match lang {
        Language::Rust => rust::client(&api),
        Language::Typescript => typescript::client(&api),
        Language::Python => python::client(&api),
    }
}

/// A template with its placeholders replaced in one pass: a value is not searched for placeholders.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    let first = |rest: &str| {
        let found = values.iter().filter_map(|(name, value)| Some((rest.find(name)?, *name, *value)));
        found.min_by_key(|(at, ..)| *at)
    };
    while let Some((at, name, value)) = first(rest) {
        out.push_str(&rest[..at]);
        out.push_str(value);
        rest = &rest[at + name.len()..];
    }
    out.push_str(rest);
    out
}
