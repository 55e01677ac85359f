//! `sabir describe`: describes what a peer offers, as a page or as data.

mod markdown;
mod page;

use serde_json::{Value, json};

use crate::args::DescribeArgs;
use crate::discovery::{self, Discovered, Kind, Named, Offer};
use crate::exit::{Exit, Failure};
use crate::json::escape_controls;
use crate::layout::Layout;
use crate::print::Printer;
use crate::stop;
use crate::yaml;

pub(crate) async fn run(args: DescribeArgs, printer: &Printer) -> Result<Exit, Failure> {
    let (source, rest) = discovery::split(&args.peer, "describe")?;
    if let Some(word) = rest.get(1) {
        return Err(Failure::usage(format_args!("unexpected argument `{word}`"))
            .hint("describe one method, tool, prompt or resource, or all"));
    }
    let found = discovery::find(source.as_deref(), &args.peer, printer).await?;
    let named = rest.first().map(|name| found.named(name)).transpose()?;
    let layout = printer.layout();
    let text = match named {
        _ if args.yaml => yaml(&found)?,
        _ if args.openrpc => match &found.text {
            Some(text) => {
                stop::never();
                printer.value(text)?;
                return Ok(Exit::Ok);
            }
            None => json(&found.document)?,
        },
        Some(Named::Method(method)) if args.json => json(method)?,
        Some(Named::Offer(offer)) if args.json => json(&as_json(offer))?,
        None if args.json => json(&json!({
            "source": found.source,
            "via": found.via.name(),
            "info": found.document.info,
            "methods": found.document.methods,
            "schemas": found.document.components.schemas,
            "resources": of_kind(&found, Kind::Resource),
            "templates": of_kind(&found, Kind::Template),
            "prompts": of_kind(&found, Kind::Prompt),
        }))?,
        Some(Named::Method(method)) if args.markdown => markdown::method(method, &found.document),
        Some(Named::Offer(offer)) if args.markdown => markdown::offer(offer),
        None if args.markdown => markdown::all(&found),
        Some(Named::Method(method)) => page::method(method, &found, layout),
        Some(Named::Offer(offer)) => page::offer(offer, &found, layout),
        None => page::all(&found, layout),
    };
    stop::never();
    printer.page(&text)?;
    Ok(Exit::Ok)
}

/// The page of one method, tool, prompt or resource.
pub(crate) fn text(found: &Discovered, name: &str, layout: Layout) -> Result<String, Failure> {
    Ok(match found.named(name)? {
        Named::Method(method) => page::method(method, found, layout),
        Named::Offer(offer) => page::offer(offer, found, layout),
    })
}

/// The document as it was received, or as it was made of what the peer says, in YAML.
fn yaml(found: &Discovered) -> Result<String, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(Exit::Error, error);
    let value = match &found.text {
        Some(text) => text.parse().map_err(|error| failed(&error))?,
        None => serde_json::to_value(&found.document).map_err(|error| failed(&error))?,
    };
    Ok(yaml::write(&value))
}

fn of_kind(found: &Discovered, kind: Kind) -> Vec<Value> {
    found.offers.iter().filter(|offer| offer.kind == kind).map(as_json).collect()
}

fn as_json(offer: &Offer) -> Value {
    let arguments = offer.arguments.iter().map(|argument| {
        json!({"name": argument.name, "description": argument.description, "required": argument.required})
    });
    json!({
        "kind": offer.kind.name(),
        "name": offer.name,
        "uri": offer.uri,
        "summary": offer.summary,
        "mimeType": offer.mime_type,
        "size": offer.size,
        "arguments": arguments.collect::<Vec<_>>(),
    })
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value);
    text.map(|text| escape_controls(&text).into_owned()).map_err(|error| Failure::new(Exit::Error, error))
}
