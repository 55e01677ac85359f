//! `sabir complete-methods`: the methods that a shell completes.

use std::time::Duration;

use sabir::{Framing, Limits};

use crate::args::CompleteArgs;
use crate::discovery;
use crate::exit::{Exit, Failure};
use crate::peer::{Chosen, PeerOptions};
use crate::print::Printer;
use crate::target::Target;
use crate::targets;
use crate::web::Web;

/// Nobody waits longer for a completion.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Prints the methods that begin with what was typed, one per line. If anything fails, it prints nothing.
pub(crate) async fn run(args: CompleteArgs, printer: &Printer) -> Result<Exit, Failure> {
    let chosen = match Target::is_one(&args.target) {
        true => Target::parse(&args.target).ok().map(Chosen::from),
        false => targets::quietly(&args.target),
    };
    // Pressing a key must not start a program.
    let Some(chosen) = chosen.filter(|chosen| !matches!(chosen.target, Target::Program(_))) else {
        return Ok(Exit::Ok);
    };
    let peer = PeerOptions {
        target: chosen.target,
        framing: chosen.framing.unwrap_or(Framing::Lines),
        protocol: chosen.protocol,
        web: Web::default().with(chosen.headers),
        timeout: TIMEOUT,
        max_size: Limits::default().message_bytes,
        trace: None,
    };
    let Ok(found) = discovery::discover(&peer, printer).await else { return Ok(Exit::Ok) };
    for method in &found.document.methods {
        if method.name.starts_with(&args.prefix) && is_plain(&method.name) {
            printer.data(&method.name)?;
        }
    }
    Ok(Exit::Ok)
}

/// Whether no shell gives the name a meaning of its own.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.starts_with('-') && name.chars().all(|c| c.is_ascii_alphanumeric() || "_./:-".contains(c))
}
