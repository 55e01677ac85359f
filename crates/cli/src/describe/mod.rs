//! `sabir describe`: describes what a peer offers, as a page or as data.

mod markdown;
mod page;

use serde_json::json;

use crate::args::DescribeArgs;
use crate::discovery;
use crate::exit::{Exit, Failure};
use crate::json::escape_controls;
use crate::print::Printer;
use crate::stop;

pub(crate) async fn run(args: DescribeArgs, printer: &Printer) -> Result<Exit, Failure> {
    let (source, rest) = discovery::split(&args.peer, "describe")?;
    if let Some(word) = rest.get(1) {
        return Err(
            Failure::usage(format_args!("unexpected argument `{word}`")).hint("describe one method, or all")
        );
    }
    let found = discovery::find(source.as_deref(), &args.peer, printer).await?;
    let method = rest.first().map(|name| found.method(name)).transpose()?;
    let text = match method {
        _ if args.openrpc => match &found.text {
            Some(text) => {
                stop::never();
                printer.value(text)?;
                return Ok(Exit::Ok);
            }
            None => json(&found.document)?,
        },
        Some(method) if args.json => json(method)?,
        None if args.json => json(&json!({
            "source": found.source,
            "via": found.via.name(),
            "info": found.document.info,
            "methods": found.document.methods,
            "schemas": found.document.components.schemas,
        }))?,
        Some(method) if args.markdown => markdown::method(method, &found.document),
        None if args.markdown => markdown::all(&found.document),
        Some(method) => page::method(method, &found, printer.painter()),
        None => page::all(&found, printer.painter()),
    };
    stop::never();
    printer.data(&text)?;
    Ok(Exit::Ok)
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value);
    text.map(|text| escape_controls(&text).into_owned()).map_err(|error| Failure::new(Exit::Error, error))
}
