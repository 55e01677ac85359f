//! `sabir diff`: two recordings, or two servers, beside each other.

mod align;
mod html;
mod offered;

use std::ffi::{OsStr, OsString};
use std::path::Path;

pub(crate) use html::escaped;
use sabir_model::capture::Direction;

use crate::args::{DiffArgs, PeerArgs, SessionArgs};
use crate::discovery::{self, Discovered};
use crate::exit::{Exit, Failure};
use crate::mock;
use crate::peer::Chosen;
use crate::print::Printer;
use crate::recorded::Recording;
use crate::recorded::ignore::Ignore;
use crate::replay::report::{self, Row, Sides, Verdict};
use crate::replay::{self, Options};
use crate::stop;
use crate::target::Target;
use crate::targets;

const SIDES: Sides = Sides { old: "A", new: "B" };

pub(crate) async fn run(args: DiffArgs, printer: &Printer) -> Result<Exit, Failure> {
    let ignore = Ignore::new(&args.ignore);
    let rows = match (is_server(&args.a, printer)?, is_server(&args.b, printer)?) {
        (false, false) => {
            if args.calls.is_some() {
                return Err(Failure::usage("--calls is for two targets, not for recordings"));
            }
            let (a, b) = (Recording::open(&args.a, printer)?, Recording::open(&args.b, printer)?);
            replay::tell_unused(&ignore, &a.names().union(&b.names()).cloned().collect(), printer);
            align::compare(&a, &b, &ignore, args.strict_order, args.slower)
        }
        (true, true) => servers(&args, &ignore, printer).await?,
        (a_is_server, _) => {
            let (file, server) = if a_is_server { (&args.b, &args.a) } else { (&args.a, &args.b) };
            let (file, server) = (file.to_string_lossy(), server.to_string_lossy());
            return Err(Failure::usage("a recording cannot be compared with a server")
                .hint(format_args!("try `sabir replay {file} {server}`")));
        }
    };
    stop::never();
    let report = match (args.json, args.html) {
        (true, _) => report::json_lines(&rows, SIDES).map(|line| format!("{line}\n")).collect(),
        (_, true) => html::page(&rows, SIDES, &args.a.to_string_lossy(), &args.b.to_string_lossy()),
        _ => {
            let shown: Vec<Row> = rows.iter().filter(|row| row.verdict != Verdict::Same).cloned().collect();
            format!("{}{}\n", report::table(&shown, SIDES, printer.layout()), report::summary(&rows))
        }
    };
    if !report.is_empty() {
        printer.page(&report)?;
    }
    Ok(match rows.iter().all(|row| row.verdict == Verdict::Same) {
        true => Exit::Ok,
        false => Exit::Error,
    })
}

/// Whether it is a target or the description of one, and not a recording.
fn is_server(what: &OsStr, printer: &Printer) -> Result<bool, Failure> {
    let text = what.to_string_lossy();
    if Target::is_one(&text) {
        return Ok(true);
    }
    if what != "-" && !Path::new(what).exists() {
        return Ok(targets::find(&text, printer)?.is_some());
    }
    Ok(what != "-" && mock::is_open_rpc(what)?)
}

/// Compares what two servers offer, and what they answer.
async fn servers(args: &DiffArgs, ignore: &Ignore, printer: &Printer) -> Result<Vec<Row>, Failure> {
    let recording = args.calls.as_deref().map(|file| Recording::open(file, printer)).transpose()?;
    let mut rows = Vec::new();
    match (described(&args.a, args, printer).await, described(&args.b, args, printer).await) {
        (Ok(a), Ok(b)) => offered::compare(&a, &b, ignore, &mut rows),
        // A server that cannot describe itself can still be called.
        (Err(failure), _) | (_, Err(failure)) if recording.is_none() || failure.exit == Exit::Interrupted => {
            return Err(failure);
        }
        (a, b) => {
            for failure in [a.err(), b.err()].into_iter().flatten() {
                printer.note(&format!("not compared what is offered: {}", failure.what));
            }
        }
    }
    if let Some(recording) = recording {
        let a = played(&recording, &args.a, args, printer).await?;
        let b = played(&recording, &args.b, args, printer).await?;
        rows.extend(align::compare(&a, &b, ignore, args.strict_order, args.slower));
    }
    Ok(rows)
}

async fn described(source: &OsString, args: &DiffArgs, printer: &Printer) -> Result<Discovered, Failure> {
    let peer = PeerArgs {
        words: Vec::new(),
        command: Vec::new(),
        session: SessionArgs { wire: args.wire.clone(), protocol: None, trace: false },
    };
    discovery::find(Some(source), &peer, printer).await
}

/// What a server says to the calls of a recording.
async fn played(
    recording: &Recording,
    target: &OsStr,
    args: &DiffArgs,
    printer: &Printer,
) -> Result<Recording, Failure> {
    let name = target.to_string_lossy();
    let chosen = replay::with_framing(Chosen::of(&name, printer)?, recording);
    let peer = chosen.peer(&args.wire, None, None)?;
    stop::never();
    let options = Options {
        speed: None,
        timeout: args.wire.timeout,
        ignore: Ignore::default(),
        linger: std::time::Duration::ZERO,
    };
    let _waiting = printer.waiting(format!("calling {name}"));
    let (bytes, ended) = replay::captured(recording, Direction::ToServer, &options, peer).await?;
    if let Some(why) = ended {
        printer.note(&format!("{name}: {why}"));
    }
    Recording::read(&*bytes, &name, printer)
}
