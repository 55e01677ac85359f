//! `sabir tap`: passes on what a client and its server say to each other, and records or shows a copy.
//!
//! ```text
//! client ──▶ carry ──▶ server      bytes first, unchanged
//!              │ copy
//!              ▼
//!            queue ──▶ recorder ──▶ file, rows, rules
//! ```
//!
//! Nothing to the right of the queue can hold up what is above it.

mod calls;
mod decode;
mod file;
mod inject;
mod listen;
mod order;
mod page;
mod platform;
mod queue;
mod recorder;
mod rows;
mod shim;
mod stdio;
mod wrap;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use calls::Calls;
use file::RecordFile;
use inject::Pipes;
use listen::Listen;
use queue::Queue;
use recorder::{Recorder, State};
use rows::Rows;
use sabir_model::capture::{Header, Redactor};
use sabir_model::filter::Filter;

use crate::args::{TapArgs, TapCommand};
use crate::exit::{Exit, Failure};
use crate::filter;
use crate::peer::Chosen;
use crate::print::Printer;
use crate::row::RowFormat;
use crate::telemetry;
use crate::web::Web;

/// How long the last records may take to be written once the traffic is over, and how long nothing may happen in that time.
const LAST_RECORDS: Duration = Duration::from_secs(15);
const STALLED: Duration = Duration::from_secs(2);

pub(crate) async fn run(args: TapArgs, printer: &Printer) -> Result<Exit, Failure> {
    match &args.does {
        Some(TapCommand::Wrap(args)) => return wrap::wrap(args, printer),
        Some(TapCommand::Unwrap(args)) => return wrap::unwrap(args, printer),
        None => {}
    }
    let filter = filter::parse(args.filter.as_deref())?;
    if args.filter.is_some() && !args.print && !args.view {
        return Err(Failure::usage("--filter says what is shown: a record has everything").hint(
            "add --print or --view, or look at the record with `sabir view --print FILE --filter FILTER`",
        ));
    }
    if let Some(path) = &args.make_shim {
        return shim::make(path, &args, printer);
    }
    let mut listen = match (&args.listen, &args.target) {
        (Some(at), Some(target)) => {
            let tls = args.tls.server_tls(Some(at))?;
            let target = Chosen::of(target, printer)?;
            Some(Listen::new(at, target, tls, Web::new(&args.web)?)?)
        }
        _ => None,
    };
    if let (true, Some(listen)) = (args.login, &mut listen) {
        listen.log_in(printer).await?;
    }
    let telemetry =
        telemetry::start("tap", telemetry::Calls::OfSessions, &args.telemetry, Some(&args.metrics), printer)?;
    let started = SystemTime::now();
    let queue = Arc::new(Queue::new(Instant::now()));
    let header = match &listen {
        Some(listen) => Header {
            transport: Some(listen.target.scheme().name().to_owned()),
            target: Some(listen.target.to_string()),
            ..Header::starting(SystemTime::now())
        },
        None => Header {
            transport: Some("stdio".to_owned()),
            cmd: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            ..Header::starting(SystemTime::now())
        },
    };
    let record = page::record(&args, printer)?;
    let mut recorder = recorder(&args, filter, header, record.as_deref(), &queue, printer)?;
    recorder.calls = telemetry::started().map(|telemetry| {
        let network = calls::network(listen.as_ref().map(|listen| &listen.target));
        Calls::new(telemetry, started, network)
    });
    let can_send = args.allow_send && recorder.file.is_some();
    let inject = (can_send && listen.is_none()).then(|| Pipes::new(queue.clone()));
    let send = match (&inject, &mut listen) {
        (Some(inject), _) => Some(inject.sender()),
        (None, Some(listen)) if can_send => Some(listen.sender()),
        _ => None,
    };
    let page = page::show(&args, &recorder, send, printer)?;
    let Some(listen) = listen else {
        let shown = crate::platform::join(&recorder.header.cmd);
        let running = stdio::start(&args.command, shown, recorder.file.is_some(), &queue, inject.as_ref())?;
        let recording = Recording::start(recorder, queue.clone());
        let status = running.finish(&queue);
        recording.finish();
        telemetry.finish(printer);
        drop(page);
        platform::end_as(status.map_err(|error| cannot(&error))?)
    };
    let recording = Recording::start(recorder, queue.clone());
    let ended = listen.run(queue, printer).await;
    recording.finish();
    telemetry.finish(printer);
    drop(page);
    ended.map(|()| Exit::Ok)
}

fn cannot(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(Exit::Error, format_args!("cannot start: {error}"))
}

/// What is done with the copy.
fn recorder(
    args: &TapArgs,
    filter: Filter,
    header: Header,
    record: Option<&Path>,
    queue: &Arc<Queue>,
    printer: &Printer,
) -> Result<Recorder, Failure> {
    let opened = record.map(|path| (path, RecordFile::open(path, args.rotate, args.rotate_after)));
    let file = match opened {
        None => None,
        Some((path, Ok(file))) => {
            if file.path() != path {
                let (taken, own) = (path.display(), file.path().display());
                printer.note(&format!("another tap writes to {taken}: recording to {own}"));
            }
            Some(file)
        }
        // Nobody named this file.
        Some((_, Err(error))) if args.record.is_none() => {
            page::without(args, format_args!("cannot record for it: {error}"), printer)?;
            None
        }
        Some((path, Err(error))) => {
            let what = format!("cannot record to {}: {error}", path.display());
            return Err(Failure::new(Exit::Connect, what));
        }
    };
    let redactor = Redactor::new(args.redact.iter().cloned());
    Ok(Recorder {
        queue: queue.clone(),
        header: Header {
            tool: Some(concat!("sabir/", env!("CARGO_PKG_VERSION")).to_owned()),
            cmd: redactor.words(&header.cmd),
            target: header.target.as_deref().map(|target| redactor.text(target).into_owned()),
            ..header
        },
        redactor,
        rows: Rows::start().map_err(|error| cannot(&error))?,
        print: args.print.then(|| {
            let (painter, columns) = printer.error_style();
            (RowFormat { painter, columns, is_live: true, now: None }, filter)
        }),
        is_checked: args.check,
        profile: args.profile,
        streams: HashMap::new(),
        state: State::default(),
        calls: None,
        file,
    })
}

/// The thread of the recorder.
struct Recording {
    queue: Arc<Queue>,
    done: Receiver<()>,
}

impl Recording {
    fn start(recorder: Recorder, queue: Arc<Queue>) -> Self {
        if !recorder.is_needed() {
            queue.abandon();
            return Recording { queue, done: channel().1 };
        }
        Recording::begin(queue, || recorder.run())
    }

    /// `record` takes from the queue until nothing comes any more.
    fn begin(queue: Arc<Queue>, record: impl FnOnce() + Send + 'static) -> Self {
        let (tell, done) = channel();
        let from = queue.clone();
        let run = move || {
            // Whatever goes wrong in here, the traffic goes on.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(record));
            from.abandon();
            let _ = tell.send(());
        };
        if std::thread::Builder::new().name("recorder".to_owned()).spawn(run).is_err() {
            queue.abandon();
        }
        Recording { queue, done }
    }

    /// Waits until all is recorded, but not for ever.
    fn finish(self) {
        self.queue.close();
        let deadline = Instant::now() + LAST_RECORDS;
        let mut left = self.queue.left();
        while self.done.recv_timeout(STALLED) == Err(RecvTimeoutError::Timeout) && Instant::now() < deadline {
            let still = self.queue.left();
            if still >= left {
                return;
            }
            left = still;
        }
    }
}
