//! What the command line of `sabir call` means.

use sabir::{Dialect, JsonKind};
use sabir_model::rules::Profile;

use super::batch::{self, Entry};
use super::output::Output;
use super::steps::Steps;
use crate::args::{CallArgs, FollowArgs};
use crate::exit::Failure;
use crate::peer::{Chosen, PeerOptions};
use crate::platform::word;
use crate::print::{Printer, Waiting};
use crate::session::{Answers, Protocol};
use crate::suggest;
use crate::target::Target;
use crate::targets;
use crate::values::{Arguments, bytes_of};
use crate::verbose;

#[derive(Debug)]
pub(super) struct Plan {
    pub(super) peer: PeerOptions,
    pub(super) what: What,
    pub(super) protocol: Option<Protocol>,
    /// Whether the protocol was given, and not guessed.
    pub(super) explicit: bool,
    /// For what is sent as it is: whether the target is of MCP, and of which revision.
    pub(super) profile: Profile,
    pub(super) dialect: Option<Dialect>,
    pub(super) answers: Answers,
    pub(super) stay: FollowArgs,
    pub(super) output: Output,
    pub(super) json: bool,
}

#[derive(Debug)]
pub(super) enum What {
    Call {
        method: String,
        args: Arguments,
        /// Whether to ask for progress.
        progress: bool,
        /// Whether a task is handed out, and not waited for.
        detached: bool,
    },
    Notify {
        method: String,
        args: Arguments,
    },
    Batch(Vec<Entry>),
    Raw(Vec<u8>),
    Steps(Steps),
}

impl Plan {
    pub(super) fn new(args: CallArgs, printer: &Printer) -> Result<Plan, Failure> {
        let mut words = args.words.into_iter();
        let chosen = if !args.command.is_empty() {
            Target::program(args.command)?.into()
        } else if let Some(target) = words.next() {
            Chosen::of(&target, printer).map_err(|failure| {
                match suggest::started("call", &target, words.as_slice()) {
                    Some(hint) if targets::is_unknown(&target) => failure.hint(hint),
                    _ => failure,
                }
            })?
        } else {
            return Err(Failure::usage("no target is given")
                .hint("try `sabir call demo: add 2 3`; `sabir call --help` lists the targets"));
        };
        let explicit = args.session.protocol.or(chosen.protocol);
        let has_framing = args.session.wire.framing.is_some() || chosen.framing.is_some();
        let mut peer = chosen.peer(&args.session.wire, None, Some(args.session.trace))?;
        if args.verbose {
            verbose::show(&mut peer, printer);
        }
        let alone = |words: &mut std::vec::IntoIter<String>, option: &str| match words.next() {
            None => Ok(()),
            Some(word) => Err(Failure::usage(format_args!("`{word}` cannot be combined with {option}"))
                .hint("the messages name the methods to call")),
        };
        let what = if let Some(path) = args.batch {
            alone(&mut words, "--batch")?;
            What::Batch(batch::read(&path)?)
        } else if let Some(raw) = args.raw {
            alone(&mut words, "--raw")?;
            What::Raw(bytes_of(&raw)?)
        } else if let Some(path) = args.file {
            alone(&mut words, "-f")?;
            What::Steps(Steps::read(&path)?)
        } else {
            let method = words.next().ok_or_else(|| {
                Failure::usage("no method is given")
                    .hint(format_args!("try `sabir call {} METHOD`", word(&peer.target.to_string())))
            })?;
            let words: Vec<_> = words.collect();
            let given = Arguments::given(args.data.as_deref(), &words)?;
            match args.notify {
                true => What::Notify { method, args: given },
                false => What::Call { method, args: given, progress: args.progress, detached: args.detach },
            }
        };
        if let (What::Call { detached: true, .. }, Target::Demo | Target::Program(_)) = (&what, &peer.target)
        {
            let what =
                "--detach needs a server that runs on: a task ends with the program that is started here";
            return Err(Failure::usage(what).hint("start the server by itself, and give its URL"));
        }
        let guess = match &what {
            What::Call { method, .. } | What::Notify { method, .. } => Protocol::guess(&peer.target, method),
            What::Batch(_) | What::Raw(_) | What::Steps(_) => Protocol::guess(&peer.target, ""),
        };
        let protocol = match &what {
            _ if explicit.is_some() => explicit,
            What::Call { method, args, .. } if !opens_by_itself(method, args) => guess,
            _ => Some(Protocol::Plain),
        };
        if let What::Call { args, progress: true, .. } = &what
            && !matches!(protocol, Some(Protocol::Mcp(_) | Protocol::Lsp))
        {
            needs_names(args)?;
        }
        if !has_framing {
            peer.framing = Protocol::framing(explicit, guess);
        }
        let spoken = explicit.or(guess.filter(|guess| guess.has_event_stream(&peer.target)));
        let profile = match spoken {
            Some(spoken @ Protocol::Mcp(_)) => spoken.profile(&peer.target),
            _ => Profile::default(),
        };
        let json = args.json;
        let explicit = explicit.is_some() || protocol == Some(Protocol::Plain) || peer.target == Target::Demo;
        let asks = printer.can_ask() && !json;
        let asked = asks.then_some(printer);
        let answers = match what {
            What::Call { detached: true, .. } => Answers::answered_later(&args.answer.answers, asked)?,
            _ => Answers::new(&args.answer.answers, asked)?,
        };
        Ok(Plan {
            peer,
            explicit,
            profile,
            protocol,
            dialect: args.dialect.map(Dialect::from),
            answers,
            stay: args.stay,
            output: Output::new(args.output)?,
            what,
            json,
        })
    }
}

impl Plan {
    /// Shows a person that the peer is awaited, until it is dropped.
    pub(super) fn waiting(&self, printer: &Printer) -> Option<Waiting> {
        let shown = !self.json && !self.peer.traces();
        shown.then(|| printer.waiting(format!("waiting for {}", self.peer.target)))
    }
}

/// Whether the user does the handshake by themselves: in the method, or in the `_meta` of its params.
fn opens_by_itself(method: &str, args: &Arguments) -> bool {
    let says_version = || {
        let params = args.params().ok()??;
        params.get("_meta")?.get("io.modelcontextprotocol/protocolVersion").map(|_| ())
    };
    Protocol::is_opening(method) || says_version().is_some()
}

/// A progress token is added to an object.
fn needs_names(args: &Arguments) -> Result<(), Failure> {
    match args.params()? {
        Some(params) if params.kind() != JsonKind::Object => {
            Err(Failure::usage("--progress needs named params, to add a token to them")
                .hint("name the arguments, as in a:=1"))
        }
        _ => Ok(()),
    }
}
