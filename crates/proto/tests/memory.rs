//! A connection stays under 128 MiB whatever the peer does, and gives back what a flood made it take.
//!
//! Real allocations are counted: of the session, and of a driver that keeps the params of everything that runs.

#![allow(clippy::unwrap_used)]

#[path = "memory/counting.rs"]
mod counting;

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use sabir_proto::{Config, Event, Framing, Output, RawJson, RequestKey, Session, Time};

/// What the documentation of `Limits` promises.
const PROMISE: isize = 128 << 20;
/// What is left once it is quiet again.
const AT_REST: isize = 1 << 20;
/// How much a peer sends, unless the session stops reading.
const SENT: usize = 64 << 20;

/// What large answers are made of.
static LARGE_TEXT: LazyLock<RawJson<'static>> =
    LazyLock::new(|| RawJson::new(format!("\"{}\"", "y".repeat(1 << 20))).unwrap());

/// Large answers after which a peer stops sending.
const LARGE_ANSWERS: usize = 100;

/// What the handlers do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Handlers {
    Hang,
    /// Answer at once, with this many bytes.
    Answer(usize),
    /// Hang until they are cancelled, and no notification's handler finishes.
    Obey,
}

struct Driver {
    session: Option<Session>,
    handlers: Handlers,
    /// Whether the peer reads.
    reads: bool,
    running: HashMap<RequestKey, (String, Option<RawJson<'static>>, Option<RawJson<'static>>)>,
    notified: bool,
    now: Time,
    /// How many handlers were started.
    started: usize,
}

impl Driver {
    fn new(handlers: Handlers, reads: bool) -> Self {
        let config = Config { framing: Some(Framing::Lines), ..Config::default() };
        Driver {
            session: Some(counting::inside(|| Session::new(config))),
            handlers,
            reads,
            running: HashMap::new(),
            notified: false,
            now: Time::START,
            started: 0,
        }
    }

    fn session(&mut self) -> &mut Session {
        self.session.as_mut().unwrap()
    }

    /// Sends messages until there are no more, enough were sent, or the session reads no more.
    fn send(&mut self, messages: impl Iterator<Item = String>) {
        let mut sent = 0;
        for mut message in messages {
            message.push('\n');
            sent += message.len();
            let mut rest = message.as_bytes();
            while !rest.is_empty() {
                if !self.settle() {
                    return;
                }
                let now = self.now;
                let session = self.session();
                counting::inside(|| {
                    let space = session.space();
                    let count = rest.len().min(space.len());
                    space[..count].copy_from_slice(&rest[..count]);
                    session.handle_read(now, count);
                    rest = &rest[count..];
                });
            }
            let enough = self.handlers == Handlers::Answer(1 << 20) && self.started > LARGE_ANSWERS;
            if sent > SENT || enough {
                break;
            }
        }
        self.settle();
    }

    /// Lets everything happen. Whether the session wants to read.
    fn settle(&mut self) -> bool {
        let Driver { session, handlers, reads, running, notified, now, started } = self;
        let session = session.as_mut().unwrap();
        counting::inside(|| {
            loop {
                match session.poll_output(*now) {
                    Output::Event(Event::Request { key, method, params, meta, .. }) => {
                        *started += 1;
                        if let Handlers::Answer(size) = handlers {
                            match *size {
                                1 => session.reply(*now, key, &1),
                                100 => session.reply(*now, key, &[7; 30]),
                                _ => session.reply_raw(*now, key, &LARGE_TEXT),
                            };
                        } else {
                            let own = |json: Option<RawJson<'_>>| json.map(RawJson::into_owned);
                            running.insert(key, (method.into_owned(), own(params), own(meta)));
                        }
                    }
                    Output::Event(Event::Notification { .. }) if *handlers == Handlers::Obey => {
                        *notified = true;
                    }
                    Output::Event(Event::Notification { .. }) => session.finish_notification(*now),
                    Output::Event(Event::Cancel { key, .. }) => {
                        running.remove(&key);
                        session.abandon(*now, key);
                    }
                    Output::Event(_) => {}
                    Output::Wait(wait) => {
                        let (count, read) = (wait.write.len(), wait.read);
                        if !*reads || count == 0 {
                            return read;
                        }
                        session.handle_written(*now, count);
                    }
                    Output::Done(cause) => panic!("{cause}"),
                }
            }
        })
    }

    /// What a session says that it holds is what it holds. Little is left out: what is small, and what is only
    /// there for a moment.
    #[track_caller]
    fn check(&mut self, what: &str) {
        let (peak, live) = (counting::peak(), counting::live());
        assert!(peak < PROMISE, "{what}: {} MiB at the most", peak >> 20);
        let usage = self.session().usage();
        let told = usage.bytes.cast_signed();
        let small = (usage.running * 256).cast_signed() + (1 << 20);
        assert!(live <= told + small, "{what}: {live} bytes in use, {told} reported");
    }

    /// All handlers end, the peer reads everything, and then there is silence.
    #[track_caller]
    fn rest(&mut self, what: &str) {
        self.reads = true;
        // What waits is still worked off: with large answers that would take minutes, and show nothing more.
        self.handlers = match self.handlers {
            Handlers::Obey => Handlers::Hang,
            Handlers::Answer(_) => Handlers::Answer(1),
            Handlers::Hang => Handlers::Hang,
        };
        for _ in 0..1000 {
            self.settle();
            let Driver { session, running, notified, now, .. } = self;
            let session = session.as_mut().unwrap();
            counting::inside(|| {
                if std::mem::take(notified) {
                    session.finish_notification(*now);
                }
                for (key, _) in std::mem::take(running) {
                    session.reply(*now, key, &1);
                }
            });
            self.settle();
            if self.session().usage().requests == 0 && self.session().usage().unsent == 0 && !self.notified {
                break;
            }
        }
        self.now = self.now + Duration::from_secs(2);
        self.settle();
        let live = counting::live();
        assert!(live < AT_REST, "{what}: {live} bytes are left");
        let told = self.session().usage().bytes;
        assert!(told < AT_REST.cast_unsigned(), "{what}: it reports {told} bytes");
    }
}

/// Plays an attack against each kind of handler, with a peer that reads and one that does not.
#[track_caller]
fn attack<I: Iterator<Item = String>>(what: &str, messages: impl Fn() -> I) {
    LazyLock::force(&LARGE_TEXT);
    let answers = [Handlers::Answer(100), Handlers::Answer(1 << 20)];
    let hang = [(Handlers::Hang, true), (Handlers::Hang, false), (Handlers::Obey, true)];
    for (handlers, reads) in hang.into_iter().chain(answers.map(|handlers| (handlers, false))) {
        let mut driver = Driver::new(handlers, reads);
        driver.send(messages());
        driver.check(what);
        driver.rest(what);
        counting::inside(|| drop(driver.session.take()));
    }
}

fn request(id: &str, rest: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"{rest}}}"#)
}

fn cancel(id: usize) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"$/cancelRequest","params":{{"id":{id}}}}}"#)
}

/// A string of this many bytes that differs from those of other numbers.
fn long(number: usize, length: usize) -> String {
    format!("\"{number}{}\"", "x".repeat(length))
}

fn batches(entries: usize, entry: impl Fn(usize) -> String) -> impl Iterator<Item = String> {
    (0..8).map(move |batch| {
        let entries: Vec<_> = (0..entries).map(|n| entry(batch * entries + n)).collect();
        format!("[{}]", entries.join(","))
    })
}

/// More than fit into the queue, however small they are.
const MANY: usize = 90_000;

#[test]
fn tiny_requests() {
    attack("tiny requests", || (0..MANY).map(|n| request(&n.to_string(), "")));
    attack("the shortest requests", || (0..MANY).map(|_| request("null", "")));
}

fn progress_tokens_of(length: usize) {
    attack("progress tokens", || {
        (0..MANY).map(move |n| {
            let token = long(n, length);
            let meta = format!(r#","params":{{"_meta":{{"progressToken":{token}}}}}"#);
            request(&n.to_string(), &meta)
        })
    });
}

#[test]
fn short_progress_tokens() {
    progress_tokens_of(900);
}

#[test]
fn long_progress_tokens() {
    progress_tokens_of(100_000);
}

fn ids_of(length: usize) {
    attack("long ids", || (0..MANY).map(move |n| request(&long(n, length), "")));
}

fn equal_ids_of(length: usize) {
    attack("the same long id", || (0..MANY).map(move |_| request(&long(0, length), "")));
}

#[test]
fn ids_of_100_bytes() {
    ids_of(100);
}

#[test]
fn ids_of_1_mib() {
    ids_of(1 << 20);
}

#[test]
fn ids_of_15_mib() {
    ids_of(15 << 20);
}

#[test]
fn equal_ids_of_100_bytes() {
    equal_ids_of(100);
}

#[test]
fn equal_ids_of_15_mib() {
    equal_ids_of(15 << 20);
}

#[test]
fn long_methods() {
    for length in [10_000, 15 << 20] {
        attack("long methods", || {
            (0..MANY).map(move |n| format!(r#"{{"jsonrpc":"2.0","id":{n},"method":{}}}"#, long(n, length)))
        });
    }
}

#[test]
fn long_params() {
    for length in [10_000, 15 << 20] {
        attack("long params", || {
            (0..MANY).map(move |n| request(&n.to_string(), &format!(r#","params":[{}]"#, long(n, length))))
        });
    }
}

#[test]
fn nested_params() {
    let nested = format!(r#","params":{}1{}"#, "[".repeat(100), "]".repeat(100));
    attack("nested params", || (0..MANY).map(|n| request(&n.to_string(), &nested)));
}

#[test]
fn giant_batches() {
    attack("batches of requests", || batches(10_000, |n| request(&n.to_string(), "")));
    attack("batches of requests with string ids", || batches(10_000, |n| request(&long(n, 1000), "")));
}

#[test]
fn small_batches_and_batches_of_junk() {
    attack("batches of few requests", || (0..MANY).map(|n| format!("[{},1]", request(&n.to_string(), ""))));
    attack("batches of invalid entries", || {
        batches(10_000, |n| format!(r#"{{"jsonrpc":"2.0","id":{},"method":1}}"#, long(n, 1500)))
    });
    attack("batches of numbers", || batches(10_000, |n| n.to_string()));
}

#[test]
fn notifications() {
    attack("notifications", || (0..MANY).map(|_| r#"{"jsonrpc":"2.0","method":"n"}"#.to_owned()));
    attack("notifications after one that hangs", || {
        (0..MANY).map(|n| format!(r#"{{"jsonrpc":"2.0","method":{},"params":[1]}}"#, long(n, 1000)))
    });
}

#[test]
fn what_is_no_message() {
    attack("junk", || (0..MANY).map(|_| "x".to_owned()));
    attack("long junk", || (0..30).map(|n| long(n, 15 << 20)));
}

#[test]
fn lines_that_are_too_long() {
    attack("lines that are too long", || (0..10).map(|n| long(n, 20 << 20)));
}

#[test]
fn answers_to_nothing() {
    attack("answers to nothing", || {
        (0..MANY).map(|n| format!(r#"{{"jsonrpc":"2.0","id":{},"result":1}}"#, long(n, 1000)))
    });
    attack("batches of answers to nothing", || {
        batches(10_000, |n| format!(r#"{{"jsonrpc":"2.0","id":{},"result":1}}"#, long(n, 1500)))
    });
}

#[test]
fn invalid_requests() {
    attack("invalid requests", || {
        (0..MANY).map(|n| format!(r#"{{"jsonrpc":"2.0","id":{},"method":1}}"#, long(n, 1000)))
    });
}

/// Requests and their cancels. The last request of all, in the last slot, is never cancelled.
#[test]
fn cancels() {
    let flood = || (0..100_000).map(|n| request(&n.to_string(), ""));
    attack("cancels", || flood().chain((0..99_999).map(cancel)));
}

#[test]
fn cancels_one_by_one() {
    attack("cancels one by one", || (0..MANY).flat_map(|n| [request(&n.to_string(), ""), cancel(n)]));
}

/// A table that a flood has made large shrinks although a request is left.
#[test]
fn a_request_that_hangs_does_not_keep_the_table_large() {
    let mut driver = Driver::new(Handlers::Obey, true);
    let flood = (0..50_000).map(|n| request(&n.to_string(), ""));
    driver.send(flood.chain((1..50_000).map(cancel)));
    assert_eq!(driver.session().usage().requests, 1);
    assert!(driver.session().usage().bytes > 4 << 20, "{:?}", driver.session().usage());
    // There is no silence: something comes all the time.
    for n in 0..15 {
        driver.now = driver.now + Duration::from_millis(900);
        driver.send([cancel(1_000_000 + n)].into_iter());
    }
    let bytes = driver.session().usage().bytes;
    assert!(bytes < AT_REST.cast_unsigned(), "{bytes}");
}

/// Once answers to a batch find no room, nothing more of it is started.
#[test]
fn a_batch_whose_answers_find_no_room_is_not_worked_off() {
    LazyLock::force(&LARGE_TEXT);
    for id in [|n: usize| n.to_string(), |n: usize| long(n, 20)] {
        let mut driver = Driver::new(Handlers::Answer(1 << 20), true);
        driver.send(batches(9_999, move |n| request(&id(n), "")).take(1));
        assert!(driver.started < 30, "{} of 9,999 were started", driver.started);
        driver.rest("a batch with large answers");
        // The next one is worked off as if nothing had happened.
        driver.handlers = Handlers::Answer(1);
        driver.started = 0;
        driver.send(batches(100, move |n| request(&id(n), "")).take(1));
        assert_eq!(driver.started, 100);
    }
}
