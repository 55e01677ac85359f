//! `sabir view`: captured traffic as a page in a browser, or as rows of text.

mod capture;
mod follow;
mod print;
mod serve;
mod take_over;
pub(crate) mod taps;

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use capture::{Given, Origin};
use sabir::transport::Scheme;
use sabir_model::capture::{Reader, Redactor};
pub(crate) use serve::{Page, Sender, Sent};

use crate::args::{TapArgs, ViewArgs, WebArgs};
use crate::exit::{Exit, Failure};
use crate::filter;
use crate::peer::Chosen;
use crate::print::Printer;
use crate::target::{Program, Target};
use crate::targets;

pub(crate) async fn run(args: ViewArgs, printer: &Printer) -> Result<Exit, Failure> {
    if args.take_over {
        return take_over::run().await;
    }
    let target = in_front(&args, printer)?;
    let WebArgs { headers, cacert, insecure } = &args.web;
    if target.is_none() && (!headers.is_empty() || cacert.is_some() || *insecure) {
        return Err(Failure::usage("headers and certificates are for a target")
            .hint("as in `sabir view -H 'Authorization: Bearer ${TOKEN}' https://example.org/mcp`"));
    }
    if args.print {
        return print::run(&args, printer);
    }
    if let Some(tap) = target {
        return crate::tap::run(tap, printer).await;
    }
    if args.live {
        let page = page(live(), args.port)?;
        return until_interrupted(page, printer).await;
    }
    if args.words.is_empty() {
        return list(printer);
    }
    let mut origins = Vec::new();
    for word in &args.words {
        let path = Path::new(word);
        readable(path)?;
        origins.push(Origin::file(path));
    }
    let given = Given { origins, more: None, is_tap: false };
    if let Some(to) = &args.export {
        let filter = filter::parse(args.filter.as_deref())?;
        return serve::save(given, to, filter, Redactor::new(args.redact)).await;
    }
    if args.mcp {
        return serve::mcp(given).await;
    }
    until_interrupted(page(given, args.port)?, printer).await
}

/// The tap that a target means.
fn in_front(args: &ViewArgs, printer: &Printer) -> Result<Option<TapArgs>, Failure> {
    let tap = || TapArgs {
        view: true,
        needs_page: true,
        allow_send: args.allow_send,
        web: args.web.clone(),
        ..TapArgs::default()
    };
    if !args.command.is_empty() {
        return Ok(Some(TapArgs { command: args.command.clone(), ..tap() }));
    }
    let [word] = &args.words[..] else { return Ok(None) };
    let word = word.to_string_lossy();
    if let Some(command) = word.strip_prefix("stdio:") {
        let words = crate::platform::split(command)
            .filter(|words| !words.is_empty())
            .ok_or_else(|| Failure::usage(format_args!("`{command}` is not a command")))?;
        return Ok(Some(TapArgs { command: words.into_iter().map(Into::into).collect(), ..tap() }));
    }
    let is_url = word.split_once(':').is_some_and(|(scheme, _)| Scheme::parse(scheme).is_some());
    let is_file = || word == "-" || Path::new(&*word).exists();
    if !is_url && (is_file() || targets::is_unknown(&word)) {
        return Ok(None);
    }
    let listen = match Chosen::of(&word, printer)?.target {
        Target::Url(url) if url.scheme().is_web() => {
            format!("http://127.0.0.1:0/{}", url.path().trim_start_matches('/'))
        }
        Target::Url(_) => "tcp://127.0.0.1:0".to_owned(),
        // A tap starts its command as it was given, and records how.
        Target::Program(Program { words, env, folder: None, shown: None }) if env.is_empty() => {
            return Ok(Some(TapArgs { command: words, ..tap() }));
        }
        _ => {
            let what = format!("`{word}` is not a URL, and not a command alone");
            return Err(Failure::usage(what).hint("write the command as `sabir view -- COMMAND`"));
        }
    };
    Ok(Some(TapArgs { listen: Some(listen), target: Some(word.into_owned()), ..tap() }))
}

/// Says early, and with the file's name, what is wrong with it.
fn readable(path: &Path) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::file(format_args!("cannot read {}: {error}", path.display()))
    };
    if path == Path::new("-") {
        return Err(Failure::usage("standard input cannot be searched by position")
            .hint("use `sabir view --print -`, or write it to a file first"));
    }
    let about = std::fs::metadata(path).map_err(|error| failed(&error))?;
    if !about.is_file() {
        return Err(failed(&"it is not a file").hint("use `sabir view --print` for pipes"));
    }
    // A tap may not have written anything yet.
    if about.len() > 0 {
        Reader::open(path).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn page(given: Given, port: u16) -> Result<Page, Failure> {
    Page::serve(given, serve::Served { port, ..Default::default() })
        .map_err(|error| Failure::new(Exit::Connect, format_args!("cannot serve the page: {error}")))
}

/// A page over what a tap records, which `is_temporary` if nobody asked for it. `send` sends for it.
pub(crate) fn beside_tap(
    record: &Path,
    name: String,
    is_temporary: bool,
    send: Option<Sender>,
) -> std::io::Result<Page> {
    let origin = Origin { path: record.to_owned(), name, is_live: true };
    let record = (!is_temporary).then(|| record.display().to_string());
    let served = serve::Served { send, record, ..Default::default() };
    Page::serve(Given { origins: vec![origin], more: None, is_tap: true }, served)
}

/// The records of all taps that run, and of those that will.
fn live() -> Given {
    let mut known: HashSet<PathBuf> = HashSet::new();
    let mut new = move || -> Vec<Origin> {
        let origin = |tap: taps::Tap| Origin { path: tap.record, name: tap.target, is_live: true };
        taps::running().into_iter().filter(|tap| known.insert(tap.record.clone())).map(origin).collect()
    };
    Given { origins: new(), more: Some(Box::new(new)), is_tap: false }
}

/// Lists the taps that have a page.
fn list(printer: &Printer) -> Result<Exit, Failure> {
    let taps = taps::running();
    if taps.is_empty() {
        return Err(Failure::usage("no tap with a page is running")
            .hint("start one with `sabir tap --view -- COMMAND`, or name a file: `sabir view session.jrl`"));
    }
    let mut out = printer.stream();
    for tap in &taps {
        writeln!(out, "{:>7}  {}  {}", tap.pid, tap.url, sabir_proto::escape_controls(&tap.target))?;
    }
    out.flush()?;
    Ok(Exit::Ok)
}

async fn until_interrupted(page: Page, printer: &Printer) -> Result<Exit, Failure> {
    printer.data(&format!("{}\n", page.address))?;
    printer.note("open this address in a browser of this machine; Ctrl-C ends");
    let waited = tokio::signal::ctrl_c().await;
    page.finish();
    waited.map(|()| Exit::Ok).map_err(|error| Failure::new(Exit::Error, format_args!("cannot wait: {error}")))
}
