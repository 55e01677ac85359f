//! What the command line of `sabir call` means.

use sabir::{Dialect, JsonKind, RawJson};

use super::batch::{self, Entry};
use super::params;
use crate::args::CallArgs;
use crate::exit::Failure;
use crate::peer::{Chosen, ConnectionArgs, PeerOptions};
use crate::platform::word;
use crate::print::Printer;
use crate::target::Target;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) peer: PeerOptions,
    pub(super) what: What,
    pub(super) dialect: Dialect,
    pub(super) json: bool,
}

#[derive(Debug)]
pub(super) enum What {
    Call {
        method: String,
        params: Option<RawJson<'static>>,
        /// Whether to ask for progress.
        progress: bool,
    },
    Notify {
        method: String,
        params: Option<RawJson<'static>>,
    },
    Batch(Vec<Entry>),
}

impl Plan {
    pub(super) fn new(args: CallArgs, printer: &Printer) -> Result<Plan, Failure> {
        let mut words = args.words.into_iter();
        let chosen = if !args.command.is_empty() {
            Target::program(args.command)?.into()
        } else if let Some(target) = words.next() {
            Chosen::of(&target, printer)?
        } else {
            return Err(Failure::usage("no target is given")
                .hint("try `sabir call demo: add 2 3`; `sabir call --help` lists the targets"));
        };
        let CallArgs { timeout, framing, max_size, .. } = args;
        let (web, protocol, trace) = (&args.web, None, Some(args.trace));
        let peer = chosen.peer(&ConnectionArgs { web, framing, protocol, timeout, max_size, trace })?;
        let what = match args.batch {
            Some(path) => match words.next() {
                None => What::Batch(batch::read(&path)?),
                Some(word) => {
                    return Err(Failure::usage(format_args!("`{word}` cannot be combined with --batch"))
                        .hint("the batch names the methods to call"));
                }
            },
            None => {
                let method = words.next().ok_or_else(|| {
                    Failure::usage("no method is given")
                        .hint(format_args!("try `sabir call {} METHOD`", word(&peer.target.to_string())))
                })?;
                let words: Vec<_> = words.collect();
                let params = match args.data {
                    Some(_) if !words.is_empty() => {
                        return Err(Failure::usage("--data cannot be combined with arguments"));
                    }
                    Some(data) => params::from_data(&data)?,
                    None => params::from_args(&words)?,
                };
                match (args.notify, args.progress) {
                    (true, _) => What::Notify { method, params },
                    (false, false) => What::Call { method, params, progress: false },
                    (false, true) => What::Call { method, params: Some(object(params)?), progress: true },
                }
            }
        };
        Ok(Plan { peer, what, dialect: args.dialect.into(), json: args.json })
    }
}

/// Params that a progress token can be added to.
fn object(params: Option<RawJson<'static>>) -> Result<RawJson<'static>, Failure> {
    match params {
        Some(params) if params.kind() != JsonKind::Object => {
            Err(Failure::usage("--progress needs named params, to add a token to them")
                .hint("name the arguments, as in a:=1"))
        }
        Some(params) => Ok(params),
        None => RawJson::new("{}").map_err(Failure::usage),
    }
}
