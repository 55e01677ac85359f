//! `sabir list`: lists the methods that a peer offers, one per line.

use sabir::openrpc::Method;
use serde_json::json;

use crate::args::ListArgs;
use crate::discovery;
use crate::exit::{Exit, Failure};
use crate::json::escape_controls;
use crate::paint::Paint;
use crate::print::Printer;
use crate::stop;

/// Longer names do not push the summaries of all others to the right.
const WIDEST: usize = 32;

pub(crate) async fn run(args: ListArgs, printer: &Printer) -> Result<Exit, Failure> {
    let (source, rest) = discovery::split(&args.peer, "list")?;
    if let Some(word) = rest.first() {
        return Err(Failure::usage(format_args!("unexpected argument `{word}`"))
            .hint("`sabir describe TARGET METHOD` describes one method"));
    }
    let found = discovery::find(source.as_deref(), &args.peer, printer).await?;
    stop::never();
    let methods = &found.document.methods;
    if args.json {
        for method in methods {
            printer.json(&line(method).to_string())?;
        }
        return Ok(Exit::Ok);
    }
    let widest =
        methods.iter().map(|method| method.name.chars().count()).filter(|width| *width <= WIDEST).max();
    for method in methods {
        let mut text = String::new();
        printer.painter().paint(&mut text, Paint::Key, &escape_controls(&method.name));
        let summary = [notes(method), method.summary.as_deref().unwrap_or_default()].join("");
        if !summary.is_empty() {
            let gap = widest.unwrap_or_default().saturating_sub(method.name.chars().count()) + 2;
            text.push_str(&" ".repeat(gap));
            text.push_str(&escape_controls(summary.lines().next().unwrap_or_default()));
        }
        printer.data(&text)?;
    }
    Ok(Exit::Ok)
}

fn notes(method: &Method) -> &'static str {
    match (method.deprecated, method.result.is_none()) {
        (true, _) => "(deprecated) ",
        (false, true) => "(notification) ",
        (false, false) => "",
    }
}

fn line(method: &Method) -> serde_json::Value {
    json!({
        "name": method.name,
        "summary": method.summary,
        "deprecated": method.deprecated,
        "notification": method.result.is_none(),
    })
}
