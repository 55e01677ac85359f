//! What a peer offers, found out by whichever way it knows to tell.

mod ask;
mod tools;
pub(crate) mod words;

use std::path::Path;
use std::time::Duration;

use sabir::openrpc::{Document, Method};
use sabir::{Framing, RawJson};
use tokio::time::Instant;

use crate::args::PeerArgs;
use crate::exit::{Exit, Failure};
use crate::misframed::Misframed;
use crate::platform::word;
use crate::print::Printer;
use crate::target::Target;
use crate::web::Web;

/// What a peer offers, and how that is known.
#[derive(Debug)]
pub(crate) struct Found {
    /// As it was typed.
    pub(crate) source: String,
    pub(crate) via: DiscoverySource,
    pub(crate) document: Document,
    /// The document as it came, if one came.
    pub(crate) text: Option<RawJson<'static>>,
}

/// Who told.
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

/// Whom to ask, and for how long.
pub(crate) struct Inquiry {
    pub(crate) target: Target,
    pub(crate) framing: Framing,
    pub(crate) web: Web,
    pub(crate) timeout: Duration,
    pub(crate) max_size: usize,
    pub(crate) trace: bool,
    pub(crate) misframed: Misframed,
}

/// The words of the command line: a source, unless a command stands at the end, and what follows it.
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
    let target = match source {
        Some(path) if is_file(path) => return read(path),
        Some(source) => Target::parse(source)?,
        None => Target::program(args.command.clone())?,
    };
    let web = Web::new(&args.web)?;
    web.check(&target)?;
    let PeerArgs { timeout, max_size, trace, .. } = *args;
    let framing = args.framing.into();
    let inquiry = Inquiry { target, framing, web, timeout, max_size, trace, misframed: Misframed::default() };
    inquire(&inquiry, printer).await
}

/// Asks, until the time is up or the user gives up.
pub(crate) async fn inquire(inquiry: &Inquiry, printer: &Printer) -> Result<Found, Failure> {
    let deadline = Instant::now() + inquiry.timeout;
    tokio::select! {
        found = tokio::time::timeout_at(deadline, ask::ask(inquiry, printer)) => found.unwrap_or_else(|_| {
            let what = format!("{} did not say what it offers within {:?}", inquiry.target, inquiry.timeout);
            Err(Failure::new(Exit::Timeout, what).hint(slow_hint(&inquiry.target)))
        }),
        failure = inquiry.misframed.noticed(&inquiry.target) => Err(failure),
        Ok(()) = tokio::signal::ctrl_c() => Err(Failure::new(Exit::Interrupted, "interrupted")),
    }
}

/// What to try if nothing comes.
fn slow_hint(target: &Target) -> &'static str {
    match target.keeps_messages_apart() {
        true => "wait longer with --timeout, or see with --trace what came",
        false => "wait longer with --timeout, or try --framing headers",
    }
}

/// Targets have a scheme; a file has a name that ends in `.json`, or is there.
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
