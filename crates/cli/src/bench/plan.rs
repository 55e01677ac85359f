//! What the command line of `sabir bench` means.

use std::path::PathBuf;
use std::time::Duration;

use sabir::{Framing, RawJson};
use sabir_load::{Limit, Pace};

use super::mix::{self, Entry};
use super::trial::Trial;
use crate::args::BenchRunArgs;
use crate::exit::Failure;
use crate::json::compact;
use crate::peer::{Chosen, PeerOptions};
use crate::platform::word;
use crate::print::Printer;
use crate::session::{Answers, Protocol};
use crate::suggest;
use crate::target::Target;
use crate::values::Arguments;

/// How long a run is if nobody says.
const DURATION: Duration = Duration::from_secs(10);
const WARMUP: Duration = Duration::from_secs(1);

/// Calls that are open, and connections of HTTP, if nobody says.
const CONCURRENCY: u32 = 10;
const HTTP_CONNECTIONS: usize = 32;

/// Connections of HTTP at most, if nobody says.
const MOST_HTTP_CONNECTIONS: usize = 1000;

pub(super) struct Plan {
    pub(super) peer: PeerOptions,
    pub(super) protocol: Option<Protocol>,
    pub(super) explicit: bool,
    pub(super) answers: Answers,
    pub(super) entries: Vec<Entry>,
    pub(super) expect: Option<String>,
    /// Without its calls, which are known after the first one.
    pub(super) load: sabir_load::Plan,
    /// As given.
    given_connections: Option<u32>,
    pub(super) connections: usize,
    pub(super) rounds: u32,
    pub(super) fail: Vec<Limit>,
    pub(super) json: bool,
    pub(super) html: Option<PathBuf>,
}

impl Plan {
    pub(super) fn new(args: BenchRunArgs, printer: &Printer) -> Result<Plan, Failure> {
        let mut words = args.words.into_iter();
        let chosen = if !args.command.is_empty() {
            Target::program(args.command)?.into()
        } else if let Some(target) = words.next() {
            Chosen::of(&target, printer).map_err(|failure| {
                match suggest::started("bench", &target, words.as_slice()) {
                    Some(hint) => failure.hint(hint),
                    None => failure,
                }
            })?
        } else {
            return Err(Failure::usage("no target is given")
                .hint("try `sabir bench demo: add 2 3`; `sabir bench --help` lists the options"));
        };
        let explicit = args.session.protocol.or(chosen.protocol);
        let has_framing = args.session.wire.framing.is_some() || chosen.framing.is_some();
        let mut peer = chosen.peer(&args.session.wire, None, Some(args.session.trace))?;
        let (entries, order) = match &args.mix {
            Some(file) => match words.next() {
                Some(word) => {
                    return Err(Failure::usage(format_args!("`{word}` cannot be combined with --mix"))
                        .hint("the file names the methods to call"));
                }
                None => mix::read(file, printer)?,
            },
            None => {
                let method = words.next().ok_or_else(|| {
                    Failure::usage("no method is given")
                        .hint(format_args!("try `sabir bench {} METHOD`", word(&peer.target.to_string())))
                })?;
                let words: Vec<_> = words.collect();
                let given = Arguments::given(args.data.as_deref(), &words)?;
                (vec![Entry::new(method, given, args.notify)], vec![0])
            }
        };
        let guess = Protocol::guess(&peer.target, &entries[0].method);
        if !has_framing {
            peer.framing = Protocol::framing(explicit, guess);
        }
        let expect = args.expect.map(|text| match RawJson::new(text.as_str()) {
            Ok(_) => Ok(compact(&text).into_owned()),
            Err(error) => Err(Failure::usage(format_args!("--expect is not JSON: {error}"))),
        });
        let pace = match args.rate {
            Some(rate) => Pace::Open(rate),
            None => Pace::Closed(args.concurrency.unwrap_or(CONCURRENCY) as usize),
        };
        let length = match &pace {
            Pace::Open(rate) => rate.length(),
            Pace::Closed(_) => None,
        };
        if length.is_some() && args.duration.is_some() {
            return Err(Failure::usage("--duration cannot be combined with a rate that has an end")
                .hint("the rate says how long it lasts: 100..2000/30s, or 100,200@10s"));
        }
        let duration = args.duration.or(args.count.is_none().then_some(DURATION));
        let load = sabir_load::Plan {
            pace,
            calls: Vec::new(),
            order,
            warmup: args.warmup.unwrap_or(if args.count.is_some() { Duration::ZERO } else { WARMUP }),
            duration,
            count: args.count,
            batch: args.batch as usize,
            grace: args.grace,
            timeout: peer.timeout,
            max_in_flight: args.max_in_flight as usize,
            until: args.until,
            max_size: peer.max_size,
        };
        Ok(Plan {
            protocol: explicit.or(guess),
            explicit: explicit.is_some() || peer.target == Target::Demo,
            answers: Answers::new(&args.answer.answers, None)?,
            entries,
            expect: expect.transpose()?,
            load,
            given_connections: args.connections,
            connections: 1,
            rounds: args.rounds,
            fail: args.fail,
            json: args.json,
            html: args.html,
            peer,
        })
    }

    /// Decides what depends on what the server speaks.
    pub(super) fn settle(&mut self, trial: &Trial, printer: &Printer) -> Result<(), Failure> {
        let is_http = self.is_http() && trial.is_plain();
        let usual = match (&self.load.pace, is_http) {
            (Pace::Closed(concurrency), true) => {
                concurrency.div_ceil(self.load.batch).min(MOST_HTTP_CONNECTIONS)
            }
            (Pace::Open(_), true) => HTTP_CONNECTIONS,
            (_, false) => 1,
        };
        self.connections = self.given_connections.map_or(usual, |given| given as usize);
        if !trial.is_plain() && self.load.batch > 1 {
            return Err(Failure::usage(format_args!("--batch cannot be used with {}", trial.protocol))
                .hint("batches are for plain JSON-RPC"));
        }
        // What is measured is the service, and not one of its workers. A session stays with one.
        if trial.is_plain() {
            self.peer.web = self.peer.web.clone().shared_by_workers();
        }
        if let (Pace::Closed(concurrency), true) = (&mut self.load.pace, is_http) {
            let most = self.connections * self.load.batch;
            if *concurrency > most && !self.json {
                printer.note(&format!(
                    "a connection of HTTP has one message open: --concurrency is {most}, with {} connections",
                    self.connections
                ));
            }
            *concurrency = (*concurrency).min(most);
        }
        Ok(())
    }

    pub(super) fn is_http(&self) -> bool {
        self.peer.target.scheme().is_some_and(sabir::transport::Scheme::is_http)
    }

    pub(super) fn is_websocket(&self) -> bool {
        self.peer.target.scheme().is_some_and(sabir::transport::Scheme::is_websocket)
    }

    /// Whether the target is a stream of bytes.
    pub(super) fn is_stream(&self) -> bool {
        match self.peer.target.scheme() {
            None => true,
            Some(scheme) => matches!(scheme.name(), "tcp" | "tls" | "unix" | "pipe"),
        }
    }

    /// How messages are delimited on a stream.
    pub(super) fn codec(&self) -> sabir_load::Codec {
        match self.peer.framing {
            Framing::Headers => sabir_load::Codec::Headers,
            _ => sabir_load::Codec::Lines,
        }
    }
}
