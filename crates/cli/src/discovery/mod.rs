//! Finds out what a peer offers, in whichever way it supports.

mod ask;
mod faults;
mod mcp;
mod offer;
mod session;
mod tables;
pub(crate) mod words;

use std::ffi::{OsStr, OsString};
use std::path::Path;

pub(crate) use offer::{Kind, Offer};
use sabir::RawJson;
use sabir::openrpc::{Document, Method};
pub(crate) use session::{Source, in_session};
pub(crate) use tables::{ethereum_method, ethereum_methods, hex_digits, lsp_methods};
use tokio::time::Instant;

use crate::args::PeerArgs;
use crate::detect::Watch;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::json::{MOST_VALUES, has_more_values};
use crate::peer::{Chosen, PeerOptions};
use crate::platform::word;
use crate::print::Printer;
use crate::stop;
use crate::suggest;
use crate::target::Target;
use crate::yaml;

/// What a peer offers, and how that was found out.
#[derive(Debug)]
pub(crate) struct Discovered {
    /// As it was typed.
    pub(crate) source: String,
    pub(crate) via: DiscoverySource,
    pub(crate) document: Document,
    /// What an MCP server has besides tools.
    pub(crate) offers: Vec<Offer>,
    /// The document as received, if there is one.
    pub(crate) text: Option<RawJson<'static>>,
}

/// How it was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiscoverySource {
    Discover,
    ListMethods,
    /// The lists of an MCP server.
    Mcp,
    /// The capabilities of a language server.
    Lsp,
    /// A node of a chain, and the table of its kind.
    Ethereum,
    Solana,
    File,
}

impl DiscoverySource {
    pub(crate) fn name(self) -> &'static str {
        match self {
            DiscoverySource::Discover => "rpc.discover",
            DiscoverySource::ListMethods => "system.listMethods",
            DiscoverySource::Mcp => "tools/list",
            DiscoverySource::Lsp => "capabilities",
            DiscoverySource::Ethereum => "web3_clientVersion",
            DiscoverySource::Solana => "getVersion",
            DiscoverySource::File => "file",
        }
    }
}

/// The words of the command line: a source, unless a command is given after `--`, and what follows it. The source may be
/// the name of a file, which need not be text.
pub(crate) fn split(args: &PeerArgs, command: &str) -> Result<(Option<OsString>, Vec<String>), Failure> {
    let mut words = args.words.iter();
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    if !args.command.is_empty() {
        return Ok((None, words.map(text).collect()));
    }
    match words.next() {
        Some(source) => Ok((Some(source.clone()), words.map(text).collect())),
        None => Err(Failure::usage("no target is given")
            .hint(format_args!("try `sabir {command} demo:`; `sabir {command} --help` lists the targets"))),
    }
}

/// Finds out what a source offers: a target, or an OpenRPC file.
pub(crate) async fn find(
    source: Option<&OsStr>,
    args: &PeerArgs,
    printer: &Printer,
) -> Result<Discovered, Failure> {
    let chosen = choose(source, args, printer)?;
    find_chosen(source, chosen, args, printer).await
}

/// What a source stands for. `None`: an OpenRPC file.
pub(crate) fn choose(
    source: Option<&OsStr>,
    args: &PeerArgs,
    printer: &Printer,
) -> Result<Option<Chosen>, Failure> {
    match source {
        Some(path) if is_file(path) => Ok(None),
        Some(source) => Chosen::of(&source.to_string_lossy(), printer).map(Some),
        None => Ok(Some(Target::program(args.command.clone())?.into())),
    }
}

/// The same as `find`, of what was chosen already.
pub(crate) async fn find_chosen(
    source: Option<&OsStr>,
    chosen: Option<Chosen>,
    args: &PeerArgs,
    printer: &Printer,
) -> Result<Discovered, Failure> {
    // Also for the work on a file.
    stop::at(Instant::now() + args.session.wire.timeout);
    let chosen = match (chosen, source) {
        (Some(chosen), _) => chosen,
        (None, Some(path)) => return read(Path::new(path)),
        (None, None) => Target::program(args.command.clone())?.into(),
    };
    let session = &args.session;
    let peer = chosen.peer(&session.wire, session.protocol, Some(session.trace))?;
    let mut found = discover(&peer, printer).await?;
    // A command that is shown has the name that was typed.
    if let Some(source) = source {
        found.source = source.to_string_lossy().into_owned();
    }
    Ok(found)
}

/// Asks a peer, until the time is up, the user interrupts it, or the peer speaks another protocol.
pub(crate) async fn discover(peer: &PeerOptions, printer: &Printer) -> Result<Discovered, Failure> {
    let deadline = Instant::now() + peer.timeout;
    stop::at(deadline);
    let watch = Watch::default();
    let _waiting = printer.waiting(format!("asking {} what it offers", peer.target));
    tokio::select! {
        biased;
        interrupted = stop::interrupted() => Err(interrupted),
        protocol = watch.mismatch() => Err(peer.speaks(protocol)),
        found = tokio::time::timeout_at(deadline, ask::ask(peer, &watch, printer)) => {
            found.unwrap_or_else(|_| Err(peer.undiscovered(&watch)))
        }
    }
}

/// Targets have a scheme; a file has a name that ends in `.json` or `.yaml`, or exists.
fn is_file(source: &OsStr) -> bool {
    let path = Path::new(source);
    let is_document = path.extension().is_some_and(|extension| extension == "json") || is_yaml(path);
    is_document && !Target::is_one(&source.to_string_lossy()) || path.is_file()
}

pub(crate) fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

fn read(path: &Path) -> Result<Discovered, Failure> {
    let name = path.display();
    let text = files::document(path)
        .map_err(|error| Failure::file(format_args!("cannot read `{name}`: {error}")))?;
    let unusable = |why: String| Failure::file(format_args!("cannot use `{name}`: {why}"));
    let text = match is_yaml(path) {
        true => yaml::read(&text).map_err(unusable)?.to_string(),
        false => text,
    };
    if has_more_values(&text, MOST_VALUES) {
        return Err(unusable(format!("it has more than {MOST_VALUES} values")));
    }
    let document = Document::from_json(&text).map_err(|error| unusable(error.to_string()))?;
    let (source, via) = (name.to_string(), DiscoverySource::File);
    Ok(Discovered { source, via, document, offers: Vec::new(), text: RawJson::new(text).ok() })
}

/// What a name of a peer stands for.
pub(crate) enum Named<'f> {
    /// A method, or a tool.
    Method(&'f Method),
    Offer(&'f Offer),
}

impl Discovered {
    /// The method, tool, prompt or resource of this name.
    pub(crate) fn named(&self, name: &str) -> Result<Named<'_>, Failure> {
        if let Some(method) = self.document.methods.iter().find(|method| method.name == name) {
            return Ok(Named::Method(method));
        }
        if let Some(offer) = self.offers.iter().find(|offer| offer.name == name || offer.key() == name) {
            return Ok(Named::Offer(offer));
        }
        let what = if self.via == DiscoverySource::Mcp { "tool, prompt or resource" } else { "method" };
        let failure = Failure::new(Exit::Error, format_args!("{} has no {what} `{name}`", self.source));
        Err(match self.nearest(name) {
            Some(near) => failure.hint(format_args!("did you mean `{near}`?")),
            None => failure.hint(format_args!("`sabir list {}` lists them", word(&self.source))),
        })
    }

    /// A name that is similar to what was typed, or part of it, or the other way round.
    fn nearest(&self, name: &str) -> Option<&str> {
        let methods = self.document.methods.iter().map(|method| method.name.as_str());
        let names = || methods.clone().chain(self.offers.iter().map(|offer| offer.name.as_str()));
        let lower = name.to_lowercase();
        let contains = |known: &&str| {
            let known = known.to_lowercase();
            !lower.is_empty() && !known.is_empty() && (known.contains(&lower) || lower.contains(&known))
        };
        suggest::nearest(name, names()).or_else(|| names().find(contains))
    }
}
