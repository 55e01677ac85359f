//! `sabir mock`: a server that answers out of a recording, or makes answers up from a description.

mod answers;
mod bytes;
mod described;
mod fault;
mod front;
mod pattern;
mod recorded;
mod values;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError};

use answers::Answers;
pub(crate) use fault::Fault;
use fault::{FaultKind, Faults};
use recorded::Recorded;
use sabir::{Ctx, ErrorObject, Next, RawJson, Router};

use crate::args::MockArgs;
use crate::exit::{Exit, Failure};
use crate::print::Printer;
use crate::recorded::ignore::is_named;
use crate::recorded::{Recording, name_of};
use crate::serve::{Place, ServeOptions, Served, listening};
use crate::telemetry;

/// Names of what could not be answered, at most.
const MOST_NAMES: usize = 1000;

pub(crate) async fn run(args: MockArgs, printer: &Printer) -> Result<Exit, Failure> {
    let telemetry = telemetry::start(
        "mock",
        telemetry::Calls::OfSessions,
        &args.telemetry,
        Some(&args.metrics),
        printer,
    )?;
    let served = serve(args, printer).await;
    telemetry.finish(printer);
    served
}

async fn serve(args: MockArgs, printer: &Printer) -> Result<Exit, Failure> {
    let tls = args.tls.server_tls(args.listen.as_deref())?;
    let asked = Arc::new(Asked { printer: printer.clone(), unanswered: Mutex::default() });
    let described = match args.file == "-" {
        true => None,
        false => described::read(&args.file)?,
    };
    let framing = args.framing.map(sabir::Framing::from);
    let (router, protocol, framing) = match described {
        Some(description) => {
            let protocol = if description.is_mcp() { Served::Mcp } else { Served::Plain };
            (description.router(args.seed, asked.clone()), protocol, framing)
        }
        None => {
            let recording = Recording::open(&args.file, printer)?;
            tell_unused(&args.faults, &recording, printer);
            let protocol = Served::of(recording.profile());
            let framing = framing.or_else(|| recording.framing().filter(|_| args.listen.is_none()));
            let recorded = Arc::new(Recorded::new(Answers::new(recording), args.latency, asked.clone()));
            let router = Router::new().fallback(move |ctx, method, params| {
                let recorded = recorded.clone();
                async move { recorded.answer(ctx, &method, params).await }
            });
            (router, protocol, framing)
        }
    };
    let faults = Faults::new(args.faults, args.seed);
    let changes_bytes = faults.change_bytes();
    let faults = Arc::new(Mutex::new(faults));
    let router = router.layer(move |ctx, next| {
        let faults = faults.clone();
        async move { faulty(ctx, next, &faults).await }
    });
    let router = telemetry::served(router, false);
    let options = ServeOptions { listen: args.listen, framing, protocol, tls };
    let served = match changes_bytes {
        true => front::serve(router, options, printer).await,
        false => match listening(router, options, printer).await? {
            Place::Stdio(serving) => serving.await,
            Place::Listening(server) => server.run().await,
        }
        .map_err(|error| Failure::new(Exit::Protocol, format_args!("stopped serving: {error}"))),
    };
    served?;
    Ok(asked.end())
}

/// Says which `--fault` is for nothing that was recorded: it is a mistake, most likely.
fn tell_unused(faults: &[Fault], recording: &Recording, printer: &Printer) {
    let names = recording.names();
    for only in faults.iter().filter_map(|fault| fault.name.as_deref()) {
        if !names.iter().any(|name| is_named(only, name)) {
            printer.note(&format!("--fault on {only}: no method or tool in the recording has this name"));
        }
    }
}

/// Whether a file is an OpenRPC document.
pub(crate) fn is_open_rpc(path: &OsStr) -> Result<bool, Failure> {
    Ok(matches!(described::read(path)?, Some(described::Description::OpenRpc(..))))
}

/// What was asked, and could not be answered.
pub(super) struct Asked {
    printer: Printer,
    unanswered: Mutex<BTreeMap<String, u64>>,
}

impl Asked {
    /// Says something about a call.
    fn note(&self, text: &str) {
        self.printer.note(text);
    }

    /// There is no answer to this.
    fn unanswered(&self, name: &str, why: &str, is_request: bool) {
        // A notification has no answer, and nobody misses one.
        if !is_request {
            return;
        }
        self.note(&format!("cannot answer {name}: {why}"));
        let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        if unanswered.len() < MOST_NAMES || unanswered.contains_key(name) {
            *unanswered.entry(name.to_owned()).or_default() += 1;
        }
    }

    fn end(&self) -> Exit {
        let unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        if unanswered.is_empty() {
            return Exit::Ok;
        }
        let names: Vec<String> = unanswered
            .iter()
            .map(|(name, count)| match count {
                1 => name.clone(),
                count => format!("{name} ({count} times)"),
            })
            .collect();
        self.note(&format!("could not answer: {}", names.join(", ")));
        Exit::Error
    }
}

/// Runs a call, unless something is to go wrong with it.
async fn faulty(ctx: Ctx, next: Next, faults: &Mutex<Faults>) -> sabir::Result<RawJson<'static>> {
    if !ctx.is_request() {
        return next.run().await;
    }
    let name = name_of(next.method(), next.params().map(RawJson::as_str));
    let fault = faults.lock().unwrap_or_else(PoisonError::into_inner).next(&name);
    let mark =
        |mark: &'static str| RawJson::new(mark).map_err(|error| ErrorObject::new(-32603, error.to_string()));
    match fault {
        None => next.run().await,
        Some(FaultKind::Delay(time)) => {
            tokio::time::sleep(time).await;
            next.run().await
        }
        Some(FaultKind::Drop) => {
            // Until the connection ends.
            ctx.peer().closing().await;
            Err(ErrorObject::new(-32603, "dropped"))
        }
        Some(FaultKind::Error(code)) => Err(ErrorObject::new(code, "a fault, as asked for with --fault")),
        Some(FaultKind::Garbage) => mark(bytes::GARBAGE),
        Some(FaultKind::Close) => mark(bytes::CLOSE),
    }
}
