//! `sabir list`: lists what a peer offers, one method, tool, resource or prompt per line.

mod services;

use sabir::openrpc::Method;
use serde_json::json;

use crate::args::ListArgs;
use crate::discovery::{self, Discovered, DiscoverySource, Kind, Offer};
use crate::exit::{Exit, Failure};
use crate::layout::{Layout, Table};
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
    let chosen = discovery::choose(source.as_deref(), &args.peer, printer)?;
    if let Some(host) = chosen.as_ref().and_then(services::host) {
        return services::run(&host, &args, printer).await;
    }
    let found = discovery::find_chosen(source.as_deref(), chosen, &args.peer, printer).await?;
    stop::never();
    if args.json {
        for method in &found.document.methods {
            printer.json(&line(method, &found).to_string())?;
        }
        for offer in &found.offers {
            printer.json(&offer_line(offer).to_string())?;
        }
        return Ok(Exit::Ok);
    }
    let text = text(&found, "", printer.layout());
    if !text.is_empty() {
        printer.page(&text)?;
    }
    Ok(Exit::Ok)
}

/// A table of what has `part` in its name; with a title for each kind if there are more kinds than one.
pub(crate) fn text(found: &Discovered, part: &str, layout: Layout) -> String {
    let methods: Vec<&Method> =
        found.document.methods.iter().filter(|method| method.name.contains(part)).collect();
    let titled = !found.offers.is_empty();
    let table = || Table::bare().indent(if titled { 2 } else { 0 }).widest(WIDEST);
    let mut out = String::new();
    let mut add = |title: &str, table: &Table| {
        if titled {
            if !out.is_empty() {
                out.push('\n');
            }
            layout.painter.paint(&mut out, Paint::Hint, title);
            out.push('\n');
        }
        out.push_str(&table.text(layout));
    };
    if !methods.is_empty() {
        let mut table = table();
        for method in &methods {
            table.row(cells(&method.name, &summary(method)));
        }
        add("Tools", &table);
    }
    for kind in Kind::ALL {
        let mut table = table();
        let offers: Vec<&Offer> =
            found.offers.iter().filter(|offer| offer.kind == kind && offer.key().contains(part)).collect();
        for offer in &offers {
            let summary = offer.summary.clone().unwrap_or_else(|| match &offer.uri {
                Some(_) => offer.name.clone(),
                None => String::new(),
            });
            table.row(cells(offer.key(), &summary));
        }
        if !offers.is_empty() {
            add(kind.title(), &table);
        }
    }
    out
}

fn cells(name: &str, summary: &str) -> [(Option<Paint>, String); 2] {
    let summary = summary.lines().next().unwrap_or_default();
    [(Some(Paint::Key), name.to_owned()), (None, summary.to_owned())]
}

fn summary(method: &Method) -> String {
    let note = match (method.deprecated, method.result.is_none()) {
        (true, _) => "(deprecated) ",
        (false, true) => "(notification) ",
        (false, false) => "",
    };
    [note, method.summary.as_deref().unwrap_or_default()].concat()
}

fn line(method: &Method, found: &Discovered) -> serde_json::Value {
    let kind = if found.via == DiscoverySource::Mcp { "tool" } else { "method" };
    json!({
        "name": method.name,
        "summary": method.summary,
        "deprecated": method.deprecated,
        "notification": method.result.is_none(),
        "kind": kind,
    })
}

fn offer_line(offer: &Offer) -> serde_json::Value {
    json!({
        "name": offer.name,
        "summary": offer.summary,
        "deprecated": false,
        "notification": false,
        "kind": offer.kind.name(),
        "uri": offer.uri,
    })
}
