//! `sabir check`: checks captured traffic, or a live peer, against the rules of the protocol.

mod human;
mod identify;
pub(crate) mod junit;
mod live;
mod output;
mod pace;
mod probes;
mod sarif;
mod saved;
pub(crate) mod wire;

use std::io::{self, Read};
use std::path::Path;

use output::Output;
use sabir_model::capture::{Format, Header, ReadError, Reader, What};
#[cfg(feature = "schemas")]
use sabir_model::rules::OpenRpc;
use sabir_model::rules::{Checker, Profile};
use saved::Transcript;
use tokio::time::Instant;
use wire::WireTarget;

use crate::args::CheckArgs;
use crate::detect::Watch;
#[cfg(feature = "schemas")]
use crate::discovery::is_yaml;
use crate::exit::{Exit, Failure};
use crate::explain::named;
#[cfg(feature = "schemas")]
use crate::json::{MOST_VALUES, has_more_values};
use crate::peer::Chosen;
use crate::print::Printer;
use crate::rotated::Rotated;
use crate::session::Protocol;
use crate::stop;
use crate::suggest;
use crate::target::Target;
use crate::targets;
use crate::values::Arguments;
#[cfg(feature = "schemas")]
use crate::yaml;

pub(crate) async fn run(args: CheckArgs, printer: &Printer) -> Result<Exit, Failure> {
    let rules = Rules {
        allow: chosen(&args.allow)?,
        deny: chosen(&args.deny)?,
        #[cfg(feature = "schemas")]
        openrpc: args.openrpc.as_deref().map(|path| document(path, printer)).transpose()?,
    };
    match (&args.what, &args.command[..]) {
        (None, []) => Err(Failure::usage("no file or target is given")
            .hint("give a file, - for standard input, or a target such as stdio:COMMAND")),
        (None, words) => live(Target::program(words.to_vec())?.into(), &args, rules, printer).await,
        (Some(file), _) if file == "-" => traffic(io::stdin().lock(), "-", &args, rules, printer),
        (Some(what), _) => {
            let name = what.to_string_lossy();
            if let Some(target) = what.to_str().filter(|what| Target::is_one(what)) {
                return live(Target::parse(target)?.into(), &args, rules, printer).await;
            }
            if !Path::new(what).exists()
                && let Some(chosen) = targets::find(&name, printer)?
            {
                return live(chosen, &args, rules, printer).await;
            }
            let files = Rotated::open(Path::new(what)).map_err(|error| unreadable(&name, &error.into()))?;
            traffic(files, &name, &args, rules, printer)
        }
    }
}

/// The options about rules.
struct Rules {
    allow: Vec<&'static sabir_model::rules::Rule>,
    deny: Vec<&'static sabir_model::rules::Rule>,
    #[cfg(feature = "schemas")]
    openrpc: Option<OpenRpc>,
}

impl Rules {
    fn checker(self, profile: Profile) -> Checker {
        let checker = self.allow.iter().fold(Checker::new(profile), |checker, rule| checker.allow(rule));
        let checker = self.deny.iter().fold(checker, |checker, rule| checker.deny(rule));
        #[cfg(feature = "schemas")]
        if let Some(document) = self.openrpc {
            return checker.openrpc(document);
        }
        checker
    }
}

#[cfg(feature = "schemas")]
fn document(path: &Path, printer: &Printer) -> Result<OpenRpc, Failure> {
    let name = path.display();
    let unusable = |why: &dyn std::fmt::Display| {
        Failure::file(format_args!("cannot use `{name}`: {why}"))
            .hint("`sabir describe TARGET --openrpc` writes such a document for a peer that describes itself")
    };
    let mut text = crate::files::document(path).map_err(|error| unusable(&error))?;
    if is_yaml(Path::new(path)) {
        text = yaml::read(&text).map_err(|error| unusable(&error))?.to_string();
    }
    if has_more_values(&text, MOST_VALUES) {
        return Err(unusable(&format_args!("it has more than {MOST_VALUES} values")));
    }
    let document = OpenRpc::parse(&text).map_err(|error| unusable(&error))?;
    for place in document.unusable() {
        printer.note(&format!(
            "ignored the schema at {place} in {name}: it is not valid, or has a reference to another document"
        ));
    }
    Ok(document)
}

fn chosen(ids: &[String]) -> Result<Vec<&'static sabir_model::rules::Rule>, Failure> {
    ids.iter().map(|id| named(id)).collect()
}

fn traffic(
    input: impl Read,
    name: &str,
    args: &CheckArgs,
    rules: Rules,
    printer: &Printer,
) -> Result<Exit, Failure> {
    let mut reader = Reader::new(input).map_err(|error| unreadable(name, &error))?;
    let format = reader.format();
    let profile = match args.profile {
        Some(profile) => profile,
        None => usual_profile(format, reader.header())?,
    };
    let mut checker = rules.checker(profile);
    let mut output = Output::new(args, name, profile, printer);
    while let Some(record) = reader.next().map_err(|error| unreadable(name, &error))? {
        for finding in checker.check(&record) {
            output.finding(&finding)?;
        }
        // A file that was recorded to several times has a header for each.
        if let What::Start(header) = &record.what
            && args.profile.is_none()
        {
            let profile = usual_profile(format, Some(header))?;
            checker.set_profile(profile);
            if profile != Profile::JsonRpc {
                output.set_profile(profile);
            }
        }
    }
    for finding in checker.finish() {
        output.finding(&finding)?;
    }
    if reader.torn() {
        printer.note("skipped the last line: it is incomplete");
    }
    match checker.messages() {
        0 => printer.note("no messages: nothing was checked"),
        all if all == output.count("RPC000") => {
            printer.note("none of the lines is a message: is this captured traffic?");
        }
        _ => {}
    }
    if checker.gaps() > 0 {
        let places = count(checker.gaps(), "place");
        printer
            .note(&format!("records are missing in {places}: what was open then is not checked any further"));
    }
    output.end(&format!("{} ({})", count(checker.messages(), "message"), reader.format()))
}

async fn live(chosen: Chosen, args: &CheckArgs, rules: Rules, printer: &Printer) -> Result<Exit, Failure> {
    let (timeout, framing) = (args.wire.timeout, args.wire.framing);
    // A language server that is known by its name is not asked in another framing.
    let guess =
        Protocol::guess(&chosen.target, "").filter(|guess| *guess == Protocol::Lsp && framing.is_none());
    let known =
        args.profile.or_else(|| chosen.protocol.or(guess).map(|protocol| protocol.profile(&chosen.target)));
    let protocol = known.map(|known| match known {
        Profile::Lsp => Protocol::Lsp,
        Profile::Mcp(revision) => Protocol::Mcp(revision),
        _ => Protocol::Plain,
    });
    let peer = chosen.peer(&args.wire, protocol, None)?;
    let params = match &args.data {
        Some(data) => Arguments::from_data(data)?.params()?,
        None => None,
    };
    let transcript = args.save.as_deref().map(Transcript::new).transpose()?;
    // Findings name a place that can be looked at.
    let name = match &args.save {
        Some(path) => path.display().to_string(),
        None => peer.target.to_string(),
    };
    let watch = Watch::default();
    let profile = known.unwrap_or_else(|| identify::guess(peer.wire_framing()));
    let _waiting = printer.waiting(format!("checking {}", peer.target));
    let target = WireTarget { peer: peer.clone(), profile, printer: None, watch: watch.clone() };
    let mut output = Output::new(args, &name, profile, printer);
    stop::at(Instant::now() + timeout);
    let done = tokio::select! {
        biased;
        interrupted = stop::interrupted() => return Err(interrupted),
        done = live::probe(target, known, params, rules, &mut output, transcript) => done?,
        () = tokio::time::sleep(timeout) => return Err(peer.unfinished(&watch)),
    };
    stop::never();
    output.end(&format!("{}, {}", count(done.probes, "probe"), count(done.answers, "answer")))
}

/// The profile in the header, or the usual one of the format.
fn usual_profile(format: Format, header: Option<&Header>) -> Result<Profile, Failure> {
    match (format, header.and_then(|header| header.profile.as_deref())) {
        (_, Some(name)) => name.parse().map_err(|error| {
            Failure::usage(format_args!("the header's profile: {error}")).hint("choose one with --profile")
        }),
        (Format::Headers, None) => Ok(Profile::Lsp),
        _ => Ok(Profile::JsonRpc),
    }
}

fn unreadable(name: &str, error: &ReadError) -> Failure {
    let failure = Failure::file(format_args!("cannot read {name}: {error}"));
    match error {
        ReadError::Io(error) if error.kind() == io::ErrorKind::NotFound && !Path::new(name).exists() => {
            let other =
                "check the path; a target is stdio:COMMAND, http://HOST/PATH, tcp://HOST:PORT or unix:PATH";
            failure.hint(
                suggest::target(name).filter(|_| name.contains(':')).unwrap_or_else(|| other.to_owned()),
            )
        }
        _ => failure,
    }
}

/// `1 message`, `2 messages`.
fn count(number: u64, of: &str) -> String {
    format!("{number} {of}{}", if number == 1 { "" } else { "s" })
}
