//! Both ends, the links between them, the clock, and what goes wrong.

use std::time::Duration;

use sabir_proto::{
    CallOptions, Config, Framing, LENIENT, LSP, Limits, MCP, MCP_2025_03_26, PLAIN, Time, TraceContext,
};

use crate::link::Link;
use crate::log::Log;
use crate::peer::{Peer, Style};
use crate::random::Random;

/// How many of 100 reads and writes are cut short, by the last two bits of the seed. Many messages at once are as much of a
/// test as many pieces of one, and are played in a fraction of the time.
const CUTS: [usize; 4] = [0, 100, 0, 10];

pub(crate) struct World {
    random: Random,
    peers: [Peer; 2],
    /// `links[i]` is what `peers[i]` writes.
    links: [Link; 2],
    now: Time,
    swarm: Swarm,
    pub(crate) log: Log,
}

/// How likely each thing is in this seed, in percent of steps. Many are 0 in any one seed.
struct Swarm {
    calls: usize,
    batches: usize,
    notifications: usize,
    cancels: usize,
    subscriptions: usize,
    floods: usize,
    stalls: usize,
    garbage: usize,
    forgeries: usize,
    flips: usize,
    /// Times in which nobody does anything, and turns that are left half done.
    idles: usize,
    halves: usize,
    timeouts: bool,
    ending: Ending,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// One side closes its end.
    Eof,
    Shutdown,
    Lost,
    /// In the middle of a message.
    Cut,
    /// One side never reads again.
    NeverReads,
    Idle,
}

impl World {
    pub(crate) fn new(seed: u64, logged: bool) -> Self {
        let mut random = Random(seed);
        let framing = random.pick(&[Framing::Lines, Framing::Lines, Framing::Headers, Framing::Whole]);
        let dialect = random.pick(&[PLAIN, PLAIN, LSP, MCP, MCP_2025_03_26, LENIENT]);
        let mut some =
            |percent: usize, most: usize| if random.chance(percent) { random.between(1, most) } else { 0 };
        let swarm = Swarm {
            calls: 10 + some(90, 40),
            batches: some(50, 10),
            notifications: some(60, 20),
            cancels: some(50, 20),
            subscriptions: some(50, 30),
            floods: some(20, 3),
            stalls: some(40, 5),
            garbage: some(30, 5),
            forgeries: some(30, 8),
            flips: some(20, 5),
            idles: some(40, 10),
            halves: some(40, 40),
            timeouts: some(60, 1) == 1,
            ending: random.pick(&[
                Ending::Eof,
                Ending::Eof,
                Ending::Shutdown,
                Ending::Lost,
                Ending::Cut,
                Ending::NeverReads,
                Ending::Idle,
            ]),
        };
        let mut peer = |name| {
            let limits = Limits {
                message_bytes: random.between(200, 4000),
                batch_len: random.between(2, 20),
                in_flight: random.between(1, 20),
                in_flight_bytes: random.between(20, 2000),
                queued_bytes: random.between(100, 5000),
                calls: random.between(1, 40),
                high_water: random.between(100, 4000),
                outbound_bytes: random.between(1000, 20_000),
                max_error_replies: u32::MAX,
                subscriptions: random.between(1, 10),
                subscription_items: random.between(1, 20),
                subscription_bytes: random.between(50, 3000),
                stall: Some(Duration::from_secs(30)),
                idle: (swarm.ending == Ending::Idle).then(|| Duration::from_secs(60)),
                ..Limits::default()
            };
            let style = random.pick(&[Style::Eager, Style::Tokio, Style::Blocking]);
            let config = Config { dialect, limits, framing: Some(framing), seed, ..Config::default() };
            Peer::new(name, config, style)
        };
        let peers = [peer('a'), peer('b')];
        let cuts = CUTS[(seed % 4) as usize];
        let links = [0, 1].map(|_| Link::new(framing, random.between(50, 5000), cuts));
        let mut log = Log::new(logged);
        log.say(|| format!("seed {seed}: {framing:?}, {}", dialect.name));
        World { random, peers, links, now: Time::START, swarm, log }
    }

    pub(crate) fn run(&mut self) {
        for _ in 0..self.random.between(20, 200) {
            self.act();
            if self.random.chance(self.swarm.halves) {
                let side = self.random.below(2);
                self.turn(side);
            } else {
                self.settle();
            }
            if self.random.chance(50) {
                self.now = self.now + Duration::from_micros(self.random.below(20_000) as u64);
            }
            if self.random.chance(self.swarm.idles) {
                let gap = Duration::from_millis(self.random.below(20_000) as u64);
                self.idle(gap);
            }
        }
        self.check_answers();
        self.quiesce();
        self.end();
    }

    /// One thing that one side does, or that happens to it.
    fn act(&mut self) {
        let side = self.random.below(2);
        let open = if self.swarm.cancels > 0 { self.peers[side].open_calls() } else { Vec::new() };
        if self.random.chance(self.swarm.calls) {
            self.call(side);
        }
        if self.random.chance(self.swarm.batches) {
            let sent = self.peers[side].batch(self.now, &mut self.random);
            self.note_refusal(side, sent.err());
        }
        if self.random.chance(self.swarm.notifications) {
            let sent = self.peers[side].notify(self.now);
            self.note_refusal(side, sent.err());
        }
        if self.random.chance(self.swarm.cancels) && !open.is_empty() {
            let call = self.random.pick(&open);
            self.peers[side].cancel(self.now, call);
        }
        if self.random.chance(self.swarm.subscriptions) {
            let sent = self.peers[side].subscribe(self.now, &mut self.random);
            self.note_refusal(side, sent.err());
        }
        if self.random.chance(self.swarm.subscriptions) && self.random.chance(50) {
            self.peers[side].leave_one(self.now, &mut self.random);
        }
        if self.random.chance(self.swarm.floods) {
            for _ in 0..100 {
                self.call(side);
            }
        }
        if self.random.chance(self.swarm.stalls) {
            self.links[side].stalled_until = self.now + Duration::from_millis(self.random.below(5000) as u64);
        }
        self.tamper(side);
    }

    fn call(&mut self, side: usize) {
        let method =
            self.random.pick(&["echo", "echo", "later", "ask", "fail", "abandon", "progress", "hang"]);
        // What may hang must have an end of its own.
        let timed = self.swarm.timeouts || method == "hang";
        let options = CallOptions {
            timeout: timed.then(|| Duration::from_millis(self.random.between(1, 10_000) as u64)),
            reset_on_progress: self.random.chance(50),
            total_timeout: timed.then(|| Duration::from_secs(15)),
            progress: method == "progress" && self.random.chance(70),
            trace: self.random.chance(10).then(|| TraceContext {
                traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into(),
                ..TraceContext::default()
            }),
            relay: false,
        };
        let options = match method {
            "echo" | "later" => CallOptions { trace: None, ..options },
            _ => options,
        };
        let nonce = self.random.next();
        let sent = self.peers[side].call(self.now, method, nonce, &options);
        self.note_refusal(side, sent.err());
    }

    fn note_refusal(&mut self, side: usize, refused: Option<sabir_proto::SendError>) {
        if let Some(refused) = refused {
            self.log.say(|| format!("{} {} ! refused: {refused}", self.now, self.peers[side].name));
        }
    }

    /// What somebody on the way does to the bytes.
    fn tamper(&mut self, side: usize) {
        // Whole frames go between whole frames, so only where nothing is half written.
        let between = self.links[side].framing == Framing::Whole || self.peers[side].usage().unsent == 0;
        if between && self.random.chance(self.swarm.garbage) {
            let garbage = self.random.pick(&[
                "hello",
                "{\"jsonrpc\":\"2.0\",",
                "[]",
                "[1,{}]",
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":1}",
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"error\":2}",
                "\u{0}",
                "[[[[[[[[[[[[[[[[",
            ]);
            match self.random.chance(10) {
                true => self.links[side].inject(&"x".repeat(5000), self.now),
                false => self.links[side].inject(garbage, self.now),
            }
        }
        if between && self.random.chance(self.swarm.forgeries) {
            let id = self.random.below(30);
            let forged = match self.random.below(6) {
                0 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"later\"}}"),
                1 => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"forged\"}}"),
                2 => format!(
                    "{{\"jsonrpc\":\"2.0\",\"id\":\"{id}\",\"error\":{{\"code\":1,\"message\":\"m\"}}}}"
                ),
                3 => "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}}"
                    .to_owned(),
                4 => format!("[{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":\"forged\"}}]"),
                _ => format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":1,\"error\":1}}"),
            };
            self.links[side].inject(&forged, self.now);
        }
        if self.random.chance(self.swarm.flips) {
            let (at, byte) = (self.random.below(10_000), self.random.below(256) as u8);
            self.links[side].flip(at, byte);
        }
    }

    /// Lets everything happen that needs no time.
    fn settle(&mut self) -> Option<Time> {
        let mut steps = 0;
        loop {
            let mut moved = false;
            let mut next: Option<Time> = None;
            for side in 0..2 {
                let (again, deadline) = self.turn(side);
                moved |= again;
                let moments = [next, deadline, self.peers[side].next(), self.links[1 - side].next()];
                next = moments.into_iter().flatten().filter(|at| *at > self.now).min();
            }
            if !moved {
                return next;
            }
            steps += 1;
            assert!(steps < 1_000_000, "it never settles");
        }
    }

    /// One turn of one driver. Whether it has more to do, and when it wants the next.
    fn turn(&mut self, side: usize) -> (bool, Option<Time>) {
        let [a, b] = &mut self.links;
        let (out, into) = if side == 0 { (a, b) } else { (b, a) };
        let peer = &mut self.peers[side];
        let turn = peer.pump(out, self.now, &mut self.random, &mut self.log);
        let mut moved = turn.wrote;
        if turn.read {
            if peer.dawdles() && self.random.chance(20) {
                self.now = self.now + Duration::from_micros(self.random.below(500) as u64);
                moved = true;
            }
            moved |= peer.read(into, self.now, &mut self.random);
        }
        (moved, turn.deadline)
    }

    /// Nobody does anything new for this long. The drivers sleep until something is due, and are not woken at
    /// its end: what is done then meets sessions that have not been looked at for a while.
    fn idle(&mut self, gap: Duration) {
        let end = self.now + gap;
        while let Some(at) = self.settle()
            && at <= end
        {
            self.now = self.now.max(at);
        }
        self.now = self.now.max(end);
    }

    /// Time passes until nothing more happens by itself, or `limit` is over.
    fn pass(&mut self, limit: Duration) {
        let end = self.now + limit;
        for _ in 0..1_000_000 {
            match self.settle() {
                Some(at) if at <= end => self.now = self.now.max(at),
                _ => break,
            }
        }
        self.now = self.now.max(end);
        self.settle();
    }

    fn is_honest(&self) -> bool {
        self.links.iter().all(|link| !link.tampered)
    }

    fn check_answers(&self) {
        if self.is_honest() {
            for peer in &self.peers {
                assert!(!peer.mixed_up, "{}: each answer belongs to its call", peer.name);
                let goes_on = peer.subscriptions.peer_goes_on;
                assert!(!peer.strayed || goes_on, "{}: an item belongs to its subscription", peer.name);
                assert!(peer.subscriptions.is_complete(), "{}: no item is missing", peer.name);
                assert!(!peer.missed_refusal, "{}: a refused message ends its calls", peer.name);
            }
        }
    }

    /// Ends the handlers that hang. Returns whether there were any.
    fn release(&mut self) -> bool {
        let now = self.now;
        // Each of them, not just the first that has something.
        let mut released = false;
        for peer in &mut self.peers {
            released |= peer.release(now);
        }
        released
    }

    /// Lets everything that hangs end: a released handler makes room for the next one, which may hang as well.
    fn work_off(&mut self) {
        loop {
            self.pass(Duration::from_secs(200));
            if !self.release() {
                break;
            }
        }
    }

    /// Nobody does anything new. Where nothing was lost on the way, everything open comes to its end.
    fn quiesce(&mut self) {
        // Where one handler runs at a time, each that hangs keeps others waiting.
        for _ in 0..50 {
            self.pass(Duration::from_secs(25));
            self.release();
            for peer in self.peers.iter_mut().filter(|peer| peer.done.is_none()) {
                peer.leave_all(self.now);
            }
            if self.peers.iter().all(|peer| peer.calls.is_empty() && peer.subscriptions.is_empty()) {
                break;
            }
        }
        if self.is_honest() && self.peers.iter().all(|peer| peer.done.is_none()) {
            for peer in self.peers.iter().filter(|peer| !peer.ambiguous_refusal) {
                assert!(peer.calls.is_empty(), "{} waits for ever: {:?}", peer.name, peer.calls);
                assert!(peer.subscriptions.is_empty(), "{} never hears of the end", peer.name);
            }
        }
        self.check_answers();
    }

    fn end(&mut self) {
        let side = self.random.below(2);
        self.call(side);
        self.call(1 - side);
        if self.swarm.subscriptions > 0 && self.swarm.ending != Ending::Idle {
            let _ = self.peers[side].subscribe(self.now, &mut self.random);
            let _ = self.peers[1 - side].subscribe(self.now, &mut self.random);
        }
        self.settle();
        match self.swarm.ending {
            Ending::Eof => self.links[side].closed = true,
            Ending::Shutdown => self.peers[side].shutdown(self.now, Duration::from_secs(5)),
            Ending::Lost => self.peers[side].lose(self.now),
            Ending::Cut => {
                self.call(side);
                self.settle();
                let keep = self.random.below(1000);
                self.links[side].cut(keep);
                self.links[side].closed = true;
            }
            Ending::NeverReads => {
                self.links[side].stalled_until = Time::since(Duration::MAX);
                for _ in 0..200 {
                    let nonce = self.random.next();
                    let _ = self.peers[side].call(self.now, "echo", nonce, &CallOptions::default());
                }
            }
            Ending::Idle => {}
        }
        self.pass(Duration::from_secs(200));
        // One end is gone: the other sees the end of its input, and follows.
        for side in 0..2 {
            if self.peers[side].done.is_some() || self.swarm.ending == Ending::NeverReads {
                self.links[side].closed = true;
                self.links[side].stalled_until = Time::START;
            }
        }
        self.work_off();
        for link in &mut self.links {
            link.closed = true;
        }
        self.work_off();
        for peer in &self.peers {
            assert!(peer.done.is_some(), "{} never ends: {:?}", peer.name, peer.usage());
        }
    }
}
