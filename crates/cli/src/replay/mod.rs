//! `sabir replay`: plays one side of a recording to the other, and compares what that says now with what it said.

mod engine;
mod link;
mod outcome;
mod plan;
mod record;
pub(crate) mod report;
mod served;

use std::collections::BTreeSet;
use std::time::Duration;

use engine::Engine;
pub(crate) use engine::Options;
use link::{ClientLinks, Links};
pub(crate) use outcome::notifications;
use outcome::{End, Outcome};
use record::{Memory, Record};
use report::{Row, Sides, Verdict};
use sabir_model::capture::Direction;
use sabir_model::rules::Profile;
use served::Served;
pub(crate) use served::error_of;

use crate::args::{Pace, ReplayArgs};
use crate::check::wire::WireTarget;
use crate::detect::Watch;
use crate::exit::{Exit, Failure};
use crate::peer::{Chosen, PeerOptions};
use crate::platform::word;
use crate::print::Printer;
use crate::recorded::Recording;
use crate::recorded::compare::Compare;
use crate::recorded::handles::Handles;
use crate::recorded::ignore::Ignore;
use crate::serve::{self, ServeOptions};
use crate::stop;
use crate::target::Target;

const SIDES: Sides = Sides { old: "recorded", new: "came" };

/// How long a client that was served at a URL may take to ask for more than was recorded.
const LINGER: Duration = Duration::from_millis(500);

pub(crate) async fn run(args: ReplayArgs, printer: &Printer) -> Result<Exit, Failure> {
    let name = args.file.to_string_lossy().into_owned();
    let own = if args.server { Direction::ToClient } else { Direction::ToServer };
    let linger = match (args.server, &args.listen) {
        (false, _) => Duration::ZERO,
        (true, None) => args.wire.timeout,
        (true, Some(_)) => LINGER,
    };
    let options = Options {
        speed: args.speed.or((args.pace == Pace::Recorded).then_some(1.0)),
        timeout: args.wire.timeout,
        ignore: Ignore::new(&args.ignore),
        linger,
    };
    // Usage first: a recording may take long to read.
    let chosen = match (&args.target, &args.command[..]) {
        _ if args.server => None,
        (Some(target), _) => Some(Chosen::of(target, printer)?),
        (None, []) => {
            return Err(Failure::usage("no target is given")
                .hint("give a target, or a command after --; --server plays the server's side"));
        }
        (None, words) => Some(Target::program(words.to_vec())?.into()),
    };
    let recording = Recording::open(&args.file, printer)?;
    if !recording.messages.iter().any(|sent| sent.direction == own) {
        let who = if args.server { "server" } else { "client" };
        return Err(Failure::new(Exit::Connect, format_args!("{name} has no message of the {who}")));
    }
    tell_unused(&options.ignore, &recording.names(), printer);
    let (links, transport) = match chosen {
        Some(chosen) => {
            let peer = with_framing(chosen, &recording).peer(&args.wire, None, None)?;
            let transport = transport_name(&peer);
            (client(peer, &recording), transport)
        }
        None => {
            let protocol = serve::Served::of(recording.profile());
            let framing = match (&args.listen, args.wire.framing) {
                (_, Some(framing)) => Some(framing.into()),
                (Some(_), None) => None,
                (None, None) => recording.framing(),
            };
            let tls = args.tls.server_tls(args.listen.as_deref())?;
            let options = ServeOptions { listen: args.listen.clone(), framing, protocol, tls };
            (Links::Served(Served::start(options, printer).await?), "stdio".to_owned())
        }
    };
    let record = match &args.record {
        Some(path) => Record::new(path, recording.header.as_ref(), &transport)?,
        None => Record::default(),
    };
    let _waiting = (!args.server).then(|| printer.waiting(format!("replaying {name}")));
    let (outcome, handles) = play(&recording, own, &options, links, record).await?;
    drop(_waiting);
    let compare = Compare { ignore: &options.ignore, handles: &handles };
    let rows = outcome.rows(&recording, own, compare, args.strict_order);
    // What is served on standard output is not mixed with a report.
    let report = match (args.json, args.junit) {
        (true, _) => report::json_lines(&rows, SIDES).map(|line| format!("{line}\n")).collect(),
        (_, true) => report::junit(&rows, &format!("sabir replay {name}"), SIDES),
        _ => format!("{}{}\n", report::table(&rows, SIDES, printer.layout()), report::summary(&rows)),
    };
    match args.server && args.listen.is_none() {
        true => report.lines().for_each(|line| printer.note(line)),
        false => printer.page(&report)?,
    }
    ended(&outcome, &rows, args.wire.timeout, args.server)
}

/// Says which `--ignore` leaves nothing out: it is a mistake, most likely.
pub(crate) fn tell_unused(ignore: &Ignore, names: &BTreeSet<String>, printer: &Printer) {
    for rule in ignore.unused(names.iter().map(String::as_str)) {
        printer.note(&format!("--ignore {}: no method or tool in the recording has this name", word(rule)));
    }
}

/// A target that uses the recorded framing, unless it says otherwise.
pub(crate) fn with_framing(chosen: Chosen, recording: &Recording) -> Chosen {
    let framing = chosen.framing.or_else(|| match chosen.protocol {
        Some(_) => None,
        None => recording.framing().filter(|_| chosen.target != Target::Demo),
    });
    Chosen { framing, ..chosen }
}

/// Connections to a server that speaks what was recorded.
fn client(peer: PeerOptions, recording: &Recording) -> Links {
    let (profile, watch) = (profile(recording), Watch::default());
    Links::Client(ClientLinks::new(WireTarget { peer, profile, printer: None, watch }))
}

/// Plays one side to its end, or until it is interrupted.
async fn play(
    recording: &Recording,
    own: Direction,
    options: &Options,
    links: Links,
    record: Record,
) -> Result<(Outcome, Handles), Failure> {
    let engine = Engine::new(recording, own, options, record);
    match own {
        // A server is ended by its client, or by a signal.
        Direction::ToClient => engine.run(links).await,
        Direction::ToServer => tokio::select! {
            biased;
            interrupted = stop::interrupted() => Err(interrupted),
            played = engine.run(links) => played,
        },
    }
}

/// Plays one side to a server, for a capture of what is said then, and why it ended if that was too early.
pub(crate) async fn captured(
    recording: &Recording,
    own: Direction,
    options: &Options,
    peer: PeerOptions,
) -> Result<(Vec<u8>, Option<String>), Failure> {
    let memory = Memory::default();
    let links = client(peer, recording);
    let (outcome, _) = play(recording, own, options, links, Record::memory(&memory)).await?;
    let why = ended(&outcome, &[], options.timeout, false).err().map(|failure| failure.what);
    Ok((memory.take(), why))
}

/// The exit code, once the report is printed.
fn ended(outcome: &Outcome, rows: &[Row], timeout: Duration, server: bool) -> Result<Exit, Failure> {
    let who = if server { "client" } else { "server" };
    match &outcome.end {
        End::Done if rows.iter().any(|row| !row.verdict.is_fine()) => Ok(Exit::Error),
        // That nothing differs says nothing here.
        End::Done if !rows.is_empty() && rows.iter().all(|row| row.verdict == Verdict::NotRecorded) => {
            let what = "nothing was compared: the recording has no answers";
            Err(Failure::new(Exit::Error, what).hint("`sabir replay … --record FILE` records them"))
        }
        End::Done => Ok(Exit::Ok),
        End::TimedOut => {
            let what = format!("nothing that was expected came from the {who} for {timeout:?}");
            Err(Failure::new(Exit::Timeout, what).hint("--timeout waits longer"))
        }
        End::Closed(why) => {
            let why = why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            Err(Failure::new(Exit::Protocol, format_args!("the {who} closed the connection too early{why}")))
        }
    }
}

fn transport_name(peer: &PeerOptions) -> String {
    peer.target.scheme().map_or("stdio", |scheme| scheme.name()).to_owned()
}

/// What was spoken, as far as that matters for HTTP.
fn profile(recording: &Recording) -> Profile {
    let named = recording.header.as_ref().and_then(|header| header.profile.as_deref()?.parse().ok());
    named.unwrap_or(Profile::JsonRpc)
}
