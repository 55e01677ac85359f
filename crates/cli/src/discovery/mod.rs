//! Finds out what a peer offers, in whichever way it supports.

mod ask;
mod faults;
mod pages;
mod tools;
pub(crate) mod words;

use std::path::Path;

use sabir::RawJson;
use sabir::openrpc::{Document, Method};
use tokio::time::Instant;

use crate::args::PeerArgs;
use crate::detect::Watch;
use crate::exit::{Exit, Failure};
use crate::peer::PeerOptions;
use crate::platform::word;
use crate::print::Printer;
use crate::stop;
use crate::target::Target;
use crate::web::Web;

/// What a peer offers, and how that was found out.
#[derive(Debug)]
pub(crate) struct Found {
    /// As it was typed.
    pub(crate) source: String,
    pub(crate) via: DiscoverySource,
    pub(crate) document: Document,
    /// The document as received, if there is one.
    pub(crate) text: Option<RawJson<'static>>,
}

/// How it was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiscoverySource {
    Discover,
    ListMethods,
    McpTools,
    File,
}

impl DiscoverySource {
    pub(crate) fn name(self) -> &'static str {
        match self {
            DiscoverySource::Discover => "rpc.discover",
            DiscoverySource::ListMethods => "system.listMethods",
            DiscoverySource::McpTools => "tools/list",
            DiscoverySource::File => "file",
        }
    }
}

/// The words of the command line: a source, unless a command is given after `--`, and what follows it.
pub(crate) fn split(args: &PeerArgs, command: &str) -> Result<(Option<String>, Vec<String>), Failure> {
    let mut words = args.words.iter().cloned();
    if !args.command.is_empty() {
        return Ok((None, words.collect()));
    }
    match words.next() {
        Some(source) => Ok((Some(source), words.collect())),
        None => Err(Failure::usage("no target is given")
            .hint(format_args!("try `sabir {command} demo:`; `sabir {command} --help` lists the targets"))),
    }
}

/// Finds out what a source offers: a target, or an OpenRPC file.
pub(crate) async fn find(source: Option<&str>, args: &PeerArgs, printer: &Printer) -> Result<Found, Failure> {
    // Also for the work on a file.
    stop::at(Instant::now() + args.timeout);
    let target = match source {
        Some(path) if is_file(path) => return read(path),
        Some(source) => Target::parse(source)?,
        None => Target::program(args.command.clone())?,
    };
    let web = Web::new(&args.web)?;
    web.check(&target)?;
    let PeerArgs { timeout, max_size, trace, .. } = *args;
    let framing = args.framing.into();
    let peer = PeerOptions { target, framing, web, timeout, max_size, trace: Some(trace) };
    discover(&peer, printer).await
}

/// Asks a peer, until the time is up, the user interrupts it, or the peer speaks another protocol.
pub(crate) async fn discover(peer: &PeerOptions, printer: &Printer) -> Result<Found, Failure> {
    let deadline = Instant::now() + peer.timeout;
    stop::at(deadline);
    let watch = Watch::default();
    tokio::select! {
        biased;
        interrupted = stop::interrupted() => Err(interrupted),
        protocol = watch.mismatch() => Err(peer.speaks(protocol)),
        found = tokio::time::timeout_at(deadline, ask::ask(peer, &watch, printer)) => {
            found.unwrap_or_else(|_| Err(peer.undiscovered(&watch)))
        }
    }
}

/// Targets have a scheme; a file has a name that ends in `.json`, or exists.
fn is_file(source: &str) -> bool {
    let path = Path::new(source);
    path.extension().is_some_and(|extension| extension == "json") && !Target::is_one(source) || path.is_file()
}

fn read(path: &str) -> Result<Found, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::usage(format_args!("cannot read `{path}`: {error}")))?;
    let document = Document::from_json(&text)
        .map_err(|error| Failure::new(Exit::Error, format_args!("cannot use `{path}`: {error}")))?;
    Ok(Found { source: path.to_owned(), via: DiscoverySource::File, document, text: RawJson::new(text).ok() })
}

impl Found {
    /// The method of this name.
    pub(crate) fn method(&self, name: &str) -> Result<&Method, Failure> {
        self.document.methods.iter().find(|method| method.name == name).ok_or_else(|| {
            let failure = Failure::new(Exit::Error, format_args!("{} has no method `{name}`", self.source));
            match self.nearest(name) {
                Some(near) => failure.hint(format_args!("there is `{near}`")),
                None => failure.hint(format_args!("`sabir list {}` lists them", word(&self.source))),
            }
        })
    }

    /// A method whose name is part of what was typed, or the other way round.
    fn nearest(&self, name: &str) -> Option<&str> {
        let name = name.to_lowercase();
        self.document.methods.iter().map(|method| method.name.as_str()).find(|known| {
            let known = known.to_lowercase();
            !name.is_empty() && !known.is_empty() && (known.contains(&name) || name.contains(&known))
        })
    }
}
