//! `sabir complete-methods`: what a shell asks for when a method is to be completed.

use std::time::Duration;

use sabir::{Framing, Limits};

use crate::args::CompleteArgs;
use crate::discovery::{self, Inquiry};
use crate::exit::{Exit, Failure};
use crate::misframed::Misframed;
use crate::print::Printer;
use crate::target::Target;
use crate::web::Web;

/// Nobody waits longer for a completion.
const PATIENCE: Duration = Duration::from_secs(1);

/// Prints the methods that begin with what was typed, one a line. Whatever goes wrong, there are none.
pub(crate) async fn run(args: CompleteArgs, printer: &Printer) -> Result<Exit, Failure> {
    let target = match Target::parse(&args.target) {
        // Nobody who presses a key wants a program to run.
        Err(_) | Ok(Target::Program(_)) => return Ok(Exit::Ok),
        Ok(target) => target,
    };
    let web = Web::default();
    let inquiry = Inquiry {
        target,
        framing: Framing::Lines,
        web,
        timeout: PATIENCE,
        max_size: Limits::default().message_bytes,
        trace: false,
        misframed: Misframed::default(),
    };
    let Ok(found) = discovery::inquire(&inquiry, printer).await else { return Ok(Exit::Ok) };
    for method in &found.document.methods {
        if method.name.starts_with(&args.prefix) && is_plain(&method.name) {
            printer.data(&method.name)?;
        }
    }
    Ok(Exit::Ok)
}

/// Names that no shell gives a meaning of its own.
fn is_plain(name: &str) -> bool {
    !name.starts_with('-') && name.chars().all(|c| c.is_ascii_alphanumeric() || "_./:-".contains(c))
}
